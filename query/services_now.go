package query

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/dendroprof/dendro/analysis/own"
	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/continuous"
	"github.com/dendroprof/dendro/store"
)

// PushedUse is a service that pushes profiles, and what it uses.
type PushedUse struct {
	Service  string    `json:"service"`
	Cores    *float64  `json:"cores"`              // CPU time per second of all instances in the last hour of all services; null: none was pushed
	Function string    `json:"function,omitempty"` // of the users' code, with most CPU time with the libraries and the runtime that it calls
	Share    float64   `json:"share,omitempty"`    // of the CPU time that this is
	Release  string    `json:"release,omitempty"`  // the newest
	Since    time.Time `json:"since,omitzero"`     // its first window
	Last     time.Time `json:"last"`               // the end of the last window of the service

	cpu continuous.Type // zero: it pushes no CPU time
}

// mostHot is of how many services, those with most CPU time, the hottest function is looked for:
// each is a tree.
const mostHot = 20

// PushedUses lists the services that fit, those that use most CPU time first.
func PushedUses(ctx context.Context, st store.Reader, fits func(service string) bool, until time.Time) ([]PushedUse, error) {
	windows, err := WindowsOf(st)
	if err != nil {
		return nil, nil // an engine without
	}
	list, err := windows.Series(ctx, continuous.Query{Until: until})
	if err != nil {
		return nil, err
	}
	uses, end := pushedUses(list, fits, until)
	chart := &continuous.Chart{Start: end, End: end, Step: time.Hour, By: []string{continuous.ServiceLabel}, Open: true}
	hour := continuous.Query{From: end.Add(-time.Hour), Until: end, By: chart.By}
	of := map[string]*PushedUse{}
	types := map[continuous.Type]bool{{}: true} // that were read
	for i := range uses {
		of[uses[i].Service] = &uses[i]
	}
	for i := range uses {
		if hour.Type = uses[i].cpu; types[hour.Type] {
			continue
		}
		types[hour.Type] = true
		totals, err := windows.Totals(ctx, hour, chart.Step)
		if err != nil {
			return nil, err
		}
		for _, line := range chart.Lines(totals) {
			if u := of[line.Labels.Get(continuous.ServiceLabel)]; u != nil && u.cpu == hour.Type {
				u.Cores = new(rateOf(hour.Type, line.Points[0]))
			}
		}
	}
	slices.SortStableFunc(uses, func(a, b PushedUse) int { return cmp.Compare(coresOf(&b), coresOf(&a)) })
	for i := range uses[:min(mostHot, len(uses))] {
		if u := &uses[i]; u.Cores != nil {
			hour.Type, hour.Matchers = u.cpu, []continuous.Matcher{ofService(u.Service)}
			merged, err := windows.Tree(ctx, hour)
			if err != nil {
				return nil, err
			}
			u.Function, u.Share = hottest(merged.Tree)
		}
	}
	return uses, nil
}

func coresOf(u *PushedUse) float64 {
	if u.Cores == nil {
		return -1
	}
	return *u.Cores
}

// pushedUses returns the services of series, in their order, with their newest releases and their
// type of CPU time, and the end of the last window.
func pushedUses(list []continuous.Series, fits func(string) bool, until time.Time) (uses []PushedUse, end time.Time) {
	for of := range continuous.ByService(list) {
		if !fits(of[0].Service) {
			continue
		}
		u, first := PushedUse{Service: of[0].Service}, map[string]time.Time{}
		for i := range of {
			s := &of[i]
			u.Last = continuous.Later(u.Last, continuous.Earlier(s.Last, until))
			if s.Type.CPUTime() && u.cpu == (continuous.Type{}) {
				u.cpu = s.Type // CPU time by two profilers is the same time
			}
			for _, v := range s.Labels.Version() {
				first[v.Value] = continuous.Earlier(first[v.Value], s.First)
			}
		}
		for _, v := range slices.Sorted(maps.Keys(first)) {
			if u.Release == "" || !first[v].Before(u.Since) {
				u.Release, u.Since = v, first[v]
			}
		}
		uses, end = append(uses, u), continuous.Later(end, u.Last)
	}
	return uses, end
}

// hottest returns the function of own code with the largest value, and its share: bottlenecks with by=own and weight=samples has both.
func hottest(t *calltree.Tree) (name string, share float64) {
	values, most := t.OwnValues(own.Of(t.Table, t.Self)), -1
	for fn, v := range values {
		if v > 0 && (most < 0 || v > values[most] || v == values[most] && t.Functions[fn].Name < t.Functions[most].Name) {
			most = fn
		}
	}
	if most < 0 {
		return "", 0
	}
	return t.Functions[most].Name, float64(values[most]) / float64(t.RootTotal())
}
