package query

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/dendroprof/dendro/analysis/history"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/store"
)

// preferred orders the value types of which as many benchmarks have one as another.
var preferred = []string{profile.CPU, profile.CPUSamples, profile.Wall, profile.WallSamples, profile.Trace, profile.Alloc, profile.AllocSamples,
	profile.Live, profile.LiveSamples, profile.Malloc, profile.Lock, profile.LockSamples}

// OneType returns the query of a selection for an answer about one value type. Without
// --type, a selection of several has the type that is the default of most of its
// benchmarks; notes name it and the others.
func OneType(ctx context.Context, st store.Reader, s *Selection) (q store.Query, notes []string, err error) {
	q, notes = *s, []string{}
	if len(q.Types) > 0 {
		return q, notes, nil
	}
	list, err := st.Profiles(ctx, q)
	if err != nil {
		return q, notes, err
	}
	names := TypesOf(list)
	if len(names) < 2 {
		return q, notes, nil
	}
	q.Types = names[:1]
	others := slices.Sorted(slices.Values(names[1:]))
	return q, append(notes, fmt.Sprintf("value type %s; --type shows others: %s", names[0], strings.Join(others, ", "))), nil
}

// TypesOf returns the names of the value types of profiles: first the one that is the
// default of most benchmarks.
func TypesOf(list []store.Profile) []string {
	names := Distinct(list, func(p *store.Profile) string { return p.Type.Name })
	defaults := map[history.Key]bool{}
	of := map[string]int{} // benchmarks by their default type
	for i := range list {
		if key := history.KeyOf(&list[i]); list[i].Default && !defaults[key] {
			defaults[key] = true
			of[key.Type]++
		}
	}
	rank := func(name string) int {
		if i := slices.Index(preferred, name); i >= 0 {
			return i
		}
		return len(preferred)
	}
	slices.SortFunc(names, func(a, b string) int {
		return cmp.Or(cmp.Compare(of[b], of[a]), cmp.Compare(rank(a), rank(b)), cmp.Compare(a, b))
	})
	return names
}
