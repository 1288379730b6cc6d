package public

import (
	"context"
	"io"
	"slices"

	"github.com/dendroprof/dendro/analysis/history"
	"github.com/dendroprof/dendro/analysis/regression"
	"github.com/dendroprof/dendro/test/detection"
)

// Nights returns the runs of the pair as nights: the base and the controls are unchanged code.
func (p *Pair) Nights(ctx context.Context) (*detection.Nights, error) {
	clean := history.Distinct(slices.Concat(p.Base, p.Control))
	changed := history.Distinct(slices.Clone(p.Head))
	n, err := detection.NewNights(ctx, p.Store, p.Name, clean, changed)
	if err != nil {
		return nil, err
	}
	if !p.None {
		n.Size = p.Truth.Truth[1] / 100
	}
	n.Shows = func(f *regression.Finding) bool { return f.Kind.Costs() != p.Faster() }
	return n, nil
}

// MeasureNights measures the changes of pairs, each in so many histories.
func MeasureNights(ctx context.Context, pairs []*Pair, histories uint64, most int, trace io.Writer) (*detection.NightsFigures, error) {
	f := &detection.NightsFigures{}
	for _, p := range pairs {
		n, err := p.Nights(ctx)
		if err != nil {
			return nil, err
		}
		for seed := range histories {
			if !p.None {
				if err := f.Measure(ctx, n, seed, most, trace); err != nil {
					return nil, err
				}
			}
			if err := f.MeasureClean(ctx, n, seed, detection.NightsClean, trace); err != nil {
				return nil, err
			}
		}
	}
	return f, nil
}
