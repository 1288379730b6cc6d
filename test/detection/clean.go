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

// MeasureClean prints how often the gate fails for runs without a change: each pair of
// neighbouring runs of the store, as the head, against all others, as the base. Nothing may
// have changed between the runs.
func MeasureClean(ctx context.Context, w io.Writer, st store.Reader) error {
	list, err := st.Profiles(ctx, store.Query{})
	if err != nil {
		return err
	}
	checked := history.Distinct(list)
	tw := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	fmt.Fprintln(tw, "judged\tsuites\tfail\tbenchmarks\tfail\thistories")
	for _, kind := range []struct {
		name string
		list []store.Profile
	}{
		{"the default value type of each profile", slices.DeleteFunc(slices.Clone(checked), func(p store.Profile) bool { return !p.Default })},
		{"every value type, as check does", checked},
	} {
		runs := RunsOf(kind.list)
		for _, policy := range []gate.Policy{{}, {Suspects: true}} {
			var c cleanCounts
			for i := range runs[:len(runs)-1] {
				if err := c.pair(ctx, st, kind.list, runs[i:i+2], policy); err != nil {
					return err
				}
			}
			name := kind.name
			if policy.Suspects {
				name += ", suspects fail"
			}
			fmt.Fprintf(tw, "%s\t%d\t%d\t%d\t%d\t%d\n", name, c.suites, c.failedSuites, c.benchmarks, c.failedBenchmarks, c.series)
		}
	}
	return tw.Flush()
}

// cleanCounts counts checks and failures: suites, which are pairs of runs with
// all benchmarks; benchmarks, each as a separate suite; and histories, of a value type of
// a benchmark, in the suites.
type cleanCounts struct{ suites, failedSuites, benchmarks, failedBenchmarks, series int }

// pair judges two runs.
func (c *cleanCounts) pair(ctx context.Context, st store.Reader, list []store.Profile, head []string, policy gate.Policy) error {
	var suite gate.Sides
	byBenchmark := map[string]gate.Sides{}
	for _, p := range list {
		name := p.Benchmark.String()
		one := byBenchmark[name]
		if slices.Contains(head, p.Run.Key) {
			suite.Head, one.Head = append(suite.Head, p), append(one.Head, p)
		} else {
			suite.Base, one.Base = append(suite.Base, p), append(one.Base, p)
		}
		byBenchmark[name] = one
	}
	v, err := judge(ctx, st, suite, policy)
	if err != nil || v.Judged == 0 {
		return err
	}
	c.suites, c.series, c.failedSuites = c.suites+1, c.series+v.Judged, c.failedSuites+count(v.Failed)
	for _, one := range byBenchmark {
		if len(one.Head) == 0 {
			continue
		}
		v, err := judge(ctx, st, one, policy)
		if err != nil {
			return err
		}
		c.benchmarks, c.failedBenchmarks = c.benchmarks+count(v.Judged > 0), c.failedBenchmarks+count(v.Failed)
	}
	return nil
}

func judge(ctx context.Context, st store.Reader, s gate.Sides, policy gate.Policy) (*gate.Verdict, error) {
	res, err := gate.Compare(ctx, st, s, regression.Request{})
	if err != nil {
		return nil, err
	}
	return gate.Judge(res.Result, gate.Group(res.Findings), policy), nil
}

// RunsOf returns the keys of the runs of profiles, in order.
func RunsOf(list []store.Profile) (keys []string) {
	for i := range list {
		if key := list[i].Run.Key; !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	return keys
}

func count(is bool) int {
	if is {
		return 1
	}
	return 0
}
