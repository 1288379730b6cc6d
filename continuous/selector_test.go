package continuous_test

import (
	"context"
	"errors"
	"reflect"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/dendroprof/dendro/continuous"
	"github.com/dendroprof/dendro/internal/cost"
)

// matcher returns a condition.
func matcher(name string, op continuous.MatchOp, value string) continuous.Matcher {
	return continuous.Matcher{Name: name, Op: op, Value: value}
}

// TestParseSelector reads the syntax of Prometheus, and says where a text is wrong.
func TestParseSelector(t *testing.T) {
	for _, c := range []struct {
		texts []string
		want  []continuous.Matcher
		fails string
	}{
		{texts: nil},
		{texts: []string{"", " {} ", "{ }"}},
		{texts: []string{`{service_name="a"}`}, want: []continuous.Matcher{matcher("service_name", "=", "a")}},
		{texts: []string{`{a="1"}`, `{b!="2",}`}, want: []continuous.Matcher{matcher("a", "=", "1"), matcher("b", "!=", "2")}},
		{texts: []string{"{ a =~ \"x|y\" , b!~'it\\'s' , `c d`=`\\`}"},
			want: []continuous.Matcher{matcher("a", "=~", "x|y"), matcher("b", "!~", "it's"), matcher("c d", "=", `\`)}},
		{texts: []string{`{"otel.scope.name"="x", otel.scope.version="1.2"}`},
			want: []continuous.Matcher{matcher("otel.scope.name", "=", "x"), matcher("otel.scope.version", "=", "1.2")}},
		{texts: []string{`{a="é\u00e9\n\x41"}`}, want: []continuous.Matcher{matcher("a", "=", "éé\nA")}},
		{texts: []string{`{"naïve"="' OR 1=1; --", a="<script>"}`},
			want: []continuous.Matcher{matcher("naïve", "=", "' OR 1=1; --"), matcher("a", "=", "<script>")}},

		{texts: []string{`cpu{a="b"}`}, fails: `column 1: expected {, found 'c'`},
		{texts: []string{`{a}`}, fails: `column 3: expected =, !=, =~ or !~, found '}'`},
		{texts: []string{`{a=b}`}, fails: `column 4: expected a value in quotes, found 'b'`},
		{texts: []string{`{a="b" c="d"}`}, fails: `column 8: expected , or }, found 'c'`},
		{texts: []string{`{a="b"`}, fails: `column 7: expected , or }, found the end`},
		{texts: []string{`{,}`}, fails: `column 2: expected the name of a label, found ','`},
		{texts: []string{`{a="b"} x`}, fails: `column 9: expected nothing after }`},
		{texts: []string{`{a="b}`}, fails: `column 4: the quote is not closed`},
		{texts: []string{`{é="b"}`}, fails: `column 2: expected the name of a label`},
		{texts: []string{`{"é"="\q"}`}, fails: `column 7: invalid character or escape`},
		{texts: []string{`{a="\xff"}`}, fails: `invalid UTF-8 in quotes`},
		{texts: []string{"{a=\"\xff\"}"}, fails: `column 5: invalid UTF-8`},
		{texts: []string{`{}`, `{a=~"("}`}, fails: `column 5: error parsing regexp: missing closing )`},
		{texts: []string{`{a=~"x)|(y"}`}, fails: `error parsing regexp: unexpected )`},
		{texts: []string{`{a="` + strings.Repeat("x", 10<<20) + `"}`}, fails: `bytes: the maximum is 65536`},
	} {
		got, err := continuous.ParseSelector(c.texts...)
		switch {
		case c.fails == "" && err != nil:
			t.Errorf("%q: %v", c.texts, err)
		case c.fails != "" && (err == nil || !strings.Contains(err.Error(), c.fails)):
			t.Errorf("%.100q: %v, want an error with %q", c.texts, err, c.fails)
		case err != nil && len(err.Error()) > 1000:
			t.Errorf("%.100q: an error of %d bytes", c.texts, len(err.Error()))
		case !reflect.DeepEqual(got, c.want):
			t.Errorf("%q: %v, want %v", c.texts, got, c.want)
		}
	}
}

// TestSelects compares labels, the missing ones included, and the parts of the type.
func TestSelects(t *testing.T) {
	cpu, err := continuous.ParseType("process_cpu:cpu:nanoseconds:cpu:nanoseconds:delta")
	if err != nil {
		t.Fatal(err)
	}
	series := &continuous.Series{Service: "checkout", Type: cpu,
		Labels: continuous.Labels{{Name: "k8s.pod.name", Value: "a\nb"}, {Name: "version", Value: "1.4"}}}
	for selector, want := range map[string]bool{
		`{}`:                               true,
		`{service_name="checkout"}`:        true,
		`{service_name="check"}`:           false,
		`{service_name=~"check"}`:          false, // patterns match whole values
		`{service_name=~"check.*"}`:        true,
		`{service_name=~"x|checkout|y"}`:   true,
		`{service_name=~"x|check"}`:        false,
		`{version!="1.4"}`:                 false,
		`{version!~"1\\.5|2"}`:             true,
		`{"k8s.pod.name"=~"a.b"}`:          true, // a dot matches every character
		`{missing=""}`:                     true,
		`{missing!=""}`:                    false,
		`{missing=~".*"}`:                  true,
		`{missing=~".+"}`:                  false,
		`{version="1.4",missing="x"}`:      false,
		`{__name__="process_cpu"}`:         true,
		`{__type__="cpu",__unit__!="x"}`:   true,
		`{__period_type__="cpu"}`:          true,
		`{__period_unit__="nanoseconds"}`:  true,
		`{__service_name__="checkout"}`:    true,
		`{__profile_type__=~"process_.*"}`: true,
		`{__profile_type__="memory:alloc_space:bytes:space:bytes"}`: false,
	} {
		matchers, err := continuous.ParseSelector(selector)
		if err != nil {
			t.Fatal(err)
		}
		selection, err := (&continuous.Query{Matchers: matchers}).Compile()
		if err != nil {
			t.Fatal(err)
		}
		for range 2 { // values that are known, too
			if got, err := selection.Matches(t.Context(), series); got != want || err != nil {
				t.Errorf("%s: %t, %v, want %t", selector, got, err, want)
			}
		}
	}
	for _, q := range []continuous.Query{
		{Matchers: []continuous.Matcher{matcher("a", "=~", "(")}},
		{Matchers: []continuous.Matcher{matcher("a", "=~", "x)|(y")}},
		{Matchers: []continuous.Matcher{matcher("a", "==", "b")}},
	} {
		if _, err := q.Compile(); err == nil {
			t.Errorf("%v is accepted", q.Matchers)
		}
	}
	other := cpu
	other.SampleType = "samples"
	selection, err := (&continuous.Query{Type: other}).Compile()
	if err != nil {
		t.Fatal(err)
	}
	if got, err := selection.Matches(t.Context(), series); got || err != nil {
		t.Errorf("a series of another type is selected (%v)", err)
	}
}

// TestPatternSize: patterns whose programs are too large are refused before they are compiled.
func TestPatternSize(t *testing.T) {
	for _, pattern := range []string{
		strings.Repeat(".?", 15_000), "((a{100}){100}){10}", strings.Repeat("ab|ba|", 9_000), `(?i)(\pL{1000}){30}`,
	} {
		if _, err := continuous.ParseSelector(`{a=~` + strconv.Quote(pattern) + `}`); err == nil ||
			!strings.Contains(err.Error(), "column 5: the pattern has ") && !strings.Contains(err.Error(), "invalid repeat count") {
			t.Errorf("%.40s: %v", pattern, err)
		}
	}
	half := matcher("a", "=~", strings.Repeat("a?", 6_000))
	if _, err := (&continuous.Query{Matchers: []continuous.Matcher{half}}).Compile(); err != nil {
		t.Errorf("half of the limit: %v", err)
	}
	if _, err := (&continuous.Query{Matchers: []continuous.Matcher{half, half}}).Compile(); err == nil ||
		!strings.Contains(err.Error(), "the maximum is 20000") {
		t.Errorf("more than the limit in two patterns: %v", err)
	}
	if _, err := (&continuous.Query{Matchers: slices.Repeat([]continuous.Matcher{matcher("a", "=", "b")}, 1001)}).Compile(); err == nil ||
		!strings.Contains(err.Error(), "the maximum is 1000") {
		t.Errorf("more conditions than the limit: %v", err)
	}
}

// TestSteps: a pattern costs its size times the bytes of each distinct value, once; what is
// too much is not compared, and neither is anything after the context has ended.
func TestSteps(t *testing.T) {
	const size, length = 2 * 100, 1000
	list := []continuous.Matcher{matcher("a", "=~", strings.Repeat(".?", size/2)+"x"), matcher("only", "=", "this")}
	selection, err := (&continuous.Query{Matchers: list}).Compile()
	if err != nil {
		t.Fatal(err)
	}
	series := func(value, only string) *continuous.Series {
		return &continuous.Series{Labels: continuous.Labels{{Name: "a", Value: value}, {Name: "only", Value: only}}}
	}
	ctx, end := cost.Begin(t.Context(), cost.Limits{Steps: cost.Limit{Max: 1_000_000, What: "steps", Flag: "--max-steps"}})
	defer end()
	for i := range 100 { // two values
		if _, err := selection.Matches(ctx, series(strings.Repeat("a", length-i%2), "this")); err != nil {
			t.Fatal(err)
		}
		if _, err := selection.Matches(ctx, series(strings.Repeat("b", length+i), "other")); err != nil {
			t.Fatal(err)
		}
	}
	spent := cost.Of(ctx).Spent(cost.Steps)
	if want := int64(size+1) * (2*length + 1); spent != want {
		t.Errorf("%d steps, want %d", spent, want)
	}
	var exceeded *cost.Exceeded
	for i := 0; exceeded == nil && i < 10; i++ {
		_, err = selection.Matches(ctx, series(strings.Repeat("c", length+i), "this"))
		if err != nil && !errors.As(err, &exceeded) {
			t.Fatal(err)
		}
	}
	if exceeded == nil || !strings.Contains(err.Error(), "--max-steps") || cost.Of(ctx).Spent(cost.Steps) > 1_000_000 {
		t.Errorf("%v after %d steps", err, cost.Of(ctx).Spent(cost.Steps))
	}
	end()
	if _, err := selection.Matches(ctx, series("a", "this")); !errors.Is(err, context.Canceled) {
		t.Errorf("after the end: %v", err)
	}
}

// FuzzParseSelector: a selector that is read is written as one that reads the same.
func FuzzParseSelector(f *testing.F) {
	for _, seed := range []string{"", "{}", `{a="b"}`, `{"é.x"=~"a|b",c!='d'}`, `{service_name=~"(.?){90}x",service_name!~"(a{9}){9}|[b-z]*"}`, "{a!~`x`,}", `{a="\x41\u00e9\n"}`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		matchers, err := continuous.ParseSelector(text)
		if err != nil || len(text) > 1000 { // quotes may make a long text too long
			return
		}
		again, err := continuous.ParseSelector(written(matchers))
		if err != nil || !reflect.DeepEqual(again, matchers) {
			t.Fatalf("%q: %v, and again %v (%v)", text, matchers, again, err)
		}
		countWork(t, matchers)
	})
}

// countWork compares series, and checks the size that the steps of each pattern are counted
// with: the compiled pattern is not larger, but for the group around it.
func countWork(t *testing.T, matchers []continuous.Matcher) {
	selection, err := (&continuous.Query{Matchers: matchers}).Compile()
	if err != nil {
		if !strings.Contains(err.Error(), "the maximum is") {
			t.Fatal(err)
		}
		return // too large together
	}
	const most = 100_000
	ctx, end := cost.Begin(t.Context(), cost.Limits{Steps: cost.Limit{Max: most}})
	defer end()
	compared := map[string]bool{}
	for _, service := range []string{"checkout", "cart", "checkout", strings.Repeat("é", 1000)} {
		_, err := selection.Matches(ctx, &continuous.Series{Service: service})
		if err != nil && !errors.As(err, new(*cost.Exceeded)) {
			t.Fatal(err)
		}
		compared[service] = true
	}
	atMost, bytes := int64(0), int64(0)
	for service := range compared {
		bytes += int64(len(service)) + 1
	}
	for _, m := range matchers {
		if m.Op != continuous.Matches && m.Op != continuous.NotMatches {
			continue
		}
		re, err := syntax.Parse(m.Value, syntax.Perl)
		if err != nil {
			t.Fatal(err)
		}
		program, err := syntax.Compile(re.Simplify())
		if err != nil {
			t.Fatal(err)
		}
		size, err := cost.PatternSize(m.Value)
		if err != nil {
			t.Fatal(err)
		}
		if int64(len(program.Inst)) > size+4 {
			t.Fatalf("%q has %d instructions, counted as %d", m.Value, len(program.Inst), size)
		}
		atMost += size * bytes
	}
	if spent := cost.Of(ctx).Spent(cost.Steps); spent > min(most, atMost) {
		t.Fatalf("%d steps of at most %d", spent, min(most, atMost))
	}
}

// written returns conditions as a selector.
func written(matchers []continuous.Matcher) string {
	var list []string
	for _, m := range matchers {
		list = append(list, strconv.Quote(m.Name)+string(m.Op)+strconv.Quote(m.Value))
	}
	return "{" + strings.Join(list, ", ") + "}"
}
