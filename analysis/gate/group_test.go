package gate

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/dendroprof/dendro/analysis/regression"
)

// lasting returns a change: benchmark, kind, function (-: none), last good day, onset's day, what it explains of
// its benchmark.
func lasting(benchmark, kind, function string, good, onset int, explains float64) regression.Finding {
	share := "0.1"
	if kind == "improvement" {
		share = "-0.1"
	}
	f := finding(fmt.Sprintf("%s %s confirmed %s 9 %s", benchmark, kind, function, share))
	f.ID = fmt.Sprintf("%s %s %s %d", benchmark, kind, function, onset)
	moment := func(day int) regression.Moment {
		return regression.Moment{Run: fmt.Sprintf("n%02d", day), Date: time.Date(2026, 11, day, 3, 0, 0, 0, time.UTC)}
	}
	last := moment(good)
	f.Change = &regression.Lasting{Onset: moment(onset), LastGood: &last, Machine: "m", Explains: explains}
	f.Sides = &regression.Sides{Base: []string{"n01", last.Run}}
	return f
}

// one reads the arguments of lasting.
func one(text string) regression.Finding {
	var benchmark, kind, function string
	var good, onset int
	var explains float64
	if _, err := fmt.Sscan(text, &benchmark, &kind, &function, &good, &onset, &explains); err != nil {
		panic(err)
	}
	return lasting(benchmark, kind, function, good, onset, explains)
}

func many(texts ...string) (list []regression.Finding) {
	for _, text := range texts {
		list = append(list, one(text))
	}
	return list
}

// groups writes causes: the leading benchmark, function and onset, and the others.
func groups(list []regression.Finding) (text []string) {
	name := func(f *regression.Finding) string {
		return strings.TrimSuffix(f.Benchmark+":"+f.Function, ":")
	}
	for _, c := range Group(list) {
		s := name(&c.Finding)
		for i := range c.Also {
			s += "+" + name(&c.Also[i])
		}
		text = append(text, s)
	}
	slices.Sort(text)
	return text
}

// TestOneEvent: what all code of a machine takes longer since one run is one change, also where its first run
// is not certain, with the places that tell a part of it; a place that explains its benchmark's change is
// one of its own, and so is another run, another machine, an improvement, two benchmarks only.
func TestOneEvent(t *testing.T) {
	toolchain := func() []regression.Finding {
		return many("a widespread - 12 13 0", "b slowdown - 12 13 0", "c slowdown - 11 15 0", "d regression parse 12 14 0.3")
	}
	other := func(change func(f *regression.Finding)) []regression.Finding {
		f := one("e slowdown - 12 13 0")
		change(&f)
		return append(toolchain(), f)
	}
	later := func(explains float64) regression.Finding {
		f := one("d regression lex 15 16 0")
		f.Change.Explains = explains
		f.Sides.Base = []string{"n01", "n12"}
		return f
	}
	for name, c := range map[string]struct {
		list []regression.Finding
		want string
	}{
		"an event":                       {toolchain(), "a+b+c+d:parse"},
		"a cause of its own":             {append(toolchain(), one("e regression lex 12 13 0.9")), "a+b+c+d:parse e:lex"},
		"unknown what it explains":       {append(toolchain(), one("e regression lex 12 13 0")), "a+b+c+d:parse e:lex"},
		"the place of one with a cause":  {append(toolchain(), one("e regression parse 12 14 0.9")), "a+b+c d:parse+e:parse"},
		"later, against the runs before": {append(toolchain(), later(0.3)), "a+b+c+d:lex+d:parse"},
		"a night early":                  {append(toolchain(), one("d regression lex 11 12 0.3")), "a+b+c+d:lex+d:parse"},
		"two nights early":               {append(toolchain(), one("d regression lex 10 11 0.3")), "a+b+c+d:parse d:lex"},
		"later, and a main cause":        {append(toolchain(), later(0.4)), "a+b+c+d:parse d:lex"},
		"later, against runs since":      {append(toolchain(), one("d regression lex 15 16 0.1")), "a+b+c+d:parse d:lex"},
		"another run":                    {other(func(f *regression.Finding) { *f = one("e slowdown - 15 16 0") }), "a+b+c+d:parse e"},
		"another machine":                {other(func(f *regression.Finding) { f.Change.Machine = "m2" }), "a+b+c+d:parse e"},
		"another branch":                 {other(func(f *regression.Finding) { f.Change.Branch = "pr" }), "a+b+c+d:parse e"},
		"an improvement":                 {append(toolchain(), one("e improvement - 12 13 0")), "a+b+c+d:parse e"},
		"improvements":                   {many("a improvement - 1 2 0", "b improvement - 1 2 0"), "a+b"},
		"small parts show an event": {many("a slowdown - 12 13 0", "b regression f 12 13 0.3",
			"c regression g 12 13 0.3", "d regression h 12 13 0.6"), "a+b:f+c:g+d:h"},
		"two benchmarks are no event": {toolchain()[1:3], "b+c"},
		"a function at two runs":      {many("a regression f 2 3 1", "b regression f 8 9 1"), "a:f b:f"},
		"a function at one run":       {many("a regression f 2 3 1", "b regression f 2 4 1"), "a:f+b:f"},
		"an improvement in two":       {many("a improvement f 2 3 1", "b improvement f 2 3 1"), "a:f+b:f"},
		"no cause joins two runs": {many("a slowdown - 2 3 0", "b slowdown - 2 9 0",
			"c slowdown - 8 9 0"), "a b+c"},
		"pairs are between their commits": {other(func(f *regression.Finding) { f.Change.Pair = "pr against main" }), "a+b+c+d:parse e"},
	} {
		if got := strings.Join(groups(c.list), " "); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

// TestEventsInAnyOrder: the order of findings does not decide how they are grouped, and each finding is in one change.
func TestEventsInAnyOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var list []regression.Finding
		for i := range rapid.IntRange(0, 14).Draw(t, "n") {
			onset := rapid.IntRange(2, 6).Draw(t, "onset")
			f := lasting(fmt.Sprint("b", i%8), rapid.SampledFrom([]string{"regression", "widespread", "slowdown", "improvement"}).Draw(t, "kind"),
				rapid.SampledFrom([]string{"-", "-", "f", "g"}).Draw(t, "function"), rapid.IntRange(1, onset-1).Draw(t, "good"), onset,
				rapid.SampledFrom([]float64{0, 0.3, 0.9}).Draw(t, "explains"))
			f.ID = fmt.Sprint(i)
			if rapid.Bool().Draw(t, "machine") {
				f.Change.Machine = ""
			}
			if rapid.IntRange(0, 9).Draw(t, "compared") == 0 { // of a comparison
				f.Change = nil
			}
			f.Sides.Base[1] = fmt.Sprintf("n%02d", rapid.IntRange(1, onset-1).Draw(t, "base"))
			list = append(list, f)
		}
		sets := func(list []regression.Finding) map[string]string {
			of := map[string]string{}
			n := 0
			for _, c := range Group(list) {
				least := c.ID
				for _, f := range c.All() {
					least = min(least, f.ID)
				}
				for _, f := range c.All() {
					of[f.ID] = least
					n++
				}
			}
			if n != len(list) {
				t.Fatalf("%d of %d findings", n, len(list))
			}
			return of
		}
		a, b := sets(list), sets(rapid.Permutation(list).Draw(t, "order"))
		for id, set := range a {
			if b[id] != set {
				t.Fatalf("%s is one with %s, in another order with %s", id, set, b[id])
			}
		}
	})
}
