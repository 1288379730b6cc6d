package mem

import (
	"bytes"
	"context"
	"maps"
	"slices"

	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/testrun"
)

// Accept implements store.Accepter.
func (s *Store) Accept(ctx context.Context, list ...store.Acceptance) error {
	list, err := store.NormalAcceptances(list)
	if err != nil {
		return err
	}
	return s.changeAccepted(ctx, func() {
		for _, a := range list {
			s.accepted[a.Finding] = a
		}
	})
}

// Withdraw implements store.Accepter.
func (s *Store) Withdraw(ctx context.Context, findings ...string) error {
	return s.changeAccepted(ctx, func() {
		for _, finding := range findings {
			delete(s.accepted, finding)
		}
	})
}

func (s *Store) changeAccepted(ctx context.Context, f func()) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
	return nil
}

// Accepted implements store.Accepter.
func (s *Store) Accepted(ctx context.Context) ([]store.Acceptance, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	list := slices.Collect(maps.Values(s.accepted))
	store.SortAcceptances(list)
	return list, nil
}

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

// KeepLink implements store.LinkKeeper.
func (s *Store) KeepLink(ctx context.Context, address string, maximum int) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := store.CheckLink(address); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	id := store.LinkID(address)
	isNew, err := store.NewLink(address, s.links[id], len(s.links), maximum)
	if isNew {
		s.links[id] = address
	}
	return err
}

// Link implements store.LinkKeeper.
func (s *Store) Link(ctx context.Context, id string) (string, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.links[id], ctx.Err()
}
