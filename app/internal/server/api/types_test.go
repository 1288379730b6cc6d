package api

import (
	"bytes"
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const (
	typesFile = "../../../../web/src/core/api.ts"
	usesFile  = "../../../../web/src/core/answers.ts" // names the types that the pages use
)

// TestTypes: the pages read the API through types that are made from its description.
func TestTypes(t *testing.T) {
	l := newLab(t)
	l.ask(exchange{})
	var doc struct {
		Components struct{ Schemas map[string]*schema }
	}
	if err := json.Unmarshal(l.doc, &doc); err != nil {
		t.Fatal(err)
	}
	g := generator{schemas: doc.Components.Schemas, names: map[string]string{}}
	uses, err := os.ReadFile(usesFile)
	if err != nil {
		t.Fatal(err)
	}
	got := g.file(uses)
	if update := flag.Lookup("update"); update != nil && update.Value.String() == "true" {
		if err := os.WriteFile(typesFile, got, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if want, err := os.ReadFile(typesFile); err != nil || !bytes.Equal(got, want) {
		t.Errorf("%s is not what the API is described as: go test ./app/internal/server/api -run TestTypes -update (%v)", typesFile, err)
	}
}

// schema is the part of a JSON schema that the description uses.
type schema struct {
	Ref        string `json:"$ref"`
	Type       string
	Enum       []any
	Nullable   bool
	Items      *schema
	AllOf      []*schema
	AnyOf      []*schema
	Properties map[string]*schema
	Required   []string
	Values     json.RawMessage `json:"additionalProperties"`
}

// generator writes schemas as types of TypeScript.
type generator struct {
	schemas map[string]*schema
	names   map[string]string // of schemas
}

var (
	identifier = regexp.MustCompile(`[^A-Za-z0-9]+`)
	typeNames  = regexp.MustCompile(`[A-Z][A-Za-z0-9]*`)
	named      = regexp.MustCompile(`(?m)^  ([A-Z][A-Za-z0-9]*)`)
)

func (g *generator) file(uses []byte) []byte {
	keys := slices.Sorted(maps.Keys(g.schemas))
	last := func(key string) string {
		return identifier.ReplaceAllString(key[strings.LastIndexAny(key, ".")+1:], "")
	}
	times := map[string]int{}
	for _, key := range keys {
		times[last(key)]++
	}
	for _, key := range keys {
		if g.names[key] = last(key); times[last(key)] > 1 { // of several packages
			parts := identifier.Split(key, -1)
			for i, p := range parts {
				parts[i] = strings.ToUpper(p[:1]) + p[1:]
			}
			g.names[key] = strings.Join(parts, "")
		}
	}
	slices.SortFunc(keys, func(a, b string) int { return cmp.Compare(g.names[a], g.names[b]) })
	texts, used := map[string]string{}, map[string]bool{}
	for _, key := range keys {
		texts[g.names[key]] = g.object(g.schemas[key])
	}
	var use func(name string)
	use = func(name string) {
		if text, ok := texts[name]; ok && !used[name] {
			used[name] = true
			for _, word := range typeNames.FindAllString(text, -1) {
				use(word)
			}
		}
	}
	for _, m := range named.FindAllSubmatch(uses, -1) {
		use(string(m[1]))
	}
	var b bytes.Buffer
	b.WriteString("// The answers of the API, made from its description by TestTypes of app/internal/server/api: do not edit.\n\n")
	for _, name := range slices.Sorted(maps.Keys(used)) {
		fmt.Fprintf(&b, "export interface %s %s\n", name, texts[name])
	}
	return b.Bytes()
}

// object writes a type on one line: a change of the API is a change of a line.
func (g *generator) object(s *schema) string {
	var members []string
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		optional := "?"
		if slices.Contains(s.Required, name) || name == "rows" { // in columns, which no page asks for, it is absent
			optional = ""
		}
		if name != "columns" {
			members = append(members, name+optional+": "+g.of(s.Properties[name]))
		}
	}
	return "{ " + strings.Join(members, "; ") + " }"
}

// of writes a type. Lists are never null, although their Go types could be.
func (g *generator) of(s *schema) string {
	var text string
	switch {
	case s.Ref != "":
		return g.names[strings.TrimPrefix(s.Ref, "#/components/schemas/")]
	case len(s.AllOf) == 1:
		text = g.of(s.AllOf[0])
	case len(s.AnyOf) > 0:
		var list []string
		for _, x := range s.AnyOf {
			list = append(list, g.of(x))
		}
		return strings.Join(list, " | ")
	case len(s.Enum) > 0:
		var list []string
		for _, x := range s.Enum {
			list = append(list, strings.ReplaceAll(fmt.Sprintf("%#v", x), `"`, "'"))
		}
		return strings.Join(list, " | ")
	case s.Type == "array":
		item := g.of(s.Items)
		if strings.Contains(item, "|") {
			item = "(" + item + ")"
		}
		return item + "[]"
	case s.Type == "object" && len(s.Properties) > 0:
		text = g.object(s)
	case s.Type == "object":
		var values schema
		if json.Unmarshal(s.Values, &values) != nil {
			return "Record<string, unknown>"
		}
		return "Record<string, " + g.of(&values) + ">"
	case s.Type == "integer", s.Type == "number":
		text = "number"
	case s.Type == "string", s.Type == "boolean":
		text = s.Type
	default:
		return "unknown"
	}
	if s.Nullable {
		text += " | null"
	}
	return text
}
