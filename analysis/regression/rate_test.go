package regression

import (
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/testrun"
)

// fixed makes a benchmark record a fixed number of operations in every run.
func fixed(b *bench) *bench {
	b.edit = func(_ int, f *store.File) {
		f.Metrics = append(f.Metrics, testrun.NewOperations(1000, false))
	}
	b.metrics = nil
	return b
}

// noisy is a service of Poisson counts on a machine whose speed varies from run to run.
func noisy(seed uint64, runs int, edit func(i int, run map[string]int64)) *bench {
	r := rand.New(rand.NewPCG(seed, 3))
	return fixed(service(runs, func(i int, run map[string]int64) {
		if edit != nil {
			edit(i, run)
		}
		speed := math.Exp(0.1 * r.NormFloat64())
		for _, path := range slices.Sorted(maps.Keys(run)) { // one order, so that a seed is one history
			m := float64(run[path]) * speed
			run[path] = max(0, int64(math.Round(m+math.Sqrt(m)*r.NormFloat64())))
		}
	}))
}

// TestSizePerOperation: where nearly all of a program takes twice as long, shares tell
// nothing about the size; samples per operation do.
func TestSizePerOperation(t *testing.T) {
	const scale = "runtime.main;main.main;main.serve;main.render;main.escape"
	for seed := range uint64(5) {
		res := find(t, put(t, noisy(seed, 8, func(i int, run map[string]int64) {
			if i >= 6 {
				run[scale+";lib/x.Encode"] = 1500
			}
		})), Request{})
		list := costs(res.Findings)
		if len(list) != 1 || list[0].Status != Confirmed {
			t.Fatalf("seed %d: %+v", seed, list)
		}
		if d := list[0].Delta; math.Abs(d.Share-1500.0/1480) > 0.3 {
			t.Errorf("seed %d: %+v", seed, d)
		}
	}
}

// TestSlowerWithoutPlace: all functions take twice as long. No place is responsible, but the
// program is slower; so it is with one function that is nearly all of it.
func TestSlowerWithoutPlace(t *testing.T) {
	double := func(i int, run map[string]int64) {
		if i >= 8 {
			for path := range run {
				run[path] *= 2
			}
		}
	}
	list := costs(find(t, put(t, noisy(1, 9, double)), Request{}).Findings)
	if len(list) != 1 || list[0].Kind != Slowdown && list[0].Kind != Widespread || list[0].Function != "" || list[0].Status != Suspect ||
		math.Abs(list[0].Delta.Share-1) > 0.4 {
		t.Errorf("%+v", list)
	}
	hot := fixed(&bench{group: "g", name: "b"})
	for i := range 9 {
		n := int64(900 + 30*(i%3))
		if i == 8 {
			n *= 2
		}
		hot.runs = append(hot.runs, map[string]int64{"main;main.spin": n, "main": 10})
	}
	list = costs(find(t, put(t, hot), Request{}).Findings)
	if len(list) != 1 || list[0].Kind != Slowdown || !strings.Contains(list[0].Note, "place not certain") ||
		math.Abs(list[0].Delta.Share-1) > 0.1 {
		t.Errorf("one hot function: %+v", list)
	}
	if list := costs(find(t, put(t, noisy(1, 9, nil)), Request{}).Findings); len(list) > 0 {
		t.Errorf("clean: %+v", list)
	}
}

// TestSlowerBesideMovedWork: the work of a library moved into a new function, and takes
// more, of few samples. One run of it is a suspect without a certain place, below the user's
// function. Work that only moved never is one, and a rise alone of so few samples less often.
func TestSlowerBesideMovedWork(t *testing.T) {
	const at = "main;main.safe;lib/x.Clean"
	for _, c := range []struct {
		name        string
		moved       bool
		rise        float64
		least, most int // of 20 histories that have the finding
	}{{"moved and slower", true, 1.5, 7, 20}, {"moved", true, 1, 0, 0}, {"slower", false, 1.5, 0, 12}} {
		found := 0
		for seed := range uint64(20) {
			b := noisy(seed, 9, func(i int, run map[string]int64) {
				clear(run)
				run["main"], run["main;main.safe"] = 5, 5
				below, rise := "", 1.0
				if i == 8 && c.moved {
					below = ";lib/x.run"
				}
				if i == 8 {
					rise = c.rise
				}
				for name, n := range map[string]float64{"scan": 40, "copy": 35, "join": 30, "grow": 25} {
					run[at+below+";lib/x."+name] = int64(n * rise)
				}
			})
			for _, f := range costs(find(t, put(t, b), Request{}).Findings) {
				if found++; f.Status != Suspect && f.Score < 2.3 || f.Headline != nil && f.Headline.Function != "lib/x.Clean" {
					t.Errorf("%s, seed %d: %+v", c.name, seed, f)
				}
			}
		}
		if found < c.least || found > c.most {
			t.Errorf("%s: %d of 20 have a finding", c.name, found)
		}
	}
}

// TestGainsOfOneFunction: two libraries became faster below one function of the user's that is
// all of the program. That is one improvement, of what the program gained.
func TestGainsOfOneFunction(t *testing.T) {
	const at = "main;main.run"
	for seed := range uint64(5) {
		b := noisy(seed, 10, func(i int, run map[string]int64) {
			clear(run)
			scan, join := int64(1000), int64(900)
			if i >= 8 {
				scan, join = 500, 450
			}
			run["main"], run[at] = 5, 5
			run[at+";github.com/a/x.Read;github.com/a/x.scan"], run[at+";github.com/b/y.Write;github.com/b/y.join"], run[at+
				";github.com/c/z.Sum"] = scan, join, 800
		})
		gains := 0
		for _, f := range find(t, put(t, b), Request{Options: Options{Own: []string{"main"}}}).Findings {
			if f.Kind == Improvement {
				gains++
				if f.Headline == nil || f.Headline.Function != "main.run" || math.Abs(f.Delta.Share+0.35) > 0.15 {
					t.Errorf("seed %d: %+v %+v", seed, f.Headline, f)
				}
			}
		}
		if gains != 1 {
			t.Errorf("seed %d: %d improvements", seed, gains)
		}
	}
}

// TestConservationWithMovedWork: of random programs in which work moved below a new function,
// another function became slower and a third faster, costs and gains add up to the change of the
// program per operation within the intervals; what moved is in none.
func TestConservationWithMovedWork(t *testing.T) {
	const at = "runtime.main;main.main;main.serve"
	found, outside := 0, 0 // of 40
	for seed := range uint64(40) {
		r := rand.New(rand.NewPCG(seed, 7))
		moved, slower, faster := 100+r.Int64N(400), 100+r.Int64N(500), 50+r.Int64N(250)
		res := find(t, put(t, noisy(seed, 10, func(i int, run map[string]int64) {
			read, below := at+";main.load;lib/x.read", ""
			if i >= 8 {
				below = ";main.cached"
				run[at+";main.price;main.round"] += slower
				run[at+";main.print"] = 300 - faster
			} else {
				run[at+";main.print"] = 300
			}
			run[strings.Replace(read, ";lib", below+";lib", 1)] = moved
			run[at+";main.load"+below+";lib/y.parse"] = moved
		})), Request{})
		b := &res.Benchmarks[0]
		a := b.Analyses[slices.IndexFunc(b.Analyses, func(a *Analysis) bool { return len(a.Tested) == 2 })]
		sum, errors, n := 0.0, math.Pow((a.Program.High-a.Program.Low)/2, 2), 0
		for i := range a.Findings {
			f := &a.Findings[i]
			if !f.Kind.Costs() && f.Kind != Improvement {
				continue
			}
			n++
			sum += f.Delta.Share
			if f.Function == "main.cached" || f.Headline != nil && f.Headline.Function == "main.load" {
				t.Errorf("seed %d: moved work is a %s of %.2f", seed, f.Kind, f.Delta.Share)
			}
		}
		if n > 0 {
			found++
			if math.Abs(sum-a.Program.Value) > math.Sqrt(errors) {
				outside++
				t.Logf("seed %d: findings are %+.2f of the program, which changed by %+.2f (%+.2f … %+.2f)", seed, sum, a.Program.Value, a.Program.Low, a.Program.High)
			}
		}
	}
	if found < 25 || outside > 2 { // intervals of 95%
		t.Errorf("%d histories with findings, which %d contradict: want 25 and at most 2", found, outside)
	}
}

// TestFallIsUsedOnce: three new functions, and one of the size of one of them that
// vanished. Together they cost twice what vanished.
func TestFallIsUsedOnce(t *testing.T) {
	const at = "runtime.main;main.main;main.serve;main.price;lib/x.String"
	res := find(t, put(t, noisy(2, 8, func(i int, run map[string]int64) {
		run[at+";lib/x.bytes"] = 150
		if i >= 6 {
			delete(run, at+";lib/x.bytes")
			run[at+";lib/x.join"], run[at+";lib/x.print"], run[at+";lib/x.grow"] = 150, 160, 140
		}
	})), Request{})
	list := costs(res.Findings)
	if len(list) != 1 || list[0].Headline == nil || list[0].Headline.Function != "main.price" ||
		math.Abs(list[0].Delta.Share-300.0/1630) > 0.1 {
		t.Errorf("%+v", list)
	}
}

// TestInlinedCallee: a callee vanishes below a function that then takes its work, while its
// neighbour becomes slower. The function that inlined its callee is never the place; in most
// histories the neighbour is, in the others a caller of both.
func TestInlinedCallee(t *testing.T) {
	const observe = "runtime.main;main.main;main.serve;main.price;lib/x.Observe"
	const histories = 20
	exact := 0
	for seed := range uint64(histories) {
		res := find(t, put(t, noisy(seed, 8, func(i int, run map[string]int64) {
			run[observe+";lib/x.find"], run[observe+";lib/x.find;lib/x.search"], run[observe+";lib/x.add"] = 60, 400, 300
			if i >= 6 {
				delete(run, observe+";lib/x.find;lib/x.search")
				run[observe+";lib/x.find"], run[observe+";lib/x.add"] = 470, 900
			}
		})), Request{})
		list := costs(res.Findings)
		if len(list) != 1 || !slices.Contains(list[0].Path, "main.price") || slices.Contains(list[0].Path, "lib/x.find") {
			t.Errorf("seed %d: %+v", seed, list)
			continue
		}
		if slices.Contains(list[0].Path, "lib/x.add") {
			exact++
		}
	}
	if exact < histories/2 {
		t.Errorf("the place in %d of %d histories", exact, histories)
	}
}

// TestConservation: costs and gains add up to the change of the program per operation,
// within the 95% interval of their difference, in at least 9 of 10 histories.
func TestConservation(t *testing.T) {
	const serve = "runtime.main;main.main;main.serve;"
	const seeds = 10
	for name, edit := range map[string]func(run map[string]int64){
		"one":           func(run map[string]int64) { run[serve+"main.store"] *= 2 },
		"two":           func(run map[string]int64) { run[serve+"main.store"] *= 2; run[serve+"main.load"] *= 2 },
		"cost and gain": func(run map[string]int64) { run[serve+"main.store"] *= 3; run[serve+"main.load"] /= 4 },
		"nested":        func(run map[string]int64) { run[serve+"main.render"] *= 2; run[serve+"main.render;main.escape"] *= 4 },
	} {
		outside := 0
		for seed := range uint64(seeds) {
			res := find(t, put(t, noisy(seed, 10, func(i int, run map[string]int64) {
				if i >= 8 {
					edit(run)
				}
			})), newest(2))
			a := res.Benchmarks[0].Analyses[0]
			if a.Program == nil {
				t.Fatalf("%s: no change of the program", name)
			}
			sum := 0.0
			for _, f := range res.Findings {
				if f.Kind.Costs() || f.Kind == Improvement {
					sum += f.Delta.Share
				}
			}
			if width := (a.Program.High - a.Program.Low) / 2; math.Abs(sum-a.Program.Value) > math.Sqrt2*width { // both have an error
				outside++
				t.Logf("%s, seed %d: findings are %+.2f of the program, which changed by %+.2f (%+.2f … %+.2f)", name, seed, sum, a.Program.Value, a.Program.Low, a.Program.High)
			}
		}
		if outside > seeds/10 {
			t.Errorf("%s: %d of %d sums are outside of the interval", name, outside, seeds)
		}
	}
}
