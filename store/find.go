package store

import (
	"context"
	"slices"
	"strings"

	"github.com/dendroprof/dendro/calltree/callpath"
)

// Finds is the answer of Find.
type Finds struct {
	Profiles []Profile // the whole selection
	Rows     []FindRow // in the order of Profiles
}

// FindRow describes what a function, or a call path, took in one profile.
type FindRow struct {
	Profile  int32  // index in Finds.Profiles
	Function string // the function found, or the text of the pattern
	Self     int64
	Total    int64
}

// Find looks for a call path pattern (callpath.Pattern) in every selected
// profile and gives a row per profile: a sample counts once, however many of its
// frames match. With callees only call nodes match that call all of them directly
// (callpath.Pattern.Calling). The value types of the selection must have one name.
func Find(ctx context.Context, s Reader, q Query, pattern string, callees ...string) (*Finds, error) {
	p, err := parsePattern(ctx, pattern, callees)
	if err != nil {
		return nil, err
	}
	if p.Single() {
		profiles, names, err := matching(ctx, s, q, p)
		if err != nil || len(names) == 0 {
			return &Finds{Profiles: profiles}, err
		}
		if len(names) == 1 {
			return functionRows(ctx, s, q, names)
		}
	}
	set, err := s.Trees(ctx, q, TreeOptions{})
	if err != nil {
		return nil, err
	}
	if err := OneName(set.Profiles, q); err != nil {
		return nil, err
	}
	f := &Finds{Profiles: set.Profiles}
	spans := p.Spans(set.Table)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	for v, err := range set.Vectors {
		if err != nil {
			return nil, err
		}
		if self, total := spans.Sum(v.Vector); self != 0 || total != 0 {
			f.Rows = append(f.Rows, FindRow{int32(v.Profile), pattern, self, total})
		}
	}
	return f, nil
}

// FindFunctions is Find with a row for each function that the pattern matches
// and profile; a pattern of several pieces is one row per profile all the same.
func FindFunctions(ctx context.Context, s Reader, q Query, pattern string, callees ...string) (*Finds, error) {
	p, err := parsePattern(ctx, pattern, callees)
	if err != nil {
		return nil, err
	}
	if !p.Single() {
		return Find(ctx, s, q, pattern, callees...)
	}
	profiles, names, err := matching(ctx, s, q, p)
	if err != nil || len(names) == 0 {
		return &Finds{Profiles: profiles}, err
	}
	return functionRows(ctx, s, q, names)
}

// parsePattern parses a pattern, whose matching ends with the context.
func parsePattern(ctx context.Context, pattern string, callees []string) (*callpath.Pattern, error) {
	p, err := callpath.Parse(pattern)
	if err != nil {
		return nil, err
	}
	p.StopWhen(func() bool { return ctx.Err() != nil })
	return p, p.Calling(callees...)
}

// matching resolves a pattern of one piece against the distinct functions, so
// that they can be requested by name.
func matching(ctx context.Context, s Reader, q Query, p *callpath.Pattern) ([]Profile, []string, error) {
	profiles, err := s.Profiles(ctx, q)
	if err == nil {
		err = OneName(profiles, q)
	}
	if err != nil {
		return nil, nil, err
	}
	functions, err := s.FunctionNames(ctx)
	if err != nil {
		return nil, nil, err
	}
	all := make([]string, len(functions))
	for i := range functions {
		all[i] = functions[i].Name
	}
	var names []string
	for i, ok := range p.Functions(all)[0] {
		if ok {
			names = append(names, all[i])
		}
	}
	return profiles, names, ctx.Err()
}

// functionRows queries functions by name and orders the rows by profile, then
// name.
func functionRows(ctx context.Context, s Reader, q Query, names []string) (*Finds, error) {
	set, err := s.Functions(ctx, q, names)
	if err != nil {
		return nil, err
	}
	f := &Finds{Profiles: set.Profiles}
	perProfile := make([][]FindRow, len(set.Profiles))
	for rows, err := range set.Rows {
		if err != nil {
			return nil, err
		}
		for i, at := range rows.Profile {
			perProfile[at] = append(perProfile[at], FindRow{at, set.Functions[rows.Function[i]].Name, rows.Self[i], rows.Total[i]})
		}
	}
	for _, rows := range perProfile {
		slices.SortFunc(rows, func(a, b FindRow) int { return strings.Compare(a.Function, b.Function) })
		f.Rows = append(f.Rows, rows...)
	}
	return f, nil
}
