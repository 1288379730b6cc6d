package query

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/dendroprof/dendro/analysis/history"
	"github.com/dendroprof/dendro/internal/words"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/testrun"
)

// preferred orders the value types of which as many benchmarks have one as another.
var preferred = []string{profile.CPU, profile.CPUSamples, profile.Wall, profile.WallSamples, profile.Trace, profile.Alloc,
	profile.AllocSamples,
	profile.Live, profile.LiveSamples, profile.Malloc, profile.Lock, profile.LockSamples}

// OneType returns the query of a selection for an answer about one value type. Without
// --type, a selection of several has the type that is the default of most of its
// benchmarks; notes name it and the others, and say what runs of pushed profiles are.
func OneType(ctx context.Context, st store.Reader, s *Selection) (q store.Query, notes []string, err error) {
	q, notes = *s, append([]string{}, PushedNotes(st)...)
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
	return q, append(notes, OtherTypes(list, q.Types)), nil
}

// TypeEach returns the value type of each benchmark for an answer with a row for each: the one that
// is named, or its default, in which case benchmarks of two languages have two. Types are those of the
// benchmarks, first the type of most; a note names the others.
func TypeEach(ctx context.Context, st store.Reader, s *Selection) (of map[testrun.Benchmark]string, types, notes []string, err error) {
	if len(s.Types) > 0 {
		return nil, s.Types, nil, nil
	}
	q := *s
	q.Last = 0 // of each benchmark, whatever its runs are
	list, err := st.Profiles(ctx, q)
	if err != nil {
		return nil, nil, nil, err
	}
	of = map[testrun.Benchmark]string{}
	for b, list := range history.ByBenchmark(list) {
		of[b] = TypesOf(list)[0]
	}
	taken := slices.Collect(maps.Values(of))
	types = slices.DeleteFunc(TypesOf(list), func(name string) bool { return !slices.Contains(taken, name) })
	if note := OtherTypes(list, types); note != "" {
		notes = append(notes, note)
	}
	return of, types, notes, nil
}

// OtherTypes is the note about the value types of profiles that an answer about some types
// does not show, with their samples where they are others, or other events, than the shown
// ones; empty: it shows all.
func OtherTypes(list []store.Profile, shown []string) string {
	samples := map[string]int64{}
	for i := range list {
		samples[list[i].Type.Name] += list[i].Samples
	}
	shown = slices.Sorted(slices.Values(shown))
	of := int64(0)
	for _, name := range shown {
		of += samples[name]
	}
	names, text := []string{}, strings.Join(shown, ", ")
	for _, name := range slices.Sorted(maps.Keys(samples)) {
		if slices.Contains(shown, name) {
			continue
		}
		if n := samples[name]; n != of {
			name += fmt.Sprintf(" (%s)", words.Counted(int(n), "sample"))
			text = strings.Join(shown, ", ") + ", " + words.Counted(int(of), "sample")
		}
		names = append(names, name)
	}
	if len(names) == 0 {
		return ""
	}
	return fmt.Sprintf("value type %s; --type shows others: %s", text, strings.Join(names, ", "))
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
