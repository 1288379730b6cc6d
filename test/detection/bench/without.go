package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"text/tabwriter"

	"github.com/dendroprof/dendro/analysis/regression"
	"github.com/dendroprof/dendro/test/detection"
	"github.com/dendroprof/dendro/test/detection/public"
)

// runWithout prints what becomes different in every suite without a rule, or without each of them.
func runWithout(ctx context.Context, real, name string) error {
	rules := regression.Rules
	if name != "all" {
		at := slices.IndexFunc(rules, func(r regression.Rule) bool { return r.Name == name })
		if at < 0 {
			return fmt.Errorf("-without %s: no such rule; all lists them", name)
		}
		rules = rules[at : at+1]
	}
	subjects, _, err := detection.LoadReal(ctx, os.DirFS(cmp.Or(real, realTestdata)))
	if err != nil {
		return err
	}
	pairs, err := public.Load(ctx, os.DirFS(filepath.Join("test", "detection", "public", "testdata")))
	if err != nil {
		return err
	}
	suites := detection.NewSuites(subjects)
	all, err := countAll(ctx, suites, pairs, "")
	if err != nil {
		return err
	}
	w := tabwriter.NewWriter(os.Stdout, 0, 8, 2, ' ', 0)
	for _, r := range rules {
		list, err := countAll(ctx, suites, pairs, r.Name)
		if err != nil {
			return err
		}
		fmt.Fprintf(w, "without %q, %s: %s\n", r.Name, r.Decides, r.Why)
		same := true
		for i, c := range list {
			if c.N != all[i].N {
				same = false
				of := ""
				if c.Of > 0 {
					of = fmt.Sprintf(" of %d", c.Of)
				}
				fmt.Fprintf(w, "  %s\t%d%s\twith it %d\n", c.Name, c.N, of, all[i].N)
			}
		}
		if same {
			fmt.Fprintln(w, "  no difference in", len(list), "figures")
		}
		if err := w.Flush(); err != nil {
			return err
		}
	}
	return nil
}

// countAll counts the cases of every suite without a rule; empty: with all of them.
func countAll(ctx context.Context, suites *detection.Suites, pairs []*public.Pair, rule string) ([]detection.Count, error) {
	o := regression.Options{Without: rule}
	list := suites.Count(o)
	for _, p := range pairs {
		p.Options = o
	}
	res, err := public.Run(ctx, io.Discard, pairs)
	if err != nil {
		return nil, err
	}
	v := reflect.ValueOf(res.All)
	for i := range v.NumField() {
		list = append(list, detection.Count{Name: "bumps, " + v.Type().Field(i).Name, N: int(v.Field(i).Int())})
	}
	return list, nil
}
