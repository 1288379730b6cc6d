package regression

import (
	"context"
	"maps"
	"slices"

	"github.com/dendroprof/dendro/analysis/regression/internal/mode"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/store"
)

// explain adds to findings that the virtual machine compiled their functions differently
// before. It reads the tested runs if a function may be of such a machine, and those before
// only if profilers recorded modes.
func (b *Benchmark) explain(ctx context.Context, st store.Reader, functions []profile.Function) error {
	if b.Tested == 0 || b.Tested == len(b.Profiles) {
		return nil
	}
	places := map[string][]*Finding{}
	for i := range b.Findings {
		f := &b.Findings[i]
		if f.Kind == Moved || f.Kind == Environment {
			continue
		}
		names := map[string]bool{f.Function: true}
		for _, p := range f.Parts {
			names[p.Function] = true
		}
		if f.Headline != nil {
			names[f.Headline.Function], names[f.Headline.Calls] = true, true
		}
		delete(names, "")
		for name := range names {
			places[name] = append(places[name], f)
		}
	}
	if !slices.ContainsFunc(functions, func(f profile.Function) bool {
		return places[f.Name] != nil && (f.Kind == profile.KindJava || f.Kind == profile.KindUnknown)
	}) {
		return nil
	}
	from := len(b.Profiles) - b.Tested
	is := func(name string) bool { return places[name] != nil }
	now, err := mode.Read(ctx, st, b.Profiles[from:], is)
	if err != nil || len(now) == 0 {
		return err
	}
	before, err := mode.Read(ctx, st, b.Profiles[:from], is)
	if err != nil {
		return err
	}
	largest := map[*Finding]float64{}
	for _, name := range slices.Sorted(maps.Keys(now)) {
		modes := now[name]
		past := before[name]
		if past == nil || past.Samples() < leastSamples || modes.Samples() < leastSamples {
			continue
		}
		for _, f := range places[name] {
			sign := 1.0
			if f.Delta.Samples < 0 {
				sign = -1
			}
			cause, evidence, change := past.Explain(modes, sign)
			if change > largest[f] || change == largest[f] && change > 0 && name == f.Function {
				if name != f.Function {
					evidence += ", in " + name
				}
				largest[f], f.Explained = change, []Explanation{{cause, evidence}}
			}
		}
	}
	return nil
}
