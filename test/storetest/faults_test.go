package storetest

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/store/mem"
	"github.com/dendroprof/dendro/testrun"
)

// TestSuiteSeesFaults gives a good engine one fault at a time, and expects the test
// of the suite that the fault's name begins with to fail. It is the reason to
// believe that an engine that passes has none of them.
func TestSuiteSeesFaults(t *testing.T) {
	defer func(d time.Duration) { patience = d }(patience)
	patience = 50 * time.Millisecond
	for name, fault := range faults {
		t.Run(name, func(t *testing.T) {
			e := Engine{Open: func(testing.TB) store.Store { return fault(mem.New()) }}
			which, _, _ := strings.Cut(name, ":")
			for _, test := range tests {
				if test.name == which && fails(t, func(tb testing.TB) { test.run(newLab(tb, e)) }) {
					return
				}
			}
			t.Errorf("the suite's test %s does not see this fault", which)
		})
	}
}

// TestHistorySeesFaults expects a few random histories to find the faults that a
// sequence of calls can show.
func TestHistorySeesFaults(t *testing.T) {
	for _, name := range []string{
		"Queries: last is ignored", "One: a total is wrong", "Modes: none", "AtomicFile: files are not",
		"Replace: refuses", "Add: replaces", "Metrics: alone they are dropped", "Delete: counts what was asked for", "Compact: loses a profile",
	} {
		t.Run(name, func(t *testing.T) {
			e := Engine{Open: func(testing.TB) store.Store { return faults[name](mem.New()) }}
			for seed := range uint64(20) {
				if fails(t, func(tb testing.TB) { History(tb, seed, e) }) {
					return
				}
			}
			t.Error("20 histories do not see this fault")
		})
	}
}

// TestRightFastPaths runs the suite on an engine with answers of its own.
func TestRightFastPaths(t *testing.T) {
	Run(t, Engine{Open: func(testing.TB) store.Store { return fast{Store: mem.New()} }})
}

// fails reports whether a test fails.
func fails(t *testing.T, test func(testing.TB)) bool {
	p := &probe{TB: t}
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() {
			for _, f := range slices.Backward(p.cleanups) {
				f()
			}
		}()
		test(p)
	}()
	<-done
	return p.Failed()
}

// probe is a test that may fail.
type probe struct {
	testing.TB
	failed   atomic.Bool
	cleanups []func()
}

func (p *probe) Helper()               {}
func (p *probe) Cleanup(f func())      { p.cleanups = append(p.cleanups, f) }
func (p *probe) Failed() bool          { return p.failed.Load() }
func (p *probe) Fail()                 { p.failed.Store(true) }
func (p *probe) FailNow()              { p.Fail(); runtime.Goexit() }
func (p *probe) Error(...any)          { p.Fail() }
func (p *probe) Errorf(string, ...any) { p.Fail() }
func (p *probe) Fatal(...any)          { p.FailNow() }
func (p *probe) Fatalf(string, ...any) { p.FailNow() }

// hooks is a store of which some methods are replaced.
type hooks struct {
	store.Store
	info      func(store.Info) store.Info
	profiles  func([]store.Profile, store.Query) []store.Profile
	query     func(store.Query) store.Query
	names     func([]string) []string
	functions func(context.Context, *store.FunctionSet) *store.FunctionSet
	distinct  func([]profile.Function) []profile.Function
	options   func(store.TreeOptions) store.TreeOptions
	trees     func(*store.TreeSet) *store.TreeSet
	put       func(context.Context, []*store.File, store.PutOptions) ([]store.Outcome, error)
	delete    func(context.Context, []store.ProfileID) (int, error)
	compact   func(context.Context) error
	group     func(string) string
	source    func([]byte, error) ([]byte, error)
	waiting   func([]store.Measurement) []store.Measurement
}

func hooked[T any](hook func(T) T, v T, err error) (T, error) {
	if hook == nil || err != nil {
		return v, err
	}
	return hook(v), nil
}

func (h hooks) Info(ctx context.Context) (store.Info, error) {
	info, err := h.Store.Info(ctx)
	return hooked(h.info, info, err)
}

func (h hooks) Profiles(ctx context.Context, q store.Query) ([]store.Profile, error) {
	q, _ = hooked(h.query, q, nil)
	list, err := h.Store.Profiles(ctx, q)
	if h.profiles != nil {
		list = h.profiles(list, q)
	}
	return list, err
}

func (h hooks) Functions(ctx context.Context, q store.Query, names []string) (*store.FunctionSet, error) {
	names, _ = hooked(h.names, names, nil)
	set, err := h.Store.Functions(ctx, q, names)
	if h.functions != nil && err == nil {
		set = h.functions(ctx, set)
	}
	return set, err
}

func (h hooks) FunctionNames(ctx context.Context) ([]profile.Function, error) {
	list, err := h.Store.FunctionNames(ctx)
	return hooked(h.distinct, list, err)
}

func (h hooks) Trees(ctx context.Context, q store.Query, opts store.TreeOptions) (*store.TreeSet, error) {
	opts, _ = hooked(h.options, opts, nil)
	set, err := h.Store.Trees(ctx, q, opts)
	return hooked(h.trees, set, err)
}

func (h hooks) RawNames(ctx context.Context, group string, names []string) (map[string]string, error) {
	group, _ = hooked(h.group, group, nil)
	return h.Store.RawNames(ctx, group, names)
}

func (h hooks) Source(ctx context.Context, id store.ProfileID) ([]byte, error) {
	source, err := h.Store.Source(ctx, id)
	if h.source != nil {
		return h.source(source, err)
	}
	return source, err
}

func (h hooks) Waiting(ctx context.Context) ([]store.Measurement, error) {
	list, err := h.Store.Waiting(ctx)
	return hooked(h.waiting, list, err)
}

func (h hooks) Put(ctx context.Context, files []*store.File, opts store.PutOptions) ([]store.Outcome, error) {
	if h.put != nil {
		return h.put(ctx, files, opts)
	}
	return h.Store.Put(ctx, files, opts)
}

func (h hooks) Delete(ctx context.Context, ids []store.ProfileID) (int, error) {
	if h.delete != nil {
		return h.delete(ctx, ids)
	}
	return h.Store.Delete(ctx, ids)
}

func (h hooks) Compact(ctx context.Context) error {
	if h.compact != nil {
		return h.compact(ctx)
	}
	return h.Store.Compact(ctx)
}

// each changes the profiles of a listing.
func each(change func(*store.Profile)) func(s store.Store) store.Store {
	return func(s store.Store) store.Store {
		return hooks{Store: s, profiles: func(list []store.Profile, _ store.Query) []store.Profile {
			for i := range list {
				change(&list[i])
			}
			return list
		}}
	}
}

// rows changes the rows of Functions.
func rows(change func(*store.FunctionRows)) func(store.Store) store.Store {
	return func(s store.Store) store.Store {
		return hooks{Store: s, functions: func(_ context.Context, set *store.FunctionSet) *store.FunctionSet {
			whole := set.Rows
			set.Rows = func(yield func(store.FunctionRows, error) bool) {
				for chunk, err := range whole {
					if err == nil {
						change(&chunk)
					}
					if !yield(chunk, err) {
						return
					}
				}
			}
			return set
		}}
	}
}

// vectors changes the stream of Trees.
func vectors(change func(iter.Seq2[store.TreeVector, error], func(store.TreeVector, error) bool)) func(store.Store) store.Store {
	return func(s store.Store) store.Store {
		return hooks{Store: s, trees: func(set *store.TreeSet) *store.TreeSet {
			whole := set.Vectors
			set.Vectors = func(yield func(store.TreeVector, error) bool) { change(whole, yield) }
			return set
		}}
	}
}

// faults are engines gone wrong, by the test that is to notice and what is wrong.
var faults = map[string]func(store.Store) store.Store{
	"One: info counts more": func(s store.Store) store.Store {
		return hooks{Store: s, info: func(i store.Info) store.Info { i.Paths++; return i }}
	},
	"Rules: info forgets them": func(s store.Store) store.Store {
		return hooks{Store: s, info: func(i store.Info) store.Info { i.Rules = ""; return i }}
	},
	"Types: profiles are reversed": func(s store.Store) store.Store {
		return hooks{Store: s, profiles: func(list []store.Profile, _ store.Query) []store.Profile { slices.Reverse(list); return list }}
	},
	"Queries: last is ignored": func(s store.Store) store.Store {
		return hooks{Store: s, query: func(q store.Query) store.Query { q.Last = 0; return q }}
	},
	"Queries: attributes are ignored": func(s store.Store) store.Store {
		return hooks{Store: s, query: func(q store.Query) store.Query { q.Attributes = nil; return q }}
	},
	"Facts: dates lose nanoseconds": each(func(p *store.Profile) { p.Run.Date = p.Run.Date.Truncate(time.Microsecond) }),
	"Facts: dates are local":        each(func(p *store.Profile) { p.Run.Date = p.Run.Date.In(time.FixedZone("", 3600)) }),
	"Facts: zero dates become 1970": each(func(p *store.Profile) {
		if p.Run.Date.IsZero() {
			p.Run.Date = time.Unix(0, 0).UTC()
		}
	}),
	"Metrics: none wait": func(s store.Store) store.Store {
		return hooks{Store: s, waiting: func([]store.Measurement) []store.Measurement { return nil }}
	},
	"Metrics: another order": each(func(p *store.Profile) { slices.Reverse(p.Metrics) }),
	"Facts: empty attributes are lost": each(func(p *store.Profile) {
		maps.DeleteFunc(p.Run.Attributes, func(_, v string) bool { return v == "" })
	}),
	"Types: the original type is lost": each(func(p *store.Profile) { p.Type.Original = "" }),
	"Named: names are ignored": func(s store.Store) store.Store {
		return hooks{Store: s, names: func([]string) []string { return nil }}
	},
	"Named: an empty list is all": func(s store.Store) store.Store {
		return hooks{Store: s, names: func(names []string) []string {
			if len(names) == 0 {
				return nil
			}
			return names
		}}
	},
	"One: a total is wrong": rows(func(r *store.FunctionRows) { r.Total[0]++ }),
	"One: a row comes twice": rows(func(r *store.FunctionRows) {
		r.Profile, r.Function = append(r.Profile, r.Profile[0]), append(r.Function, r.Function[0])
		r.Self, r.Total = append(r.Self, r.Self[0]), append(r.Total, r.Total[0])
	}),
	"Cancel: silence when the context ends": func(s store.Store) store.Store {
		return hooks{Store: s, functions: func(ctx context.Context, set *store.FunctionSet) *store.FunctionSet {
			whole := set.Rows
			set.Rows = func(yield func(store.FunctionRows, error) bool) {
				for chunk, err := range whole {
					if ctx.Err() != nil || !yield(chunk, err) {
						return
					}
				}
			}
			return set
		}}
	},
	"Attributes: kinds are lost": func(s store.Store) store.Store {
		return hooks{Store: s, functions: func(_ context.Context, set *store.FunctionSet) *store.FunctionSet {
			for i := range set.Functions {
				set.Functions[i].Kind = 0
			}
			return set
		}}
	},
	"One: a function name is missing": func(s store.Store) store.Store {
		return hooks{Store: s, distinct: func(list []profile.Function) []profile.Function { return list[:max(0, len(list)-1)] }}
	},
	"One: a function name comes twice": func(s store.Store) store.Store {
		return hooks{Store: s, distinct: func(list []profile.Function) []profile.Function { return append(list, list[max(0, len(list)-1):]...) }}
	},
	"Modes: none": func(s store.Store) store.Store {
		return hooks{Store: s, options: func(store.TreeOptions) store.TreeOptions { return store.TreeOptions{} }}
	},
	"Modes: without asking": func(s store.Store) store.Store {
		return hooks{Store: s, options: func(store.TreeOptions) store.TreeOptions { return store.TreeOptions{Modes: true} }}
	},
	"Types: vectors in another order": vectors(func(whole iter.Seq2[store.TreeVector, error], yield func(store.TreeVector, error) bool) {
		var all []store.TreeVector
		for v := range whole {
			all = append(all, v)
		}
		for _, v := range slices.Backward(all) {
			if !yield(v, nil) {
				return
			}
		}
	}),
	"Values: empty profiles are skipped": vectors(func(whole iter.Seq2[store.TreeVector, error], yield func(store.TreeVector, error) bool) {
		for v, err := range whole {
			if (v.Len() > 0 || err != nil) && !yield(v, err) {
				return
			}
		}
	}),
	"One: a node too many": func(s store.Store) store.Store {
		return hooks{Store: s, trees: func(set *store.TreeSet) *store.TreeSet {
			t := *set.Table
			n := int32(t.Len())
			t.Functions = append(slices.Clone(t.Functions), profile.Function{Name: "\U0010FFFF"})
			t.Parent, t.Depth = append(slices.Clone(t.Parent), -1), append(slices.Clone(t.Depth), 0)
			t.Func, t.End = append(slices.Clone(t.Func), int32(len(t.Functions)-1)), append(slices.Clone(t.End), n+1)
			set.Table = &t
			return set
		}}
	},
	"Many: unchanged counts as stored": func(s store.Store) store.Store {
		return hooks{Store: s, put: func(ctx context.Context, files []*store.File, opts store.PutOptions) ([]store.Outcome, error) {
			out, err := s.Put(ctx, files, opts)
			for i := range out {
				out[i].Stored, out[i].Unchanged = out[i].Stored+out[i].Unchanged, 0
			}
			return out, err
		}}
	},
	"AtomicFile: files are not": func(s store.Store) store.Store {
		return hooks{Store: s, put: func(ctx context.Context, files []*store.File, opts store.PutOptions) ([]store.Outcome, error) {
			return perFile(files, func(f *store.File) (store.Outcome, error) {
				var sum store.Outcome
				parts := []*store.Record{nil}
				if len(f.Records) > 0 {
					parts = f.Records
				}
				for i := range parts {
					part := *f
					part.Records = f.Records[i:min(i+1, len(f.Records))]
					out, err := s.Put(ctx, []*store.File{&part}, opts)
					if err != nil || out[0].Err != nil {
						return store.Outcome{Err: errors.Join(err, first(out).Err)}, err
					}
					sum.Stored, sum.Unchanged = sum.Stored+out[0].Stored, sum.Unchanged+out[0].Unchanged
				}
				return sum, nil
			})
		}}
	},
	"Conflict: one spoils all": func(s store.Store) store.Store {
		return hooks{Store: s, put: func(ctx context.Context, files []*store.File, opts store.PutOptions) ([]store.Outcome, error) {
			failed := false
			return perFile(files, func(f *store.File) (store.Outcome, error) {
				if failed {
					return store.Outcome{Err: store.ErrConflict}, nil
				}
				out, err := s.Put(ctx, []*store.File{f}, opts)
				failed = err == nil && out[0].Err != nil
				return first(out), err
			})
		}}
	},
	"Replace: refuses": conflicts(func(c store.Conflict) store.Conflict {
		if c == store.Replace {
			return store.Refuse
		}
		return c
	}),
	"Add: replaces": conflicts(func(c store.Conflict) store.Conflict {
		if c == store.Add {
			return store.Replace
		}
		return c
	}),
	"Add: the same part again": func(s store.Store) store.Store {
		fresh := byte(0)
		return files(func(f *store.File) *store.File {
			fresh++
			for _, r := range f.Records {
				r.Hash[0] += fresh
			}
			return f
		})(s)
	},
	"Conflict: replaces": conflicts(func(c store.Conflict) store.Conflict {
		if c == store.Refuse {
			return store.Replace
		}
		return c
	}),
	"Metrics: alone they are dropped": files(func(f *store.File) *store.File {
		if len(f.Records) == 0 {
			f.Metrics = nil
		}
		return f
	}),
	"Modes: not stored": files(func(f *store.File) *store.File {
		for i, r := range f.Records {
			changed := *r
			changed.Modes = nil
			f.Records[i] = &changed
		}
		return f
	}),
	"Runs: attributes are dropped": files(func(f *store.File) *store.File { f.Run.Attributes = nil; return f }),
	"Sources: dropped":             files(func(f *store.File) *store.File { f.Source = nil; return f }),
	"Runs: unchanged files say nothing": func(s store.Store) store.Store {
		return hooks{Store: s, put: func(ctx context.Context, files []*store.File, opts store.PutOptions) ([]store.Outcome, error) {
			have := map[string]bool{}
			files = slices.Clone(files)
			list, _ := s.Profiles(context.Background(), store.Query{})
			for _, p := range list {
				have[string(p.ID)+p.Hash] = true
			}
			for i, f := range files {
				unchanged := len(f.Records) > 0
				for _, r := range f.Records {
					unchanged = unchanged && have[string(store.IDOf(f.Benchmark, f.Run.Key, r.Type.Name))+r.Hash.String()]
				}
				if unchanged {
					g := *f
					g.Metrics, g.Run = nil, testrun.Run{Key: f.Run.Key}
					files[i] = &g
				}
			}
			return s.Put(ctx, files, opts)
		}}
	},
	"Rules: any will do": func(s store.Store) store.Store {
		return hooks{Store: s, put: func(ctx context.Context, files []*store.File, opts store.PutOptions) ([]store.Outcome, error) {
			opts.Rules = Rules
			return s.Put(ctx, files, opts)
		}}
	},
	"Conflict: nameless": func(s store.Store) store.Store {
		return hooks{Store: s, put: func(ctx context.Context, files []*store.File, opts store.PutOptions) ([]store.Outcome, error) {
			out, err := s.Put(ctx, files, opts)
			for i := range out {
				if out[i].Err != nil {
					out[i].Err = fmt.Errorf("%w", store.ErrConflict)
				}
			}
			return out, err
		}}
	},
	"Delete: counts what was asked for": func(s store.Store) store.Store {
		return hooks{Store: s, delete: func(ctx context.Context, ids []store.ProfileID) (int, error) {
			_, err := s.Delete(ctx, ids)
			return len(ids), err
		}}
	},
	"Delete: does nothing": func(s store.Store) store.Store {
		return hooks{Store: s, delete: func(context.Context, []store.ProfileID) (int, error) { return 0, nil }}
	},
	"Compact: loses a profile": func(s store.Store) store.Store {
		return hooks{Store: s, compact: func(ctx context.Context) error {
			list, err := s.Profiles(ctx, store.Query{})
			if err == nil && len(list) > 1 {
				_, err = s.Delete(ctx, []store.ProfileID{list[0].ID})
			}
			return err
		}}
	},
	"RawNames: groups are ignored": func(s store.Store) store.Store {
		return hooks{Store: s, group: func(string) string { return "" }}
	},
	"Sources: no error when there is none": func(s store.Store) store.Store {
		return hooks{Store: s, source: func(b []byte, _ error) ([]byte, error) { return b, nil }}
	},
	"Break: a stream holds up Put":                  func(s store.Store) store.Store { return &locked{Store: s} },
	"Queries: fast sums are wrong":                  func(s store.Store) store.Store { return fast{Store: s, wrongSums: true} },
	"Queries: fast moments are wrong":               func(s store.Store) store.Store { return fast{Store: s, wrongMoments: true} },
	"Types: fast trees of several types are merged": func(s store.Store) store.Store { return fast{Store: s, anyType: true} },
}

func first(out []store.Outcome) (o store.Outcome) {
	if len(out) > 0 {
		o = out[0]
	}
	return o
}

func perFile(files []*store.File, put func(*store.File) (store.Outcome, error)) ([]store.Outcome, error) {
	var all []store.Outcome
	for _, f := range files {
		out, err := put(f)
		if err != nil {
			return nil, err
		}
		all = append(all, out)
	}
	return all, nil
}

// conflicts treats conflicts in another way.
func conflicts(as func(store.Conflict) store.Conflict) func(store.Store) store.Store {
	return func(s store.Store) store.Store {
		return hooks{Store: s, put: func(ctx context.Context, files []*store.File, opts store.PutOptions) ([]store.Outcome, error) {
			opts.Conflict = as(opts.Conflict)
			return s.Put(ctx, files, opts)
		}}
	}
}

// files stores something else than what it gets.
func files(change func(*store.File) *store.File) func(store.Store) store.Store {
	return func(s store.Store) store.Store {
		return hooks{Store: s, put: func(ctx context.Context, list []*store.File, opts store.PutOptions) ([]store.Outcome, error) {
			var changed []*store.File
			for _, f := range list {
				g := *f
				g.Records = slices.Clone(f.Records)
				changed = append(changed, change(&g))
			}
			return s.Put(ctx, changed, opts)
		}}
	}
}

// locked holds a lock while a stream is being read.
type locked struct {
	store.Store
	mu sync.RWMutex
}

func (s *locked) Put(ctx context.Context, files []*store.File, opts store.PutOptions) ([]store.Outcome, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.Store.Put(ctx, files, opts)
}

func (s *locked) Functions(ctx context.Context, q store.Query, names []string) (*store.FunctionSet, error) {
	set, err := s.Store.Functions(ctx, q, names)
	if err != nil {
		return nil, err
	}
	whole := set.Rows
	set.Rows = func(yield func(store.FunctionRows, error) bool) {
		s.mu.RLock()
		defer s.mu.RUnlock()
		whole(yield)
	}
	return set, nil
}
