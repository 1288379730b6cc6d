package regression

import (
	"context"
	"math"
	"slices"
	"time"

	"github.com/dendroprof/dendro/analysis/history"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/testrun"
)

// search judges the benchmarks of a request. What the store's memory has of a benchmark is
// not judged again: the key is all that the judgement of one benchmark depends on. What is
// judged across benchmarks (shareKnown, acceptances, the order) is computed each time.
type search struct {
	st       store.Reader
	req      *Request
	list     []history.Series
	tested   map[store.ProfileID]bool
	types    map[testrun.Benchmark]int // judged value types
	keys     []store.MemoryKey         // by index of list, without what others show
	recalled []*Benchmark              // nil: to be judged
	age      int64                     // generation of the memory
}

func newSearch(st store.Reader, req *Request, list []history.Series, tested map[store.ProfileID]bool) *search {
	s := &search{st: st, req: req, list: list, tested: tested, types: map[testrun.Benchmark]int{}, keys: make([]store.MemoryKey, len(list)), recalled: make([]*Benchmark, len(list))}
	for i := range list {
		s.types[list[i].Benchmark]++
	}
	if req.Memory != nil {
		s.age = req.Memory.Generation()
	}
	return s
}

// recall reads results from memory. It announces the profiles of the other benchmarks to the
// store.
func (s *search) recall(ctx context.Context) (release func(), err error) {
	if s.req.Memory != nil {
		err := parallel(ctx, len(s.list), func(i int) error {
			s.keys[i] = s.key(i, nil)
			s.recalled[i] = s.get(s.keys[i])
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	var ids []store.ProfileID
	for i := range s.list {
		if s.recalled[i] == nil {
			ids = append(ids, store.IDs(s.list[i].Profiles)...)
		}
	}
	if len(ids) == 0 {
		return func() {}, nil
	}
	return store.Preload(ctx, s.st, ids)
}

// all judges every benchmark of the search. The caller calls release when it has used the
// result: until then the store keeps the profiles that recall announced.
func (s *search) all(ctx context.Context) (list []Benchmark, release func(), err error) {
	if release, err = s.recall(ctx); err != nil {
		return nil, nil, err
	}
	list = make([]Benchmark, len(s.list))
	err = parallel(ctx, len(list), func(i int) error {
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
		selected[history.Key{Benchmark: b.Benchmark, Type: b.Type.Name}] = true
		if len(b.Findings) > 0 {
			versions[versionOf(b.Profiles)] = true
		}
	}
	if len(versions) == 0 {
		return nil, nil
	}
	tests := s.req.Tests()
	list, tested, err := tests.Series(ctx, s.st, *wide, s.req.runs(&tests))
	if err != nil {
		return nil, err
	}
	list = slices.DeleteFunc(list, func(o history.Series) bool {
		return selected[history.Key{Benchmark: o.Benchmark, Type: o.Type.Name}] || !versions[versionOf(o.Profiles)]
	})
	others, release, err := newSearch(s.st, s.req, list, tested).all(ctx)
	if err != nil {
		return nil, err
	}
	release()
	return proofsOf(others), nil
}

func (s *search) get(key store.MemoryKey) *Benchmark {
	b, _ := s.req.Memory.Get(key)
	kept, _ := b.(*Benchmark)
	return kept
}

// request is that of one benchmark.
func (s *search) request(i int) *Request {
	req := *s.req
	req.types = s.types[s.list[i].Benchmark]
	return &req
}

// judge returns the result for one benchmark, with what others show of its functions; nil:
// nothing. The caller may change its lists.
func (s *search) judge(ctx context.Context, i int, known *history.Known) (*Benchmark, error) {
	if s.req.Memory == nil {
		return one(ctx, s.st, &s.list[i], s.tested, s.request(i), known)
	}
	key, kept := s.keys[i], s.recalled[i]
	if known != nil {
		key = s.key(i, known)
		kept = s.get(key)
	}
	if kept == nil {
		b, err := one(ctx, s.st, &s.list[i], s.tested, s.request(i), known)
		if err != nil {
			return nil, err
		}
		kept = b.withoutProfiles()
		s.req.Memory.Put(key, kept, kept.bytes())
	}
	return kept.of(&s.list[i], s.tested, s.req), nil
}

// withoutProfiles returns a copy without profiles, for the memory: profiles are large, and
// every request lists them anyway.
func (b *Benchmark) withoutProfiles() *Benchmark {
	kept := *b
	kept.Profiles, kept.Base, kept.Head = nil, nil, nil
	return &kept
}

// of returns a result from memory with the profiles of a series.
func (b *Benchmark) of(s *history.Series, tested map[store.ProfileID]bool, req *Request) *Benchmark {
	out := newBenchmark(s, tested, req)
	out.Warnings, out.Findings, out.Ranked = slices.Clone(b.Warnings), slices.Clone(b.Findings), slices.Clone(b.Ranked)
	out.Analyses, out.Reason, out.held = b.Analyses, b.Reason, b.held
	out.setCompared(s)
	return out
}

// bytes estimates the memory of a result. Names of functions are not counted, because the
// store has them in memory already.
func (b *Benchmark) bytes() int64 {
	const benchmark, analysis, finding, text = 700, 400, 700, 16
	n := int64(benchmark + 60*len(b.Ranked) + 120*len(b.Warnings))
	add := func(list []Finding) {
		for i := range list {
			f := &list[i]
			n += finding + int64(text*len(f.Path)+len(f.Note))
			for _, p := range f.Paths {
				n += int64(48 + text*len(p.Path))
			}
			for _, p := range f.Parts {
				n += int64(100 + text*len(p.Path))
			}
			for _, e := range f.Explained {
				n += int64(2*text + len(e.Evidence))
			}
			for _, r := range f.RuledOut {
				n += int64(2*text + len(r.Evidence))
			}
		}
	}
	add(b.Findings)
	for _, a := range b.Analyses {
		n += analysis + int64(text*(len(a.History)+len(a.Tested)))
		add(a.Findings)
		add(a.Unstable)
	}
	return n
}

// key returns the key of the judgement of a benchmark: the request, the accepted changes that
// concern the benchmark, its runs, and what others show.
func (s *search) key(i int, known *history.Known) store.MemoryKey {
	req, series := s.request(i), &s.list[i]
	b := make([]byte, 0, 128+256*len(series.Profiles))
	b = store.AppendText(b, "regression")
	o := &req.Options
	for _, x := range []float64{o.Alpha, o.MinShare, o.Impact, o.MinGrowth, o.MaxShare} {
		b = store.AppendNumbers(b, int64(math.Float64bits(x)))
	}
	b = store.AppendBools(b, o.Service, o.SkipOwnHistory, req.Scan, req.History != nil, req.AnyBranch)
	b = store.AppendNumbers(b, s.age, int64(req.K), int64(req.Window), int64(o.types), int64(len(o.Own)))
	for _, text := range o.Own {
		b = store.AppendText(b, text)
	}
	for j := range req.Acknowledged {
		if a := &req.Acknowledged[j]; a.covers(series.Benchmark) {
			b = a.appendKey(b, req.Now)
		}
	}
	if known != nil {
		b = store.AppendNumbers(b, int64(len(known.Renamed)), int64(len(known.Inlined)))
		for _, r := range known.Renamed {
			b = store.AppendText(store.AppendText(b, r.Base), r.Head)
		}
		for _, in := range known.Inlined {
			b = store.AppendText(store.AppendText(b, in.Caller), in.Callee)
		}
	}
	b = store.AppendNumbers(b, int64(len(series.Profiles)))
	for j := range series.Profiles {
		p := &series.Profiles[j]
		b = store.AppendBools(p.AppendKey(b), s.tested[p.ID])
	}
	return store.KeyOf(b)
}

// appendKey appends what an acceptance says at a time.
func (a *Acknowledgement) appendKey(b []byte, now time.Time) []byte {
	for _, text := range []string{"accepted", a.ID, a.Function, a.Benchmark, a.Reason, a.By, a.Since} {
		b = store.AppendText(b, text)
	}
	over := !a.Until.IsZero() && !now.IsZero() && !now.Before(a.Until)
	b = store.AppendNumbers(b, int64(math.Float64bits(a.UpTo)), a.Until.UnixNano(), a.At.UnixNano())
	return store.AppendBools(b, a.Stored, over)
}
