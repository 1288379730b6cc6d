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
	Names    []string  // of the store's functions; nil if the pattern did not need them
}

// FindRow describes what a function, or a call path, took in one profile.
type FindRow struct {
	Profile  int32  // index in Finds.Profiles
	Function string // the function found, or the text of the pattern
	Self     int64
	Total    int64
}

// Find looks for a pattern of call paths in every selected profile and gives a row per profile: a
// sample counts once, however many of its frames match. With each there is a row for each function
// and profile, if the pattern is of a single function. The value types of the selection must have
// one name. The pattern stops with the context.
func Find(ctx context.Context, s Reader, q Query, p *callpath.Pattern, each bool) (*Finds, error) {
	p.StopWhen(func() bool { return ctx.Err() != nil })
	f := &Finds{}
	if p.Single() {
		matches, err := f.match(ctx, s, q, p)
		if err != nil || len(matches) == 0 {
			return f, err
		}
		if each || len(matches) == 1 {
			return f, f.addFunctions(ctx, s, q, matches)
		}
	}
	set, err := s.Trees(ctx, q, TreeOptions{})
	if err != nil {
		return nil, err
	}
	if err := OneName(set.Profiles, q); err != nil {
		return nil, err
	}
	f.Profiles = set.Profiles
	spans := p.Spans(set.Table)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	for v, err := range set.Vectors {
		if err != nil {
			return nil, err
		}
		if self, total := spans.Sum(v.Vector); self != 0 || total != 0 {
			f.Rows = append(f.Rows, FindRow{int32(v.Profile), p.String(), self, total})
		}
	}
	return f, nil
}

// match resolves a pattern of a single function against the functions of the store, so that
// they can be requested by name.
func (f *Finds) match(ctx context.Context, s Reader, q Query, p *callpath.Pattern) (matches []string, err error) {
	if f.Profiles, err = s.Profiles(ctx, q); err == nil {
		err = OneName(f.Profiles, q)
	}
	if err != nil {
		return nil, err
	}
	functions, err := s.FunctionNames(ctx)
	if err != nil {
		return nil, err
	}
	f.Names = make([]string, len(functions))
	for i := range functions {
		f.Names[i] = functions[i].Name
	}
	for i, ok := range p.Functions(f.Names)[0] {
		if ok {
			matches = append(matches, f.Names[i])
		}
	}
	return matches, ctx.Err()
}

// addFunctions queries functions by name and orders the rows by profile, then name.
func (f *Finds) addFunctions(ctx context.Context, s Reader, q Query, names []string) error {
	set, err := s.Functions(ctx, q, names)
	if err != nil {
		return err
	}
	f.Profiles = set.Profiles
	perProfile := make([][]FindRow, len(set.Profiles))
	for rows, err := range set.Rows {
		if err != nil {
			return err
		}
		for i, at := range rows.Profile {
			perProfile[at] = append(perProfile[at], FindRow{at, set.Functions[rows.Function[i]].Name, rows.Self[i], rows.Total[i]})
		}
	}
	for _, rows := range perProfile {
		slices.SortFunc(rows, func(a, b FindRow) int { return strings.Compare(a.Function, b.Function) })
		f.Rows = append(f.Rows, rows...)
	}
	return nil
}
