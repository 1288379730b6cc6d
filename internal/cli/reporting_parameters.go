package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dendroprof/dendro/analysis/regression"
	"github.com/dendroprof/dendro/internal/words"
	"github.com/dendroprof/dendro/report"
	"github.com/dendroprof/dendro/store"
)

// parameters say what was selected.
func (o *reporting) parameters(q store.Query, list []store.Profile) []report.Parameter {
	commits := distinct(list, func(p *store.Profile) string { return p.Run.Commit })
	shown := func(values []string) string {
		const most = 6
		if n := len(values); n > most {
			return fmt.Sprintf("%s, … (%d)", strings.Join(values[:most], ", "), n)
		}
		return strings.Join(values, ", ")
	}
	params := []report.Parameter{
		{Name: "selection", Value: q.String()},
		{Name: "group", Value: shown(distinct(list, func(p *store.Profile) string { return p.Benchmark.Group }))},
		{Name: "benchmark", Value: shown(distinct(list, func(p *store.Profile) string { return p.Benchmark.Name }))},
		{Name: "branch", Value: shown(distinct(list, func(p *store.Profile) string { return p.Run.Branch }))},
		{Name: "type", Value: list[0].Type.Name},
	}
	if n := len(commits); n > 0 {
		first, last := commits[0], commits[n-1]
		value := words.Commit(first) + " … " + words.Commit(last)
		if n == 1 {
			value = words.Commit(first)
		}
		params = append(params, report.Parameter{Name: "commits", Value: value})
	}
	return slices.DeleteFunc(params, func(p report.Parameter) bool {
		ofLabels := o.ofPaths() && (p.Name == "group" || p.Name == "branch") // of files they are ours
		return p.Value == "" || ofLabels
	})
}

// distinct lists the values of a field that are not empty, in order of appearance.
func distinct(list []store.Profile, field func(*store.Profile) string) []string {
	seen := map[string]bool{}
	var out []string
	for i := range list {
		if v := field(&list[i]); v != "" && !seen[v] {
			seen[v] = true
			out = append(out, v)
		}
	}
	return out
}

// methodParameters say how it was compared.
func (o *reporting) methodParameters(req regression.Request, res *regression.Result) []report.Parameter {
	method := "default"
	if o.method == "thesis" {
		method = "findings by the default, candidates by the thesis's score"
	}
	longest := 0
	for i := range res.Benchmarks {
		for _, a := range res.Benchmarks[i].Analyses {
			longest = max(longest, len(a.History))
		}
	}
	params := []report.Parameter{{Name: "method", Value: method}, {Name: "history", Value: fmt.Sprintf("%d runs at most", longest)},
		{Name: "candidates", Value: fmt.Sprintf("%d of each benchmark", o.candidates)}}
	if req.Alpha > 0 {
		params = append(params, report.Parameter{Name: "alpha", Value: fmt.Sprintf("%.2g for each benchmark", req.Alpha)})
	}
	if o.policy != nil {
		params = append(params, report.Parameter{Name: "fail on", Value: o.policy.String()})
	}
	return params
}
