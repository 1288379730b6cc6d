package regression

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// heap is a program that pushes onto a heap with a slow comparison, with so many samples per
// run. From run 4 on, the function push has another name, or is inlined ("").
func heap(name string, seed uint64, samples float64, push string) *bench {
	r := rand.New(rand.NewPCG(seed, 7))
	b := &bench{group: "g", name: name}
	const fill = "testing.(*B).runN;shop.BenchmarkFill;shop.Fill"
	for i := range 6 {
		at := fill + ";shop.(*heap).push"
		if i >= 4 {
			if at = fill; push != "" {
				at += ";" + push
			}
		}
		run := map[string]int64{}
		for _, x := range []struct {
			path  string
			share float64
		}{{at, 0.1}, {at + ";shop.Less", 0.6}, {fill, 0.1}, {fill + ";shop.order", 0.2}} {
			m := x.share * samples * math.Exp(0.03*r.NormFloat64())
			if n := int64(math.Round(m + math.Sqrt(m)*r.NormFloat64())); n > 0 {
				run[x.path] += n
			}
		}
		b.runs = append(b.runs, run)
	}
	return b
}

// TestKnownInAllBenchmarks: a function that large benchmarks show to be renamed or inlined is
// not a cost of small ones, which cannot show it themselves.
func TestKnownInAllBenchmarks(t *testing.T) {
	for _, c := range []struct{ name, push, warning string }{
		{"renamed", "shop.(*heap).pushValue", "renamed shop.(*heap).push to shop.(*heap).pushValue, as g/one shows"},
		{"inlined", "", "inlined shop.(*heap).push into shop.Fill, as g/one shows"},
	} {
		alone, warned := 0, 0
		for seed := range uint64(100) {
			small := func() *bench { return heap("small", seed, 8, c.push) }
			alone += len(costs(find(t, put(t, small()), newest(2)).Findings))
			res := find(t, put(t, small(), heap("one", 1001, 900, c.push), heap("two", 1002, 900, c.push)), newest(2))
			if list := costs(res.Findings); len(list) > 0 {
				t.Errorf("%s, seed %d: %+v", c.name, seed, list)
			}
			for i := range res.Benchmarks {
				if slices.Contains(res.Benchmarks[i].Warnings, c.warning) {
					warned++
				}
			}
		}
		if alone == 0 || warned == 0 {
			t.Errorf("%s: %d costs of small benchmarks alone, %d warnings", c.name, alone, warned)
		}
	}
}

// TestCostBelowRenamed: what a renamed function calls, and became slower, is found.
func TestCostBelowRenamed(t *testing.T) {
	const render, draw = "runtime.main;main.main;main.serve;main.render", "runtime.main;main.main;main.serve;main.draw"
	res := find(t, put(t, service(14, func(i int, run map[string]int64) {
		if i >= 12 {
			run[draw], run[draw+";main.escape"] = run[render], 2*run[render+";main.escape"]
			delete(run, render)
			delete(run, render+";main.escape")
		}
	})), newest(2))
	list := costs(res.Findings)
	if len(list) != 1 || list[0].Function != "main.escape" {
		t.Errorf("%+v", list)
	}
	if !slices.ContainsFunc(res.Findings, func(f Finding) bool {
		return f.Kind == Moved && strings.HasPrefix(f.Note, "renamed main.render to main.draw")
	}) {
		t.Errorf("the rename is not noted: %+v", res.Findings)
	}
}
