package regression

import (
	"math"
	"slices"
	"strings"
	"testing"
)

// service is a program whose own code is main and shop, with a library.
func service(runs int, edit func(i int, run map[string]int64)) *bench {
	b := &bench{group: "g", name: "b"}
	for i := range runs {
		wave := int64(i % 3)
		run := map[string]int64{
			"runtime.main;main.main;main.serve;main.price;lib/x.Compile;lib/x.parse": 60 + wave, "runtime.main;main.main;main.serve;main.price;main.match": 150 - wave,
			"runtime.main;main.main;main.serve;main.load": 300 + 2*wave, "runtime.main;main.main;main.serve;main.render": 400 - wave,
			"runtime.main;main.main;main.serve;main.render;main.escape": 200 + wave, "runtime.main;main.main;main.serve;main.store": 250 - wave,
			"runtime.main;main.main;main.serve;main.log": 120 + wave,
		}
		sum := int64(0)
		if edit != nil {
			edit(i, run)
		}
		for _, n := range run {
			sum += n
		}
		b.runs = append(b.runs, run)
		b.metrics = append(b.metrics, float64(sum)/100)
	}
	return b
}

func TestHeadline(t *testing.T) {
	const price = "runtime.main;main.main;main.serve;main.price"
	for _, c := range []struct {
		name            string
		path            string // that grows in the last two runs
		own             []string
		function, calls string
		isNew           bool
		before          float64
	}{
		{"a library of an own function", price + ";lib/x.Compile;lib/x.parse", nil, "main.price", "lib/x.Compile", false, 210.0 / 1480},
		{"a new call of a library", "runtime.main;main.main;main.serve;main.store;lib/x.Compile", nil, "main.store", "lib/x.Compile", false, 250.0 / 1480},
		{"a new own function", "runtime.main;main.main;main.serve;main.load;main.check;lib/x.Hash", nil, "main.load", "main.check", false, 300.0 / 1480},
		{"its own code", "runtime.main;main.main;main.serve;main.log", nil, "main.log", "", false, 120.0 / 1480},
		{"no own function on the path", "lib/x.Pool;lib/x.Work", []string{"main"}, "lib/x.Pool", "", true, 0},
		{"own by prefix", price + ";lib/x.Compile;lib/x.parse", []string{"lib/x"}, "lib/x.parse", "", false, 60.0 / 1480},
	} {
		b := service(14, func(i int, run map[string]int64) {
			if i >= 12 {
				run[c.path] += 160
			}
		})
		list := costs(find(t, put(t, b), Request{Options: Options{Own: c.own}}).Findings)
		if len(list) != 1 || list[0].Headline == nil {
			t.Errorf("%s: %+v", c.name, list)
			continue
		}
		h, d := list[0].Headline, list[0].Delta
		if h.Function != c.function || h.Calls != c.calls || h.New != c.isNew || h.Own == c.isNew || math.Abs(d.Before-c.before) > 0.02 || math.Abs(d.Share-160.0/1480) > 0.02 {
			t.Errorf("%s: %+v, %+v", c.name, h, d)
		}
		if (list[0].Presence == New) != strings.Contains(list[0].Note+string(list[0].Presence), "new") {
			t.Errorf("%s: presence %q", c.name, list[0].Presence)
		}
	}
}

// A renamed or moved function is neither an improvement nor a cost, and the note says
// where the work went. A function that really became faster is an improvement.
func TestFalls(t *testing.T) {
	const serve = "runtime.main;main.main;main.serve;"
	move := func(from, to string, share float64) func(i int, run map[string]int64) {
		return func(i int, run map[string]int64) {
			if i >= 12 {
				n := run[serve+from]
				delete(run, serve+from)
				run[serve+to] += int64(float64(n) * share)
			}
		}
	}
	for _, c := range []struct {
		name       string
		edit       func(i int, run map[string]int64)
		note       string
		isFaster   bool
		fallenName string
	}{
		{"renamed", move("load", "read", 1), "", false, ""},
		{"renamed", move("main.load", "main.read", 1), "renamed", false, ""},
		{"moved far away", move("main.render;main.escape", "main.price;main.match;main.quote", 1), "moved", false, ""},
		{"faster", move("main.load", "main.load", 0.4), "", true, "main.load"},
	} {
		res := find(t, put(t, service(14, c.edit)), Request{})
		faster := slices.IndexFunc(res.Findings, func(f Finding) bool { return f.Kind == Improvement })
		if (faster >= 0) != c.isFaster || len(costs(res.Findings)) > 0 {
			t.Errorf("%s: %+v", c.name, res.Findings)
		}
		if c.isFaster && faster >= 0 && res.Findings[faster].Headline.Function != c.fallenName {
			t.Errorf("%s: %+v", c.name, res.Findings[faster])
		}
		if c.note != "" && !slices.ContainsFunc(res.Findings, func(f Finding) bool { return f.Kind == Moved && strings.HasPrefix(f.Note, c.note) }) {
			t.Errorf("%s: no note in %+v", c.name, res.Findings)
		}
	}
}

// TestLargeRegressionOfAFixedTime adds to a benchmark that runs for a fixed time, as Go's
// do: the samples of a run stay equal, so that the new function pushes all other shares
// down. The metric says that nothing else became faster.
func TestLargeRegressionOfAFixedTime(t *testing.T) {
	for _, c := range []struct {
		runs int
		cost float64 // of the new function, as a share of the operation before
		own  map[string]float64
	}{
		{8, 0.8, map[string]float64{"price": 0.2, "receipt": 0.6, "log": 0.2}},
		{20, 0.8, map[string]float64{"price": 0.2, "receipt": 0.6, "log": 0.2}},
		{20, 1.5, map[string]float64{"price": 0.2, "receipt": 0.3, "log": 0.2, "tax": 0.1, "store": 0.2}},
	} {
		b := &bench{group: "g", name: "b"}
		for i := range c.runs {
			run, wave := map[string]int64{}, float64(i%3-1)/100
			whole := 1.0
			if i >= c.runs-2 {
				whole += c.cost
				run["main;main.checkout;main.price;main.verify"] = int64(300 * c.cost / whole * (1 + wave))
			}
			for name, share := range c.own {
				run["main;main.checkout;main."+name] = int64(300 * share / whole * (1 - wave))
			}
			b.runs = append(b.runs, run)
			b.metrics = append(b.metrics, 70*whole*(1+wave))
		}
		list := costs(find(t, put(t, b), Request{}).Findings)
		if len(list) != 1 || list[0].Kind != Regression || list[0].Function != "main.verify" || math.Abs(list[0].Delta.Share-c.cost) > 0.3*c.cost {
			t.Errorf("%d runs, %v: %+v", c.runs, c.cost, list)
		}
	}
}
