package lake_test

import (
	"context"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/store/duckdb/lake"
	"github.com/dendroprof/dendro/store/iceberg"
	"github.com/dendroprof/dendro/store/mem"
	"github.com/dendroprof/dendro/test/storetest"
)

// published is a store in memory that answers from a lake, to which everything is
// published after each change. What a lake does not have, source files and metrics
// without a profile, comes from memory.
type published struct {
	*mem.Store
	t testing.TB

	mu   sync.Mutex
	lake *lake.Store // nil: to be published
	all  []*lake.Store
}

// change runs a change of the store in memory.
func (p *published) change(f func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f()
	p.lake = nil
}

func (p *published) Put(ctx context.Context, files []*store.File, opts store.PutOptions) (list []store.Outcome, err error) {
	p.change(func() { list, err = p.Store.Put(ctx, files, opts) })
	return list, err
}

func (p *published) Delete(ctx context.Context, ids []store.ProfileID) (n int, err error) {
	p.change(func() { n, err = p.Store.Delete(ctx, ids) })
	return n, err
}

func (p *published) Compact(ctx context.Context) (err error) {
	p.change(func() { err = p.Store.Compact(ctx) })
	return err
}

func (p *published) Close() error {
	for _, l := range p.all {
		if err := l.Close(); err != nil {
			return err
		}
	}
	return p.Store.Close()
}

// reader publishes what changed.
func (p *published) reader() (*lake.Store, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.lake != nil {
		return p.lake, nil
	}
	ctx := context.Background()
	dir := filepath.Join(p.t.TempDir(), "lake")
	list, err := p.Store.Profiles(ctx, store.Query{})
	if err != nil {
		return nil, err
	}
	l, err := iceberg.Open(ctx, dir, iceberg.Options{Create: true})
	if err != nil {
		return nil, err
	}
	defer l.Close()
	if _, err := l.Publish(ctx, p.Store, list, nil); err != nil {
		return nil, err
	}
	if p.lake, err = lake.Open(ctx, dir); err == nil {
		p.all = append(p.all, p.lake)
	}
	return p.lake, err
}

func (p *published) Info(ctx context.Context) (store.Info, error) {
	l, err := p.reader()
	if err != nil {
		return store.Info{}, err
	}
	info, err := l.Info(ctx)
	if info.Profiles == 0 && err == nil {
		of, err := p.Store.Info(ctx)
		info.Rules = of.Rules
		return info, err
	}
	return info, err
}

// sources marks the profiles that have a source in memory, and restores the nanoseconds of
// dates, which a lake does not have.
func (p *published) sources(ctx context.Context, list []store.Profile) []store.Profile {
	all, err := p.Store.Profiles(context.WithoutCancel(ctx), store.Query{})
	if err != nil {
		p.t.Error(err)
	}
	for _, of := range all {
		i := slices.IndexFunc(list, func(l store.Profile) bool { return l.ID == of.ID })
		if i >= 0 {
			list[i].HasSource = of.HasSource
			if list[i].Run.Date.Equal(of.Run.Date.Truncate(time.Microsecond)) {
				list[i].Run.Date = of.Run.Date
			}
		}
	}
	return list
}

func (p *published) Profiles(ctx context.Context, q store.Query) ([]store.Profile, error) {
	l, err := p.reader()
	if err != nil {
		return nil, err
	}
	list, err := l.Profiles(ctx, q)
	return p.sources(ctx, list), err
}

func (p *published) Functions(ctx context.Context, q store.Query, names []string) (*store.FunctionSet, error) {
	l, err := p.reader()
	if err != nil {
		return nil, err
	}
	set, err := l.Functions(ctx, q, names)
	if err == nil {
		p.sources(ctx, set.Profiles)
	}
	return set, err
}

func (p *published) FunctionNames(ctx context.Context) ([]profile.Function, error) {
	l, err := p.reader()
	if err != nil {
		return nil, err
	}
	return l.FunctionNames(ctx)
}

func (p *published) Trees(ctx context.Context, q store.Query, opts store.TreeOptions) (*store.TreeSet, error) {
	l, err := p.reader()
	if err != nil {
		return nil, err
	}
	set, err := l.Trees(ctx, q, opts)
	if err == nil {
		p.sources(ctx, set.Profiles)
	}
	return set, err
}

func (p *published) Aggregates() store.Aggregates {
	return store.Aggregates{SumFunctions: p.SumFunctions,
		MergeTrees: func(ctx context.Context, q store.Query, _ float64) (*calltree.Tree, []store.Profile, error) {
			return p.MergeTrees(ctx, q)
		}}
}

func (p *published) MergeTrees(ctx context.Context, q store.Query) (*calltree.Tree, []store.Profile, error) {
	l, err := p.reader()
	if err != nil {
		return nil, nil, err
	}
	tree, list, err := l.MergeTrees(ctx, q)
	return tree, p.sources(ctx, list), err
}

func (p *published) SumFunctions(ctx context.Context, q store.Query) (*store.FunctionSums, error) {
	l, err := p.reader()
	if err != nil {
		return nil, err
	}
	sums, err := l.SumFunctions(ctx, q)
	if err == nil {
		p.sources(ctx, sums.Profiles)
	}
	return sums, err
}

func (p *published) RawNames(ctx context.Context, group string, names []string) (map[string]string, error) {
	l, err := p.reader()
	if err != nil {
		return nil, err
	}
	return l.RawNames(ctx, group, names)
}

// TestStore runs the suite of all engines on lakes.
func TestStore(t *testing.T) {
	storetest.Run(t, storetest.Engine{Open: func(t testing.TB) store.Store { return &published{Store: mem.New(), t: t} }})
}
