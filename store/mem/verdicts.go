package mem

import (
	"bytes"
	"context"
	"maps"
	"slices"

	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/testrun"
)

// Verdicts implements store.VerdictKeeper.
func (s *Store) Verdicts(ctx context.Context, of []testrun.Benchmark) (v store.Verdicts, err error) {
	if err := ctx.Err(); err != nil {
		return v, err
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	v.Code = s.code
	if len(of) == 0 {
		of = slices.Collect(maps.Keys(s.verdicts))
	}
	for _, b := range of {
		for _, x := range s.verdicts[b] {
			x.Document = bytes.Clone(x.Document)
			v.List = append(v.List, x)
		}
	}
	store.SortVerdicts(v.List)
	return v, nil
}

// KeepVerdicts implements store.VerdictKeeper.
func (s *Store) KeepVerdicts(ctx context.Context, list []store.Verdict) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := store.CheckVerdicts(list); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	stored, fresh := s.benchmarks(), map[testrun.Benchmark][]store.Verdict{}
	for _, x := range list {
		if stored[x.Benchmark] || x.Benchmark == (testrun.Benchmark{}) {
			x.Document = bytes.Clone(x.Document)
			fresh[x.Benchmark] = append(fresh[x.Benchmark], x)
		}
	}
	maps.Copy(s.verdicts, fresh)
	return nil
}
