package usersql

import (
	"errors"
	"fmt"
	"math"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	bind "github.com/duckdb/duckdb-go-bindings"
)

// DuckDB's memory limit counts tables, sorts and results, but not the values that a function
// makes: repeat('a', 4000000000) takes them from the system, in one step that no interrupt
// ends. So functions that make values from numbers are bounded, texts grow by a limited
// factor in one step, and a statement during which the process grows by maxGrowth is ended
// between two steps.
const (
	maxValue  = 16_384      // bytes of a value that a bounded function makes; a step has 2,048 values
	maxList   = 10_000      // elements of a list that is made from numbers
	maxFactor = 10_000      // by which texts grow in one step, see growth
	maxGrowth = 1_500 << 20 // bytes of the process during a statement, besides DuckDB's limit
)

// bounded are functions that a session replaces by macros which fail instead of making a
// value that is too large.
var bounded = map[string]string{
	"repeat":  boundedMacro("repeat", "s, n", "n > 0 AND n::HUGEINT * greatest(strlen(s::VARCHAR), 1) > %d"),
	"lpad":    boundedMacro("lpad", "s, n, c", "n > %d"),
	"rpad":    boundedMacro("rpad", "s, n, c", "n > %d"),
	"replace": boundedMacro("replace", "s, a, b", "strlen(s) > 0 AND strlen(s) * greatest(strlen(b)::BIGINT - strlen(a)::BIGINT, 0) > 4 * %d"),
}

func boundedMacro(name, parameters, tooLarge string) string {
	return fmt.Sprintf("CREATE TEMP MACRO %s(%s) AS CASE WHEN %s THEN error('%[1]s: a value of more than %[4]d bytes') ELSE system.main.%[1]s(%[2]s) END",
		name, parameters, fmt.Sprintf(tooLarge, maxValue), maxValue)
}

// refused make values of any size from a number, and nothing that a query of profiles needs.
var refused = []string{"list_resize", "array_resize", "bitstring", "bar", "list_pad_right", "list_pad_left"}

// grow are functions whose text is as long as all of their arguments.
var grow = []string{"||", "concat", "concat_ws", "list_concat", "list_cat", "array_concat", "array_cat", "list_append", "array_append",
	"list_prepend", "array_prepend", "array_push_back", "array_push_front"}

// values is what a parsed statement makes values with.
type values struct {
	macros map[string]bool // of bounded, which it calls
	factor float64         // by which texts may grow: each SELECT may use those of another; 0: 1
}

// maxNesting is the depth of calls of bounded functions: their macros use arguments twice.
const maxNesting = 3

// check checks the calls of a parsed statement.
func (v *values) check(tree any, nested int) error {
	switch node := tree.(type) {
	case []any:
		for _, sub := range node {
			if err := v.check(sub, nested); err != nil {
				return err
			}
		}
	case map[string]any:
		if node["type"] == "SELECT_NODE" {
			v.factor = max(v.factor, 1)
			for _, sub := range node {
				v.factor *= max(float64(partsOf(sub)), 1)
			}
		}
		if call, ok := node["function"].(map[string]any); ok && node["type"] == "TABLE_FUNCTION" {
			return v.check(call["children"], nested) // its rows are a stream
		}
		if node["class"] == "FUNCTION" {
			name, _ := node["function_name"].(string)
			name = strings.ToLower(name)
			if bounded[name] != "" {
				if nested++; nested > maxNesting {
					return fmt.Errorf("%w: %s in %d other calls of such functions", ErrNotAllowed, name, maxNesting)
				}
				if v.macros == nil {
					v.macros = map[string]bool{}
				}
				v.macros[name] = true
			}
			if name == "regexp_replace" { // its options must be constant, so it cannot be in a macro
				text, ok := constant(list(node["children"]), 2).(string)
				if nested++; len(text) > 4 {
					nested++
				}
				if !ok || len(text) > 100 || nested > maxNesting {
					return fmt.Errorf("%w: regexp_replace with a replacement that is not constant, has more than 100 bytes, or in other such calls", ErrNotAllowed)
				}
			}
			if err := checkCall(name, node); err != nil {
				return err
			}
		}
		for _, sub := range node {
			if err := v.check(sub, nested); err != nil {
				return err
			}
		}
	}
	return nil
}

// growth returns an error if texts may grow by more than maxFactor in one step: nested and
// named SELECTs are one, and each multiplies.
func (v *values) growth() error {
	if v.factor > maxFactor {
		return fmt.Errorf("%w: texts or lists are joined so often that they could grow by %.0f times; the maximum is %d", ErrNotAllowed, v.factor, maxFactor)
	}
	return nil
}

// partsOf returns of how many texts the longest text that a part of a SELECT joins can
// consist, without the SELECTs in it.
func partsOf(tree any) (n int) {
	switch node := tree.(type) {
	case []any:
		for _, sub := range node {
			n = max(n, partsOf(sub))
		}
	case map[string]any:
		if node["type"] == "SELECT_NODE" {
			return 0
		}
		name, _ := node["function_name"].(string)
		if node["class"] == "FUNCTION" && slices.Contains(grow, strings.ToLower(name)) {
			for _, argument := range list(node["children"]) {
				if c, _ := argument.(map[string]any); c["class"] != "CONSTANT" {
					n += max(1, partsOf(argument))
				}
			}
			return n
		}
		for _, sub := range node {
			n = max(n, partsOf(sub))
		}
	}
	return n
}

func list(v any) []any {
	l, _ := v.([]any)
	return l
}

// widths matches what makes a long text of a short format.
var widths = regexp.MustCompile(`\d{4,}|\*|\{[^{}]*\{`)

// checkCall checks a call of a function by its constants.
func checkCall(name string, node map[string]any) error {
	schema, _ := node["schema"].(string)
	catalog, _ := node["catalog"].(string)
	arguments := list(node["children"])
	switch {
	// as DuckDB reads [1, 2] and {a: 1}
	case schema+catalog != "" && (schema+catalog != "main" || name != "list_value" && name != "struct_pack"):
		return fmt.Errorf("%w: %s with a schema", ErrNotAllowed, name)
	case slices.Contains(refused, name):
		return fmt.Errorf("%w: %s", ErrNotAllowed, name)
	case name == "printf" || name == "format":
		if text, ok := constant(arguments, 0).(string); !ok || widths.MatchString(text) {
			return fmt.Errorf("%w: %s with a format that is not constant, or has a width of 1000 or more", ErrNotAllowed, name)
		}
	case name == "range" || name == "generate_series":
		var n [3]float64
		for i := range arguments {
			number, ok := numberOf(arguments[i])
			if !ok || i > 2 {
				return fmt.Errorf("%w: %s as a list without constant numbers; use FROM %[2]s(…)", ErrNotAllowed, name)
			}
			n[i] = number
		}
		if len(arguments) == 1 {
			n[0], n[1] = 0, n[0]
		}
		if n[2] == 0 {
			n[2] = 1
		}
		if math.Abs((n[1]-n[0])/n[2]) > maxList {
			return fmt.Errorf("%w: %s as a list of more than %d numbers; use FROM %[2]s(…)", ErrNotAllowed, name, maxList)
		}
	}
	return nil
}

// constant returns the value of a constant argument, or nil.
func constant(arguments []any, i int) any {
	if i >= len(arguments) {
		return nil
	}
	node, _ := arguments[i].(map[string]any)
	value, _ := node["value"].(map[string]any)
	if node["class"] != "CONSTANT" {
		return nil
	}
	return value["value"]
}

// numberOf returns a constant number, which may have a sign.
func numberOf(argument any) (float64, bool) {
	n, ok := constant([]any{argument}, 0).(float64)
	if node, _ := argument.(map[string]any); !ok && node["function_name"] == "-" && len(list(node["children"])) == 1 {
		n, ok = numberOf(list(node["children"])[0])
		n = -n
	}
	return n, ok
}

// errGrown is the error of a statement that was ended because of its memory.
var errGrown = errors.New("the statement took too much memory outside of DuckDB's limit: make smaller values, or aggregate less into one")

// watched interrupts a statement while the process has grown by maxGrowth; stop ends the
// watch and reports whether it did.
func (r *Rows) watched() (stop func() bool) {
	done, result := make(chan struct{}), make(chan bool, 1)
	start := resident()
	go func() {
		grown := false
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-done:
				result <- grown
				return
			case <-tick.C:
				if resident() > start+maxGrowth {
					grown = true
					bind.Interrupt(r.c.Handle)
				}
			}
		}
	}()
	return func() bool { close(done); return <-result }
}

// resident returns the memory of the process; 0 if the system does not say.
func resident() int64 {
	text, err := os.ReadFile("/proc/self/statm")
	fields := strings.Fields(string(text))
	if err != nil || len(fields) < 2 {
		return 0
	}
	pages, _ := strconv.ParseInt(fields[1], 10, 64)
	return pages * int64(os.Getpagesize())
}
