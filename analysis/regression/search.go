package regression

import (
	"context"
	"slices"

	"github.com/dendroprof/dendro/analysis/history"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/testrun"
)

// search judges the benchmarks of a request.
type search struct {
	st     store.Reader
	req    *Request
	list   []history.Series
	tested map[store.ProfileID]bool
	types  map[testrun.Benchmark]int // judged value types
}

func newSearch(st store.Reader, req *Request, list []history.Series, tested map[store.ProfileID]bool) *search {
	s := &search{st: st, req: req, list: list, tested: tested, types: map[testrun.Benchmark]int{}}
	for i := range list {
		s.types[list[i].Benchmark]++
	}
	return s
}

// all judges every benchmark of the search. The caller calls release when it has used the
// result: until then the store keeps the profiles, which are announced to it.
func (s *search) all(ctx context.Context) (list []Benchmark, release func(), err error) {
	var ids []store.ProfileID
	for i := range s.list {
		ids = append(ids, store.IDs(s.list[i].Profiles)...)
	}
	release = func() {}
	if len(ids) > 0 {
		if release, err = store.Preload(ctx, s.st, ids); err != nil {
			return nil, nil, err
		}
	}
	list = make([]Benchmark, len(s.list))
	err = Parallel(ctx, len(list), func(ctx context.Context, i int) error {
		b, err := s.judge(ctx, i, nil)
		if err == nil {
			list[i] = *b
		}
		return err
	})
	if err != nil {
		release()
		return nil, nil, err
	}
	return list, release, nil
}

// siblings returns what benchmarks beside the selected ones show of the functions of versions
// that have findings.
func (s *search) siblings(ctx context.Context, q store.Query, res *Result) ([]proof, error) {
	wide := s.req.Wide
	if wide == nil {
		if len(q.Groups)+len(q.Benchmarks)+len(q.Params) == 0 {
			return nil, nil
		}
		q.Groups, q.Benchmarks, q.Params = nil, nil, nil
		wide = &q
	}
	versions, selected := map[string]bool{}, map[history.Key]bool{}
	for i := range res.Benchmarks {
		b := &res.Benchmarks[i]
		selected[b.Key()] = true
		if len(b.Findings) > 0 {
			versions[versionOf(b.Profiles)] = true
		}
	}
	if len(versions) == 0 {
		return nil, nil
	}
	tests := s.req.Since()
	list, tested, err := tests.Series(ctx, s.st, *wide, s.req.runs(&tests))
	if err != nil {
		return nil, err
	}
	list = slices.DeleteFunc(list, func(o history.Series) bool {
		return selected[o.Key()] || !versions[versionOf(o.Profiles)]
	})
	others, release, err := newSearch(s.st, s.req, list, tested).all(ctx)
	if err != nil {
		return nil, err
	}
	release()
	return proofsOf(others), nil
}

// judge returns the result for one benchmark, with what others show of its functions; nil: nothing.
func (s *search) judge(ctx context.Context, i int, known *history.Known) (*Benchmark, error) {
	req := *s.req
	req.types = s.types[s.list[i].Benchmark]
	return one(ctx, s.st, &s.list[i], s.tested, &req, known)
}
