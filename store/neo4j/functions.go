package neo4j

import (
	"context"
	"slices"
	"strings"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/internal/column"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/store/neo4j/internal/bolt"
)

// functionRows are the function rows of one profile, by the functions of the
// dictionary.
type functionRows struct {
	functions     []int32
	selfs, totals []int64
}

// readRows reads the function rows of a part of the selection.
func (s *Store) readRows(t *bolt.Tx, sel *selection, part [2]int, wanted []int64) ([]functionRows, error) {
	list := make([]functionRows, part[1]-part[0])
	byID := make([][]int64, len(list))
	var ids []int64
	if err := s.model.rows(t, sel.keys()[part[0]:part[1]], wanted, func(key string, functions, selfs, totals []int64) error {
		i, ok := sel.place[key]
		if !ok || byID[i-part[0]] != nil {
			return bolt.Changed("a profile is being replaced")
		}
		byID[i-part[0]], list[i-part[0]] = functions, functionRows{selfs: selfs, totals: totals}
		ids = append(ids, functions...)
		return nil
	}); err != nil {
		return nil, err
	}
	if err := checkProfiles(t, sel, sel.keys()[part[0]:part[1]], "", nil); err != nil {
		return nil, err
	}
	s.known.mu.Lock()
	defer s.known.mu.Unlock()
	if err := s.known.load(t, s.model, nil, ids); err != nil {
		return nil, err
	}
	for i := range list {
		if wanted == nil && int64(len(byID[i])) != sel.functions[part[0]+i] {
			return nil, bolt.Changed("a profile does not have all of its functions")
		}
		for _, id := range byID[i] {
			list[i].functions = append(list[i].functions, s.known.functions[id])
		}
	}
	return list, nil
}

// checkProfiles reads further columns of profiles and fails if the profiles are not
// those of the selection: what was read before then belongs to others. F, which may be
// nil, gets each profile and its row, and reports whether they agree.
func checkProfiles(t *bolt.Tx, sel *selection, keys []string, columns string, f func(p *store.Profile, r bolt.Row) bool) error {
	n := 0
	check := func(key, hash string, ok func(p *store.Profile) bool) error {
		n++
		if p := &sel.profiles[sel.place[key]]; p.Hash != hash || ok != nil && !ok(p) {
			return bolt.Changed("a profile was replaced")
		}
		return nil
	}
	var err error
	if f == nil {
		// One text of each profile: of one that is being deleted, a column may be there and
		// another not, and collect leaves out what is not.
		err = t.Each("MATCH (p:Profile) WHERE p.key IN $keys RETURN collect(p.key + ' ' + p.hash)", map[string]any{"keys": keys}, func(r bolt.Row) error {
			for _, text := range r.Texts(0) {
				key, hash, _ := strings.Cut(text, " ")
				if err := check(key, hash, nil); err != nil {
					return err
				}
			}
			return nil
		})
	} else {
		err = t.Each("MATCH (p:Profile) WHERE p.key IN $keys RETURN p.key, p.hash"+columns, map[string]any{"keys": keys}, func(r bolt.Row) error {
			return check(r.Text(0), r.Text(1), func(p *store.Profile) bool { return f(p, r) })
		})
	}
	if err == nil && n != len(keys) {
		err = bolt.Changed("a profile was deleted")
	}
	return err
}

// functionIDs returns the distinct ids of names; nil for all functions.
func functionIDs(names []string) []int64 {
	if names == nil {
		return nil
	}
	ids := column.Of(names, func(name string) int64 { return store.FunctionID(bolt.StoredName(name)) })
	slices.Sort(ids)
	return slices.Compact(ids)
}

// Functions implements store.Reader.
func (s *Store) Functions(ctx context.Context, q store.Query, names []string) (*store.FunctionSet, error) {
	wanted := functionIDs(names)
	var (
		first  []functionRows
		ranges [][2]int
		used   []int32
	)
	sel, err := s.withSelection(ctx, q, func(t *bolt.Tx, sel *selection) (err error) {
		ranges = parts(len(sel.profiles), atOnce, func(i int) int {
			if n := int(sel.functions[i]); wanted == nil || n < len(wanted) {
				return n
			}
			return len(wanted)
		})
		switch len(ranges) {
		case 0:
			return nil
		case 1:
			first, err = s.readRows(t, sel, ranges[0], wanted)
			used = usedFunctions(first)
			return err
		}
		return s.loadAllFunctions(t)
	})
	if err != nil {
		return nil, err
	}
	forest := s.view()
	if len(ranges) > 1 {
		for fn := range forest.Functions {
			used = append(used, int32(fn))
		}
	}
	set := &store.FunctionSet{Profiles: sel.profiles}
	var index []int32
	set.Functions, index = orderFunctions(forest, used)
	set.Rows = func(yield func(store.FunctionRows, error) bool) {
		for i, r := range ranges {
			list := first
			if len(ranges) > 1 {
				if err := s.db.Read(ctx, func(t *bolt.Tx) (err error) { list, err = s.readRows(t, sel, r, wanted); return err }); err != nil {
					yield(store.FunctionRows{}, err)
					return
				}
			}
			if !streamRows(ctx, list, ranges[i][0], index, yield) {
				return
			}
		}
	}
	return set, nil
}

// view returns the dictionary's current forest.
func (s *Store) view() *calltree.Forest {
	s.known.mu.Lock()
	defer s.known.mu.Unlock()
	return s.known.snapshot()
}

// loadAllFunctions reads all functions.
func (s *Store) loadAllFunctions(t *bolt.Tx) error {
	s.known.mu.Lock()
	defer s.known.mu.Unlock()
	if err := s.known.refresh(t, s.model); err != nil {
		return err
	}
	return readFunctions(t, s.model, nil, func(id int64, f profile.Function) {
		s.known.functions[id] = s.known.forest.Function(f)
	})
}

// streamRows yields copies of rows, one profile a chunk. It reports whether to
// continue.
func streamRows(ctx context.Context, list []functionRows, start int, index []int32, yield func(store.FunctionRows, error) bool) bool {
	for i, rows := range list {
		if err := ctx.Err(); err != nil {
			yield(store.FunctionRows{}, context.Cause(ctx))
			return false
		}
		out := store.FunctionRows{
			Profile: make([]int32, len(rows.functions)), Function: make([]int32, len(rows.functions)),
			Self: slices.Clone(rows.selfs), Total: slices.Clone(rows.totals),
		}
		for k, fn := range rows.functions {
			out.Profile[k], out.Function[k] = int32(start+i), index[fn]
		}
		if len(rows.functions) > 0 && !yield(out, nil) {
			return false
		}
	}
	return true
}

// usedFunctions returns the distinct functions of rows.
func usedFunctions(list []functionRows) []int32 {
	var used []int32
	seen := map[int32]bool{}
	for _, rows := range list {
		for _, fn := range rows.functions {
			if !seen[fn] {
				seen[fn] = true
				used = append(used, fn)
			}
		}
	}
	return used
}

// orderFunctions returns functions of a forest in byte order of names, and the
// position of each.
func orderFunctions(f *calltree.Forest, used []int32) (list []profile.Function, index []int32) {
	used = slices.Clone(used)
	slices.SortFunc(used, func(a, b int32) int { return byName(f.Functions[a], f.Functions[b]) })
	index = make([]int32, len(f.Functions))
	for place, fn := range used {
		index[fn] = int32(place)
		list = append(list, f.Functions[fn])
	}
	return list, index
}

// sumRows is the number of function rows from which on a sum is divided; tests lower
// it.
var sumRows = 100_000

// Aggregates implements store.Aggregator.
func (s *Store) Aggregates() store.Aggregates {
	return store.Aggregates{SumFunctions: s.SumFunctions}
}

// SumFunctions lets the database add up.
func (s *Store) SumFunctions(ctx context.Context, q store.Query) (*store.FunctionSums, error) {
	var sums []store.FunctionSum // by the dictionary's functions
	var used []int32
	sel, err := s.withSelection(ctx, q, func(t *bolt.Tx, sel *selection) error {
		sums, used = nil, nil
		if store.Summable(sel.profiles, q) != nil {
			return nil // for package store to say
		}
		answers, err := s.sumInParts(t, sel)
		if err != nil {
			return err
		}
		s.known.mu.Lock()
		defer s.known.mu.Unlock()
		for _, r := range answers {
			if err := s.known.load(t, s.model, nil, r.Ints(0)); err != nil {
				return err
			}
		}
		sums = make([]store.FunctionSum, len(s.known.forest.Functions))
		for _, r := range answers {
			profiles, selfs, totals, selfShares, totalShares := r.Ints(1), r.Ints(2), r.Ints(3), r.Floats(4), r.Floats(5)
			for i, id := range r.Ints(0) {
				fn := s.known.functions[id]
				sum := &sums[fn]
				if sum.Profiles == 0 {
					used = append(used, fn)
				}
				sum.Profiles += profiles[i]
				sum.Self += selfs[i]
				sum.Total += totals[i]
				sum.SelfShare += selfShares[i]
				sum.TotalShare += totalShares[i]
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	out := &store.FunctionSums{Profiles: sel.profiles}
	forest := s.view()
	out.Functions, _ = orderFunctions(forest, used)
	slices.SortFunc(used, func(a, b int32) int { return byName(forest.Functions[a], forest.Functions[b]) })
	for i, fn := range used {
		row := sums[fn]
		row.Function = int32(i)
		out.Rows = append(out.Rows, row)
	}
	return out, nil
}

// sumInParts returns the results of the model's sums for parts of the selection. Each
// part finds its profiles as t found them.
func (s *Store) sumInParts(t *bolt.Tx, sel *selection) ([]bolt.Row, error) {
	rows := 0
	for _, n := range sel.functions {
		rows += int(n)
	}
	each := sumRows
	if rows > sumRows {
		each = max(sumRows, rows/s.db.ServerProcessors(t.Ctx)+1)
	}
	ranges := parts(len(sel.profiles), each, func(i int) int { return int(sel.functions[i]) })
	answers := make([]bolt.Row, len(ranges))
	err := t.Parallel(len(ranges), func(t *bolt.Tx, i int) (err error) {
		answers[i], err = s.sumPart(t, sel, ranges[i])
		return err
	})
	return answers, err
}

// sumPart adds up the function rows of a range of profiles.
func (s *Store) sumPart(t *bolt.Tx, sel *selection, part [2]int) (bolt.Row, error) {
	keys, samples, rows := sel.keys()[part[0]:part[1]], map[string]int64{}, int64(0)
	for i := part[0]; i < part[1]; i++ {
		samples[string(sel.profiles[i].ID)] = sel.profiles[i].Sum
		rows += sel.functions[i]
	}
	r, err := s.model.sums(t, keys, samples)
	if err != nil {
		return nil, err
	}
	if err := checkProfiles(t, sel, keys, "", nil); err != nil {
		return nil, err
	}
	for _, n := range r.Ints(1) {
		rows -= n
	}
	if rows != 0 {
		return nil, bolt.Changed("profiles do not have all of their functions")
	}
	return r, nil
}

var _ store.Aggregator = (*Store)(nil)
