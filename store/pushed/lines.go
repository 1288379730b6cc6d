package pushed

import (
	"context"
	"errors"
	"fmt"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/continuous"
	"github.com/dendroprof/dendro/format/pprof"
	"github.com/dendroprof/dendro/internal/cost"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/testrun"
)

// Source implements store.Reader: the sum of the lines of a run that AddLines added.
func (s *Store) Source(ctx context.Context, id store.ProfileID) ([]byte, error) {
	data, err := s.Store.Source(ctx, id)
	if errors.Is(err, store.ErrNoSource) {
		err = noSource{}
	}
	return data, err
}

// Bytes in memory of what profiles with lines are decoded to.
const (
	stackBytes    = 48
	functionBytes = 400
)

// AddLines adds profiles with lines of one type as a run, whose source is their sum. Of a state
// it is the mean of a window.
func (s *Store) AddLines(ctx context.Context, list []continuous.Lines, b testrun.Benchmark, run testrun.Run) error {
	symbols, windows := profile.NewSymbols(), int64(0)
	merger := profile.NewMerger(symbols, nil)
	stacks, functions := 0, 0
	for i := range list {
		l := &list[i]
		p, err := pprof.Unpack(l.Profile, symbols)
		if err == nil {
			err = merger.Add(p)
		}
		if err != nil {
			return fmt.Errorf("%w: the lines of %s on %s: %w", store.ErrCorrupt, l.Series.Service, l.Day.Format("2006-01-02"), err)
		}
		windows += l.Windows
		more := int64(symbols.Stacks.Len()-stacks)*stackBytes + int64(len(symbols.Functions)-functions)*functionBytes
		if err := cost.Of(ctx).Spend(cost.Memory, more); err != nil {
			return err
		}
		stacks, functions = symbols.Stacks.Len(), len(symbols.Functions)
	}
	p, err := merger.Profile()
	if err != nil {
		return err
	}
	t := &list[0].Series.Type
	p.PeriodType, p.PeriodUnit = t.PeriodType, t.PeriodUnit
	if t.Gauge() {
		s.Gauge = true
		for i := range p.Tables[0].Value {
			p.Tables[0].Value[i] /= max(windows, 1)
		}
	}
	source, err := pprof.Pack(p, 0)
	if err != nil {
		return err
	}
	tree := calltree.FromProfile(p, 0)
	rec := &store.Record{Type: tree.Type, Duration: p.Duration, Samples: windows, Hash: p.Hash(0), Forest: s.forest, Self: s.vector(tree)}
	return s.Add(ctx, &store.File{Name: "lines of " + b.Group, Benchmark: b, Run: run, Records: []*store.Record{rec}, Source: source})
}
