package cli

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/dendroprof/dendro/internal/engines"
	"github.com/dendroprof/dendro/store"
)

// runsOptions are the flags of `dendro runs`.
type runsOptions struct {
	selection
	profiles bool
	output   outputFormat
}

func newRuns(e *env) *cobra.Command {
	var o runsOptions
	c := &cobra.Command{
		Use:   "runs [flags]",
		Short: "List test runs, or their profiles with --profiles",
		Long:  `Runs lists the test runs in the store, oldest first, or with --profiles every profile with its id.`,
		Example: `  dendro runs --last 5
  dendro runs --profiles --benchmark checkout --last 1
  dendro runs -o json | jq '.rows[].run'`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return o.run(c.Context(), e) },
	}
	o.addFlags(c)
	c.Flags().BoolVar(&o.profiles, "profiles", false, "list every profile, with its id")
	o.output.addFlag(c, "text", "json", "md", "tsv", "csv")
	return c
}

func (o *runsOptions) run(ctx context.Context, e *env) error {
	return o.ask(ctx, e, engines.Read, func(st store.Store, q store.Query) error {
		list, err := st.Profiles(ctx, q)
		if err != nil {
			return err
		}
		if o.profiles {
			return profileTable(list).print(e, o.output)
		}
		return runTable(list).print(e, o.output)
	})
}

func dateText(v any) string {
	t, ok := v.(time.Time)
	if !ok || t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02 15:04:05Z")
}

func shortCommit(v any) string {
	s, _ := v.(string)
	if len(s) > 12 {
		return s[:12]
	}
	return s
}

func runTable(list []store.Profile) *table {
	t := &table{columns: []column{{name: "run"}, {name: "date", text: dateText}, {name: "commit", text: shortCommit}, {name: "branch"},
		{name: "machine"}, {name: "benchmarks", right: true}, {name: "profiles", right: true}, {name: "types", text: joined}}}
	var order []string
	byRun := map[string][]store.Profile{}
	for _, p := range list {
		if byRun[p.Run.Key] == nil {
			order = append(order, p.Run.Key)
		}
		byRun[p.Run.Key] = append(byRun[p.Run.Key], p)
	}
	for _, key := range order {
		var benchmarks, types []string
		for _, p := range byRun[key] {
			if b := p.Benchmark.String(); !slices.Contains(benchmarks, b) {
				benchmarks = append(benchmarks, b)
			}
			if !slices.Contains(types, p.Type.Name) {
				types = append(types, p.Type.Name)
			}
		}
		slices.Sort(types)
		r := byRun[key][0].Run
		t.add(r.Key, r.Date, r.Commit, r.Branch, r.Machine, len(benchmarks), len(byRun[key]), types)
	}
	return t
}

func joined(v any) string {
	list, _ := v.([]string)
	return strings.Join(list, " ")
}

func profileTable(list []store.Profile) *table {
	t := &table{columns: []column{{name: "id"}, {name: "run"}, {name: "date", text: dateText}, {name: "group"}, {name: "benchmark"}, {name: "type"},
		{name: "samples", right: true, text: grouped}, {name: "sum", right: true, text: grouped}, {name: "unit"}, {name: "nodes", right: true, text: grouped},
		{name: "metric", right: true}, {name: "metricUnit"}, {name: "file"}}}
	for i := range list {
		p := &list[i]
		var metric, unit any
		if m, ok := p.Metric(); ok {
			metric, unit = m.Mean, m.Unit
		}
		t.add(p.ID, p.Run.Key, p.Run.Date, p.Benchmark.Group, p.Benchmark.Name, p.Type.Name, p.Samples, p.Sum, p.Type.Unit, p.Nodes, metric, unit, p.File)
	}
	return t
}
