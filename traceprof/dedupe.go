package traceprof

import (
	"cmp"
	"slices"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/internal/column"
)

// Join returns the snapshots of a segment, of which an engine has parts, in the order in which
// they came: those of another language than the first are left out, and of each sequence number
// the first counts. It may change the parts.
func Join(parts []Snapshots) Snapshots {
	v := Snapshots{Task: parts[0].Task, Segment: parts[0].Segment, Language: parts[0].Language}
	var own []*Snapshots
	n := 0
	for i := range parts {
		if parts[i].Language == v.Language {
			own, n = append(own, &parts[i]), n+parts[i].Len()
		}
	}
	v.Stacks = unite(own)
	v.Sequence, v.Time, v.Path = make([]int32, 0, n), make([]int64, 0, n), make([]int32, 0, n)
	for _, p := range own {
		v.Sequence, v.Time, v.Path = append(v.Sequence, p.Sequence...), append(v.Time, p.Time...), append(v.Path, p.Path...)
		v.Count, v.Nanos = append(v.Count, p.Count...), append(v.Nanos, p.Nanos...)
	}
	v.Dedupe()
	return v
}

// unite makes the paths of snapshots those of one dictionary and returns it: their common one,
// or else a new one. Nil: none has stacks.
func unite(list []*Snapshots) *calltree.Forest {
	var stacks *calltree.Forest
	same := true
	for _, s := range list {
		switch {
		case s.Stacks == nil:
		case stacks == nil || stacks.Origin() == s.Stacks.Origin() && s.Stacks.Paths.Len() > stacks.Paths.Len():
			stacks = s.Stacks // the largest snapshot of it
		case stacks.Origin() != s.Stacks.Origin():
			same = false
		}
	}
	var several calltree.Translations
	if !same {
		stacks = new(calltree.Forest)
	}
	for _, s := range list {
		if !same && s.Stacks != nil {
			s.Path = several.Of(s.Stacks, stacks).Paths(s.Stacks, s.Path, s.Path)
		}
		s.Stacks = stacks
	}
	return stacks
}

// Dedupe sorts snapshots by Sequence and keeps only the first of each sequence number,
// as Store.Snapshots returns them.
func (s *Snapshots) Dedupe() {
	ascending := true
	for i := 1; i < s.Len() && ascending; i++ {
		ascending = s.Sequence[i-1] < s.Sequence[i]
	}
	if ascending {
		return
	}
	rows := column.Places[int](s.Len())
	slices.SortStableFunc(rows, func(a, b int) int { return cmp.Compare(s.Sequence[a], s.Sequence[b]) })
	s.Keep(slices.CompactFunc(rows, func(a, b int) bool { return s.Sequence[a] == s.Sequence[b] }))
}

// Keep keeps some rows, in the order in which they are given. The columns are new ones.
func (s *Snapshots) Keep(rows []int) {
	s.Sequence, s.Time, s.Path = column.Pick(s.Sequence, rows), column.Pick(s.Time, rows), column.Pick(s.Path, rows)
	if s.Language == GoProfiles {
		s.Count, s.Nanos = column.Pick(s.Count, rows), column.Pick(s.Nanos, rows)
	}
}
