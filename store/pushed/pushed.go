// Package pushed reads windows of pushed profiles as runs of benchmarks, so that what is asked
// of runs is asked of them too.
//
//	selection of windows ──sum──▶ run: a block of time, some instances, or all of it
//
// The benchmark of a run is what a service pushed of one type; its group is the service. The
// value type, the names and the places of functions are those of the windows.
package pushed

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/continuous"
	"github.com/dendroprof/dendro/continuous/merged"
	"github.com/dendroprof/dendro/internal/cost"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/store/mem"
	"github.com/dendroprof/dendro/testrun"
)

// Steps are the lengths of blocks of time. Blocks begin at multiples of them, so that hours
// and days are read as sums.
var Steps = []time.Duration{time.Minute, 2 * time.Minute, 5 * time.Minute, 10 * time.Minute, 15 * time.Minute, 30 * time.Minute, time.Hour,
	2 * time.Hour, 3 * time.Hour, 6 * time.Hour, 12 * time.Hour, 24 * time.Hour, 7 * 24 * time.Hour, 30 * 24 * time.Hour}

// Step returns the shortest length of blocks that divide a time into at most about so many.
func Step(span time.Duration, most int) time.Duration {
	for _, s := range Steps {
		if span/s <= time.Duration(most) {
			return s
		}
	}
	return Steps[len(Steps)-1]
}

// SpokenStep writes the length of a block.
func SpokenStep(d time.Duration) string {
	switch {
	case d < time.Hour:
		return fmt.Sprintf("%d min", d/time.Minute)
	case d <= 24*time.Hour:
		return fmt.Sprintf("%d h", d/time.Hour)
	}
	return fmt.Sprintf("%d d", d/(24*time.Hour))
}

// Store has runs of windows.
type Store struct {
	*mem.Store
	Gauge bool     // its runs show states: they are not added up over time
	Notes []string // what a reader of an answer has to know

	windows continuous.Store
	forest  *calltree.Forest
}

// New returns a store without runs of the windows of a store.
func New(windows continuous.Store) *Store {
	return &Store{Store: mem.New(), windows: windows, forest: new(calltree.Forest)}
}

// noSource is the error of what sums of windows lack.
type noSource struct{}

func (noSource) Error() string { return "pushed profiles are sums of windows, without single samples" }
func (noSource) Unwrap() error { return store.ErrNoSource }

// Run is a run that windows make.
type Run struct {
	Benchmark testrun.Benchmark
	Run       testrun.Run
	Windows   []continuous.Query // of one type; no window is in two of them
	Instance  bool               // a gauge is that of one instance, not of all together
}

// Read adds up the windows of a run. Without windows it returns no file.
func (s *Store) Read(ctx context.Context, r *Run) (*store.File, *continuous.Merged, error) {
	var parts []*continuous.Merged
	for _, q := range r.Windows {
		part, err := s.windows.Tree(ctx, q)
		if err != nil {
			return nil, nil, err
		}
		parts = append(parts, part)
	}
	merged, err := merged.Sum(parts)
	if err != nil || merged.Parts == 0 {
		return nil, nil, err
	}
	pushedType := &r.Windows[0].Type
	t := merged.Tree
	if !r.Instance {
		t = merged.OverTime()
	}
	known := s.forest.Paths.Len()
	self := s.vector(t)
	if err := cost.Of(ctx).Spend(cost.Memory, int64(len(self.Nodes))*12+int64(s.forest.Paths.Len()-known)*32); err != nil {
		return nil, nil, err
	}
	if pushedType.Gauge() && r.Instance {
		for i := range self.Self {
			self.Self[i] /= merged.Parts
		}
		self = nonzero(self)
	}
	typ := t.Type
	if !r.Instance {
		typ.PeriodName, typ.PeriodUnit = pushedType.PeriodType, pushedType.PeriodUnit
	}
	rec := &store.Record{Type: typ, Duration: merged.Covered, Samples: merged.Parts, Hash: t.Profile().Hash(0),
		Forest: s.forest, Self: self}
	return &store.File{Name: "windows of " + r.Benchmark.Group, Benchmark: r.Benchmark, Run: r.Run, Records: []*store.Record{rec}}, merged, nil
}

// Add stores a run. Two types of one name that measure the same quantity are one value type:
// the first counts.
func (s *Store) Add(ctx context.Context, f *store.File) error {
	out, err := s.Put(ctx, []*store.File{f}, store.PutOptions{Conflict: store.Refuse})
	if err == nil && !errors.Is(out[0].Err, store.ErrConflict) {
		err = out[0].Err
	}
	return err
}

// vector returns the self values of a tree over the forest.
func (s *Store) vector(t *calltree.Tree) (v calltree.Vector) {
	paths, _ := s.forest.Add(t.Table)
	for n, x := range t.Self {
		if x != 0 {
			v.Nodes, v.Self = append(v.Nodes, paths[n]), append(v.Self, x)
		}
	}
	return calltree.AddVectors(v) // in order of paths
}

// nonzero drops the values that are zero.
func nonzero(v calltree.Vector) (kept calltree.Vector) {
	for i, n := range v.Nodes {
		if v.Self[i] != 0 {
			kept.Nodes, kept.Self = append(kept.Nodes, n), append(kept.Self, v.Self[i])
		}
	}
	return kept
}

// Spans returns the first start and the last end of series in the time of a query.
func Spans(list []continuous.Series, q *continuous.Query) (first, last time.Time) {
	for i := range list {
		first, last = continuous.Earlier(first, list[i].First), continuous.Later(last, list[i].Last)
	}
	first = continuous.Later(first, q.From)
	return first, continuous.Later(first, continuous.Earlier(last, q.Until))
}

// Types returns the types of series, each once, in their order.
func Types(list []continuous.Series) (types []continuous.Type) {
	for i := range list {
		if !slices.Contains(types, list[i].Type) {
			types = append(types, list[i].Type)
		}
	}
	return types
}
