package detection

import (
	"context"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"

	"github.com/dendroprof/dendro/analysis/gate"
	"github.com/dendroprof/dendro/analysis/history"
	"github.com/dendroprof/dendro/analysis/regression"
	"github.com/dendroprof/dendro/store"
)

// kindsOfTypes are the value types that MeasureClean has judged, and for how many of them
// the gate is told to allow.
var kindsOfTypes = []struct {
	name    string
	all     bool // every value type, else the default one
	counted bool // the error probability counts the types
}{
	{"the default value type", false, true},
	{"every value type, counted (check)", true, true},
	{"every value type, not counted", true, false},
}

// MeasureClean prints how often the gate fails for runs without a change: each pair of
// neighbouring runs of the store, as the head, against all others, as the base. Nothing may
// have changed between the runs.
func MeasureClean(ctx context.Context, w io.Writer, st store.Reader) error {
	all, err := st.Profiles(ctx, store.Query{})
	if err != nil {
		return err
	}
	all = history.Distinct(all)
	var runs []string
	for _, p := range all {
		if !slices.Contains(runs, p.Run.Key) {
			runs = append(runs, p.Run.Key)
		}
	}
	tw := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	fmt.Fprintln(tw, "judged\tsuites\tfail\tbenchmarks\tfail\tseries\tfail")
	for _, kind := range kindsOfTypes {
		for _, policy := range []gate.Policy{{}, {Suspects: true}} {
			list := all
			if !kind.all {
				list = slices.DeleteFunc(slices.Clone(all), func(p store.Profile) bool { return !p.Default })
			}
			var c cleanCounts
			for i := range runs[:len(runs)-1] {
				if err := c.pair(ctx, st, list, runs[i:i+2], policy, kind.counted); err != nil {
					return err
				}
			}
			name := kind.name
			if policy.Suspects {
				name += ", suspects fail"
			}
			fmt.Fprintf(tw, "%s\t%d\t%d\t%d\t%d\t%d\t%d\n", name, c.suites, c.failedSuites, c.benchmarks, c.failedBenchmarks, c.series, c.failedSeries)
		}
	}
	return tw.Flush()
}

// cleanCounts counts what was judged and what failed: suites, which are pairs of runs with
// all benchmarks; benchmarks, each as a suite of its own; and value types of benchmarks.
type cleanCounts struct {
	suites, failedSuites, benchmarks, failedBenchmarks, series, failedSeries int
}

func (c *cleanCounts) pair(ctx context.Context, st store.Reader, list []store.Profile, head []string, policy gate.Policy, counted bool) error {
	var sides gate.Sides
	byBenchmark := map[string]gate.Sides{}
	for _, p := range list {
		name := p.Benchmark.String()
		one := byBenchmark[name]
		if slices.Contains(head, p.Run.Key) {
			sides.Head, one.Head = append(sides.Head, p), append(one.Head, p)
		} else {
			sides.Base, one.Base = append(sides.Base, p), append(one.Base, p)
		}
		byBenchmark[name] = one
	}
	judge := func(s gate.Sides) (series, failed int, err error) {
		if len(s.Head) == 0 {
			return 0, 0, nil
		}
		tested := s.Head
		if !counted {
			tested = slices.DeleteFunc(slices.Clone(tested), func(p store.Profile) bool { return !p.Default })
		}
		res, err := gate.Compare(ctx, st, s, regression.Request{Options: regression.Options{Alpha: policy.AlphaOf(tested)}})
		if err != nil {
			return 0, 0, err
		}
		for i := range res.Benchmarks {
			if res.Benchmarks[i].Reason == "" {
				series++
			}
		}
		changes := gate.Group(res.Findings)
		gate.Judge(res.Result, changes, policy)
		for i := range changes {
			if changes[i].Fails {
				failed += len(changes[i].All())
			}
		}
		return series, failed, nil
	}
	series, failed, err := judge(sides)
	if err != nil {
		return err
	}
	c.suites, c.series, c.failedSeries = c.suites+1, c.series+series, c.failedSeries+failed
	if failed > 0 {
		c.failedSuites++
	}
	for _, one := range byBenchmark {
		series, failed, err := judge(one)
		if err != nil {
			return err
		}
		if series > 0 {
			c.benchmarks++
		}
		if failed > 0 {
			c.failedBenchmarks++
		}
	}
	return nil
}
