package gate

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/dendroprof/dendro/analysis/history"
	"github.com/dendroprof/dendro/analysis/regression"
	"github.com/dendroprof/dendro/internal/intern"
	"github.com/dendroprof/dendro/internal/words"
	"github.com/dendroprof/dendro/store"
)

const (
	// newestRuns is the number of the newest base runs of a group that a benchmark is still
	// part of if one of them has it. A benchmark that was deleted earlier is not missed.
	newestRuns = 3
	// sameWork is the minimum common share of the self samples of functions of two
	// benchmarks that are one under two names.
	sameWork = 0.6
)

// absent lists the benchmarks of the base's newest runs of which the head has no run, and the value types that only it
// lacks: they are not tested, and a gate must not pass them in silence. It notes which benchmark that only the head has
// may be one of them under another name.
func (c *Comparison) absent(ctx context.Context, st store.Reader, s *Sides) error {
	newest, recent := map[string][]string{}, map[history.Key]bool{} // run keys by group
	for i := range slices.Backward(s.Base) {
		p := &s.Base[i]
		keys := newest[p.Benchmark.Group]
		if !slices.Contains(keys, p.Run.Key) {
			if len(keys) == newestRuns {
				continue
			}
			newest[p.Benchmark.Group] = append(keys, p.Run.Key)
		}
		recent[history.KeyOf(p)] = true
	}
	head, has := history.ByBenchmark(s.Head), map[history.Key]bool{}
	for i := range s.Head {
		has[history.KeyOf(&s.Head[i])] = true
	}
	base := history.ByBenchmark(s.Base)
	var gone []regression.Benchmark
	for b, list := range base {
		for _, own := range typesOf(list) {
			last := own[len(own)-1]
			if k := history.KeyOf(&last); !recent[k] || has[k] {
				continue
			}
			gone = append(gone, regression.Benchmark{Benchmark: b, Type: last.Type, Base: own, NotAt: new(s.Head[len(s.Head)-1].Run),
				Reason: fmt.Sprintf("in %s of the base and in none of the head: not tested", words.Counted(len(own), "run"))})
			if head[b] == nil {
				break // by one value type it is named
			}
		}
	}
	if len(gone) == 0 {
		return nil
	}
	var fresh []*regression.Benchmark
	for i := range c.Benchmarks {
		if b := &c.Benchmarks[i]; b.Reason != "" && base[b.Benchmark] == nil && len(b.Head) > 0 {
			fresh = append(fresh, b)
		}
	}
	if err := noteRenamed(ctx, st, gone, fresh); err != nil {
		return err
	}
	c.Benchmarks = append(c.Benchmarks, gone...)
	slices.SortStableFunc(c.Benchmarks, func(a, b regression.Benchmark) int {
		return cmp.Or(a.Benchmark.Compare(b.Benchmark), cmp.Compare(a.Type.Name, b.Type.Name))
	})
	return nil
}

// typesOf groups the profiles of a benchmark by value type, that of its newest run by default first.
func typesOf(list []store.Profile) (types [][]store.Profile) {
	at := map[string]int{}
	for _, p := range list {
		i := intern.Number(at, &types, p.Type.Name, nil)
		types[i] = append(types[i], p)
	}
	run := list[len(list)-1].Run.Key
	slices.SortStableFunc(types, func(a, b []store.Profile) int {
		rank := func(own []store.Profile) int {
			if last := own[len(own)-1]; last.Run.Key == run && last.Default {
				return 0
			}
			return 1
		}
		return cmp.Compare(rank(a), rank(b))
	})
	return types
}

// noteRenamed pairs benchmarks that are gone with new ones that spend their time in the same functions,
// and adds the name of the other to the reason of each. A benchmark is in one pair at most: that with most in common.
func noteRenamed(ctx context.Context, st store.Reader, gone []regression.Benchmark, fresh []*regression.Benchmark) error {
	var ids []store.ProfileID
	for i := range gone {
		ids = append(ids, gone[i].Base[len(gone[i].Base)-1].ID)
	}
	for _, b := range fresh {
		ids = append(ids, b.Head[0].ID)
	}
	if len(fresh) == 0 {
		return nil
	}
	of, err := selfShares(ctx, st, ids)
	if err != nil {
		return err
	}
	type pair struct {
		from, to *regression.Benchmark
		common   float64
	}
	var pairs []pair
	for i := range gone {
		for k, to := range fresh {
			if common := commonShare(of[ids[i]], of[ids[len(gone)+k]]); to.Type.Name == gone[i].Type.Name && common >= sameWork {
				pairs = append(pairs, pair{&gone[i], to, common})
			}
		}
	}
	slices.SortFunc(pairs, func(a, b pair) int {
		return cmp.Or(-cmp.Compare(a.common, b.common), cmp.Compare(a.from.Benchmark.String(), b.from.Benchmark.String()),
			cmp.Compare(a.to.Benchmark.String(), b.to.Benchmark.String()))
	})
	named := map[*regression.Benchmark]bool{}
	for _, p := range pairs {
		if named[p.from] || named[p.to] {
			continue
		}
		named[p.from], named[p.to] = true, true
		p.from.Reason += fmt.Sprintf("; renamed to %s? that runs the same functions", p.to.Benchmark)
		p.to.Reason += fmt.Sprintf("; renamed from %s?", p.from.Benchmark)
	}
	return nil
}

// selfShares returns the shares of the self samples of functions of profiles, by name.
func selfShares(ctx context.Context, st store.Reader, ids []store.ProfileID) (map[store.ProfileID]map[string]float64, error) {
	set, err := st.Functions(ctx, store.Query{Profiles: ids}, nil)
	if err != nil {
		return nil, err
	}
	of := map[store.ProfileID]map[string]float64{}
	for i := range set.Profiles {
		of[set.Profiles[i].ID] = map[string]float64{}
	}
	for rows, err := range set.Rows {
		if err != nil {
			return nil, err
		}
		for i, p := range rows.Profile {
			if sum := set.Profiles[p].Sum; sum > 0 && rows.Self[i] > 0 {
				of[set.Profiles[p].ID][set.Functions[rows.Function[i]].Name] = float64(rows.Self[i]) / float64(sum)
			}
		}
	}
	return of, nil
}

func commonShare(a, b map[string]float64) (common float64) {
	for name, share := range a {
		common += min(share, b[name])
	}
	return common
}
