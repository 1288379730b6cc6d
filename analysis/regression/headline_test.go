package regression

import (
	"maps"
	"math"
	"math/rand/v2"
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
		{"a new call of a library", "runtime.main;main.main;main.serve;main.store;lib/x.Compile", nil, "main.store", "lib/x.Compile", false,
			250.0 / 1480},
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
		if h.Function != c.function || h.Calls != c.calls || h.New != c.isNew || h.Own == c.isNew || math.Abs(d.Base-c.before) > 0.02 ||
			math.Abs(d.Share-160.0/1480) > 0.02 {
			t.Errorf("%s: %+v, %+v", c.name, h, d)
		}
		if (list[0].Presence == New) != strings.Contains(list[0].Note+string(list[0].Presence), "new") {
			t.Errorf("%s: presence %q", c.name, list[0].Presence)
		}
	}
}

// A new path in a library is no cost if the user's function that calls the library takes as
// long as before, nor a path that was there if the user's function became faster: compilers
// inline the functions of a library differently in each run.
func TestLibraryPathThatNothingShows(t *testing.T) {
	const render = "runtime.main;main.main;main.serve;main.render;"
	for _, c := range []struct {
		name   string
		inlib  bool
		before int64 // samples of the place
		now    int64 // of its caller
		costs  int
	}{{"new, in a library", true, 0, 450, 0}, {"new, in own code", false, 0, 450, 1},
		{"in a library, below a faster function", true, 60, 380, 0}, {"in a library", true, 60, 480, 1}} {
		place := "main.pad"
		if c.inlib {
			place = "lib/x.pad"
		}
		b := service(20, func(i int, run map[string]int64) {
			n := int64(400 + 70*(i%4) - 35*(i%3)) // the jitter of its caller hides the path
			at := render + "lib/x.a;lib/x.b;lib/x.c;" + place
			if c.before > 0 {
				run[at] = c.before + int64(i%3)
			}
			if i >= 18 {
				n, run[at] = c.now, c.before+45
			}
			run[render+"lib/x.a;lib/x.b;lib/x.c"] = n
		})
		if list := costs(find(t, put(t, b), Request{}).Findings); len(list) != c.costs {
			t.Errorf("%s: %d findings: %+v", c.name, len(list), list)
		}
	}
}

// A finding is of the user's function that does nothing but call a library: the library's
// functions below it rise together, and which of them has the highest score is chance.
func TestFunctionThatOnlyCallsALibrary(t *testing.T) {
	const sign = "runtime.main;main.main;main.serve;main.sign"
	b := service(14, func(i int, run map[string]int64) {
		run[sign+";lib/sha.Sum;lib/sha.block"] = 40
		run[sign] = 2
		if i >= 12 {
			run[sign+";lib/sha.Sum;lib/sha.block"] = 140
		}
	})
	list := costs(find(t, put(t, b), Request{}).Findings)
	if len(list) != 1 || list[0].Function != "main.sign" || list[0].Headline.Calls != "lib/sha.Sum" || len(list[0].Parts) != 1 ||
		list[0].Parts[0].Function != "lib/sha.block" {
		t.Errorf("%+v", list)
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
		{"renamed with its callees", func(i int, run map[string]int64) {
			move("main.render", "main.draw", 1)(i, run)
			move("main.render;main.escape", "main.draw;main.escape", 1)(i, run)
		}, "renamed main.render to main.draw", false, ""},
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
		if c.note != "" && !slices.ContainsFunc(res.Findings,
			func(f Finding) bool { return f.Kind == Moved && strings.HasPrefix(f.Note, c.note) }) {
			t.Errorf("%s: no note in %+v", c.name, res.Findings)
		}
	}
}

// What a function of much noise calls replaces most of its work, which by the profile alone
// is moved work. It is a cost of the function if the metric of two runs is significantly
// worse, and a slower machine does not explain that.
func TestCostThatTheMetricShows(t *testing.T) {
	jitter := []float64{-.35, .3, -.1, .25, -.3, .1, .35, -.2, .2, -.25, .05, .3, -.05, .05}
	const render = "runtime.main;main.main;main.serve;main.render"
	for _, c := range []struct {
		name  string
		worse float64
		blend int64
		want  bool
	}{
		{"the metric shows it", 1.25, 460, true},
		{"the metric does not", 1.02, 460, false},
		{"the machine is slower", 1.4, 460, false},
	} {
		b := service(14, func(i int, run map[string]int64) {
			run[render], run[render+";main.escape"] = int64(400*(1+1.5*jitter[i])), int64(200*(1-1.5*jitter[i]))
			if i >= 12 {
				run[render], run[render+";main.escape"], run[render+";main.blend"] = 190, 100, c.blend+int64(i)
			}
		})
		for i := range b.metrics {
			if b.metrics[i] = 100 + float64(i%3); i >= 12 {
				b.metrics[i] *= c.worse
			}
		}
		list := find(t, put(t, b), newest(2)).Findings
		at := slices.IndexFunc(list, func(f Finding) bool { return f.Kind == Regression })
		if (at >= 0) != c.want {
			t.Errorf("%s: %+v", c.name, list)
		}
		if at >= 0 && c.want {
			f := list[at]
			if f.Function != "main.render" || f.Headline.Calls != "main.blend" || !strings.Contains(f.Note, "metric") || f.Delta.Share <= 0 ||
				f.Delta.Share >= f.Delta.Gross {
				t.Errorf("%s: %+v, %+v", c.name, f, f.Headline)
			}
		}
	}
}

// TestAttributedToItsCaller: a compiler stops inlining a function, so that samples of its
// caller, of much noise, appear below it. No fall can be told from that noise.
func TestAttributedToItsCaller(t *testing.T) {
	jitter := []float64{-.35, .3, -.1, .25, -.3, .1, .35, -.2, .2, -.25, .05, .3, -.05, .05}
	const render = "runtime.main;main.main;main.serve;main.render"
	list := find(t, put(t, service(14, func(i int, run map[string]int64) {
		run[render] = int64(5000 * (1 + 1.5*jitter[i]))
		if i >= 12 {
			run[render] -= 10
			run[render+";main.blend"] = 60 + int64(i)
		}
	})), Request{}).Findings
	if len(costs(list)) > 0 {
		t.Errorf("%+v", costs(list))
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
		if len(list) != 1 || list[0].Kind != Regression || list[0].Function != "main.verify" ||
			math.Abs(list[0].Delta.Share-c.cost) > 0.3*c.cost {
			t.Errorf("%d runs, %v: %+v", c.runs, c.cost, list)
		}
	}
}

// TestProgramsOfFewFunctions adds a new callee to benchmarks that run for a fixed time and
// have two or three functions: of so few, shares alone do not tell what became slower.
func TestProgramsOfFewFunctions(t *testing.T) {
	const top = "runtime.main;main.run;main.find"
	for _, c := range []struct {
		before  map[string]float64
		samples float64
		times   float64 // cost of the callee, of all before
		noise   float64 // of the metric
	}{
		{map[string]float64{top: 0.85, "runtime.main;main.run": 0.15}, 300, 0.8, 0.02},
		{map[string]float64{top: 0.85, "runtime.main;main.run": 0.15}, 300, 0.8, 0.3},
		{map[string]float64{top: 0.85, "runtime.main;main.run": 0.15}, 36, 0.8, 0.15},
		{map[string]float64{top: 0.85, "runtime.main;main.run": 0.15}, 300, 35, 0.15},
		{map[string]float64{top: 0.6, top + ";strings.Index": 0.35, "runtime.main;main.run": 0.05}, 300, 35, 0.03},
	} {
		r := rand.New(rand.NewPCG(1, 2))
		b := &bench{group: "g", name: "b"}
		for i := range 14 {
			cost, sum := maps.Clone(c.before), 1.0
			if i >= 12 {
				cost[top+";regexp.MatchString;regexp.doOnePass"] = 0.9 * c.times
				cost[top+";regexp.MatchString"] = 0.1 * c.times
				sum += c.times
			}
			run := map[string]int64{}
			for _, path := range slices.Sorted(maps.Keys(cost)) {
				m := c.samples * cost[path] / sum
				run[path] = max(0, int64(math.Round(m+math.Sqrt(m)*r.NormFloat64())))
			}
			b.runs = append(b.runs, run)
			b.metrics = append(b.metrics, 10*sum*math.Exp(c.noise*r.NormFloat64()))
		}
		if list := costs(find(t, put(t, b), Request{}).Findings); len(list) != 1 || named(&list[0]) != "main.find" ||
			math.Abs(list[0].Delta.Share-c.times) > 0.4*c.times {
			t.Errorf("%+v: %+v", c, list)
		}
	}
	// Almost all of the program is one function.
	b := &bench{group: "g", name: "b"}
	for i := range 14 {
		run, metric := map[string]int64{top: 285 + int64(i%3), "runtime.main;main.run": 15}, 10.0+float64(i%3)/10
		if i >= 12 {
			run, metric = map[string]int64{top: 8, top + ";regexp.MatchString;regexp.doOnePass": 292}, 350
		}
		b.runs, b.metrics = append(b.runs, run), append(b.metrics, metric)
	}
	if list := costs(find(t, put(t, b), Request{}).Findings); len(list) != 1 || named(&list[0]) != "main.find" {
		t.Errorf("one function: %+v", list)
	}
}

func named(f *Finding) string {
	if f.Headline != nil {
		return f.Headline.Function
	}
	return f.Function
}
