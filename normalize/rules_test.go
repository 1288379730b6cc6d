package normalize_test

import (
	"errors"
	"fmt"
	"io"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/dendroprof/dendro/normalize"
	"github.com/dendroprof/dendro/profile"
)

func read(t *testing.T, text string) *normalize.Rules {
	t.Helper()
	rules, err := normalize.ReadRules("names.rules", strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return rules
}

func TestUserRules(t *testing.T) {
	rules := read(t, "\uFEFF# comment\r\n"+`
		# another => comment
		GeneratedIteratorForCodegenStage\d+  =>  GeneratedIteratorForCodegenStage
		^com\.acme\.(?P<what>\w+)Impl\.      =>  com.acme.${what}.
		\$Timer\d+$                          =>
		^Foo\.                               =>  Bar$$Baz.
		^Bar\$Baz\.a$                        =>  the second sees what the first gave
		^gone$                               =>
		a=>b                                 =>  a=>c
	`)
	if rules.Len() != 7 {
		t.Errorf("%d rules", rules.Len())
	}
	n := normalize.New(rules)
	for _, c := range []struct{ raw, want string }{
		{"spark.GeneratedIteratorForCodegenStage12.next", "spark.GeneratedIteratorForCodegenStage.next"},
		{"com/acme/CartImpl.total", "com.acme.Cart.total"}, // behind the built-in rules
		{"shop.Cart$Timer12", "shop.Cart"},
		{"Foo.b", "Bar$Baz.b"},
		{"Foo.a", "the second sees what the first gave"},
		{"gone", "gone"}, // nothing would be left
		{"a=>b", "a=>c"},
		{"other", "other"},
	} {
		if got := n.Function(profile.Function{Name: c.raw, Kind: java}).Name; got != c.want {
			t.Errorf("%s\n got %s\nwant %s", c.raw, got, c.want)
		}
	}
}

func TestUserRuleErrors(t *testing.T) {
	for _, c := range []struct {
		text, want string
		kind       error
	}{
		{"# c\n\nab\n", `names.rules:3: malformed rule: missing => between spaces (write: regexp => replacement)`, profile.ErrMalformed},
		{"a=>b", `names.rules:1: malformed rule: missing => between spaces (write: regexp => replacement)`, profile.ErrMalformed},
		{" => b", `names.rules:1: malformed rule: missing => between spaces (write: regexp => replacement)`, profile.ErrMalformed},
		{"a( => b", "names.rules:1: malformed rule: error parsing regexp: missing closing ): `a(` (write: regexp => replacement)", profile.ErrMalformed},
		{"a => Foo$Bar", `names.rules:1: malformed rule: the replacement uses group "Bar", which the expression does not have; write $$ for a dollar sign (write: regexp => replacement)`, profile.ErrMalformed},
		{"(a) => $2", `names.rules:1: malformed rule: the replacement uses group "2", which the expression does not have; write $$ for a dollar sign (write: regexp => replacement)`, profile.ErrMalformed},
		{"a => " + strings.Repeat("$0", 101), `names.rules:1: malformed rule: the replacement uses more than 100 groups (write: regexp => replacement)`, profile.ErrMalformed},
		{"a => " + strings.Repeat("b", 5000), `names.rules:1: line longer than 4096 bytes: too large`, profile.ErrTooLarge},
		{strings.Repeat("a => b\n", 1001), `names.rules:1001: more than 1000 rules: too large`, profile.ErrTooLarge},
	} {
		_, err := normalize.ReadRules("names.rules", strings.NewReader(c.text))
		if err == nil || err.Error() != c.want || !errors.Is(err, c.kind) {
			t.Errorf("%.40q\n got %v\nwant %s", c.text, err, c.want)
		}
		if place := (*profile.ParseError)(nil); !errors.As(err, &place) {
			t.Errorf("%.40q: %T is not a ParseError", c.text, err)
		}
	}
	broken := io.MultiReader(strings.NewReader("a => b\n"), iotest.ErrReader(io.ErrUnexpectedEOF))
	if _, err := normalize.ReadRules("names.rules", broken); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Error(err)
	}
}

func TestUserRulesStayBounded(t *testing.T) {
	n := normalize.New(read(t, strings.Repeat("(.) => $1$1$1$1$1$1$1$1\n", 20)))
	got := n.Function(profile.Function{Name: strings.Repeat("x", 100)}).Name
	if len(got) != 4000 {
		t.Errorf("%d bytes", len(got))
	}
}

// TestRulesThatMultiply: a rule that makes too much of a name does not apply to it.
func TestRulesThatMultiply(t *testing.T) {
	name := strings.Repeat("x", 3_900)
	for _, line := range []string{"(.*) => " + strings.Repeat("$1", 100), ". => " + strings.Repeat("y", 4000),
		`\b|x => ` + strings.Repeat("$0", 100)} {
		n := normalize.New(read(t, line))
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if got := n.Function(profile.Function{Name: name}).Name; got != name {
			t.Errorf("%.20s: %d bytes", line, len(got))
		}
		runtime.ReadMemStats(&after)
		if bytes := after.TotalAlloc - before.TotalAlloc; bytes > 16<<20 {
			t.Errorf("%.20s: %d bytes allocated", line, bytes)
		}
	}
	for _, c := range [][2]string{{`(\w+)\.(\w+)`, "$2.$1"}, {"x*", "-"}, {`\b`, "|"}, {"q", ""}} {
		const name = "ab.cd xx y"
		want := regexp.MustCompile(c[0]).ReplaceAllString(name, c[1])
		if got := normalize.New(read(t, c[0]+" => "+c[1])).Function(profile.Function{Name: name}).Name; got != want {
			t.Errorf("%s => %s: %q, want %q", c[0], c[1], got, want)
		}
	}
}

func TestVersion(t *testing.T) {
	version := func(text string) string { return normalize.New(read(t, text)).Version() }
	plain := normalize.New(nil).Version()
	if plain != "3" || version("# nothing\n") != plain {
		t.Errorf("without rules: %s, %s", plain, version("# nothing\n"))
	}
	ab := version("a => b\n")
	if ab != "3+3e51b175fb4e4814" {
		t.Errorf("a => b: %s: the hash of rules is stored and must not change", ab)
	}
	if other := version("# comment\n\n  a   =>   b  "); other != ab {
		t.Errorf("spaces and comments count: %s, %s", other, ab)
	}
	for _, text := range []string{"a => c", "b => a", "a => b\nc => d", "c => d\na => b", "ab =>", "a => b\na => b"} {
		if v := version(text); v == ab {
			t.Errorf("%q has the version of a => b", text)
		}
	}
}

func TestNoRules(t *testing.T) {
	if n := (*normalize.Rules)(nil).Len(); n != 0 {
		t.Error(n)
	}
}

func ExampleReadRules() {
	rules, err := normalize.ReadRules("names.rules", strings.NewReader(`
		# The number of a Spark stage depends on what ran before.
		CodegenStage\d+ => CodegenStage
	`))
	if err != nil {
		fmt.Println(err)
		return
	}
	f := normalize.New(rules).Function(profile.Function{Name: "IteratorForCodegenStage12.next"})
	fmt.Println(f.Name)
	// Output: IteratorForCodegenStage.next
}

func FuzzReadRules(f *testing.F) {
	f.Add("a => b\n(?P<x>c)d => ${x}\n# e", "acd")
	f.Add("=>", "")
	f.Add(" => $1", "a")
	f.Fuzz(func(t *testing.T, text, name string) {
		rules, err := normalize.ReadRules("names.rules", strings.NewReader(text))
		if err != nil {
			return
		}
		got := normalize.New(rules).Function(profile.Function{Name: name}).Name
		if got == "" || len(got) > 4000 {
			t.Errorf("%q became %d bytes", name, len(got))
		}
	})
}
