package neo4j

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/dendroprof/dendro/internal/column"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/store/neo4j/internal/bolt"
	"github.com/dendroprof/dendro/store/neo4j/internal/identity"
	"github.com/dendroprof/dendro/testrun"
)

// selection is the set of profiles that a query reads.
type selection struct {
	profiles  []store.Profile
	functions []int64 // of each profile: how many function rows it has
	modes     []int64 // likewise: how many vectors of compile modes
	place     map[string]int
}

func (s *selection) keys() []string {
	keys := make([]string, len(s.profiles))
	for i := range s.profiles {
		keys[i] = string(s.profiles[i].ID)
	}
	return keys
}

// candidates are the profiles that met the condition of a query which the database
// applied. The query selects among them.
type candidates struct {
	profiles []store.Profile
	counts   map[store.ProfileID]rowCounts
}

// rowCounts are the numbers of function rows and of compile modes of a profile.
type rowCounts struct{ functions, modes int64 }

// selectIn returns the selection of a query.
func (c *candidates) selectIn(q *store.Query) *selection {
	sel := &selection{profiles: q.Filter(c.profiles), place: map[string]int{}}
	for i := range sel.profiles {
		id := sel.profiles[i].ID
		n := c.counts[id]
		sel.functions, sel.modes = append(sel.functions, n.functions), append(sel.modes, n.modes)
		sel.place[string(id)] = i
	}
	return sel
}

// recent holds the candidates that were read last: a command selects several times by
// the same conditions.
type recent struct {
	mu        sync.Mutex
	condition string
	writes    int64 // of the database before they were read
	until     time.Time
	*candidates
}

// recentTime is for how long candidates are used. The number of writes says that nothing
// has changed since, but who reads it while a commit is being carried out may see it
// before the rest.
const recentTime = 2 * time.Second

// get returns candidates of a query, perhaps more than meet its condition; nil if they
// must be read.
func (r *recent) get(q *store.Query, condition string, writes int64) *candidates {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.candidates == nil || r.writes != writes || time.Now().After(r.until) || r.condition != condition && !r.hasAll(q, condition) {
		return nil
	}
	return r.candidates
}

// hasAll reports whether a query whose condition is not empty names profiles that are
// all among the candidates.
func (r *recent) hasAll(q *store.Query, condition string) bool {
	return condition != "" && len(q.Profiles) > 0 && !slices.ContainsFunc(q.Profiles,
		func(id store.ProfileID) bool { _, ok := r.counts[id]; return !ok })
}

func (r *recent) set(condition string, writes int64, c *candidates) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.condition, r.writes, r.until, r.candidates = condition, writes, time.Now().Add(recentTime), c
}

// withSelection selects profiles and runs f in one transaction, perhaps several times.
// F first empties what it fills.
func (s *Store) withSelection(ctx context.Context, q store.Query, f func(t *bolt.Tx, sel *selection) error) (sel *selection, err error) {
	err = bolt.Again(ctx, func() error {
		err := s.db.Read(ctx, func(t *bolt.Tx) error {
			if sel, err = s.selectProfiles(t, q); err != nil {
				return err
			}
			return f(t, sel)
		})
		if err != nil {
			s.recent.set("", 0, nil)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return sel, nil
}

// selectProfiles lists the selected profiles.
func (s *Store) selectProfiles(t *bolt.Tx, q store.Query) (*selection, error) {
	r, err := t.One("MATCH (g:DendroGate) RETURN sum(g.passed)", nil)
	if err != nil {
		return nil, err
	}
	where, params := narrow(&q)
	condition := ""
	if where != "" {
		condition = fmt.Sprint(where, params)
	}
	if c := s.recent.get(&q, condition, r.Int(0)); c != nil {
		return c.selectIn(&q), nil
	}
	c, err := readCandidates(t, where, params)
	if err != nil {
		return nil, err
	}
	s.recent.set(condition, r.Int(0), c)
	return c.selectIn(&q), nil
}

// readCandidates lists the profiles that meet a condition, with their benchmarks, runs
// and metrics.
func readCandidates(t *bolt.Tx, where string, params map[string]any) (*candidates, error) {
	c := &candidates{counts: map[store.ProfileID]rowCounts{}}
	runs := map[string]testrun.Run{}
	metrics := map[int64][]testrun.Metric{}
	if err := t.Each(`MATCH (b:Benchmark)-[:HAS_PROFILE]->(p:Profile)<-[:HAS_PROFILE]-(r:TestRun) `+where+`
		RETURN b.group, b.name, collect(coalesce(r.key, '')), collect(p `+profileColumns+`)`, params, func(r bolt.Row) error {
		keys := r.Texts(2)
		for i, n := range r.PropsList(3) {
			p := readProfile(n)
			if _, twice := c.counts[p.ID]; twice {
				return bolt.Changed("a profile is being replaced")
			}
			c.counts[p.ID] = rowCounts{n.Int("functions"), n.Int("modes")}
			p.Benchmark, p.Run.Key = testrun.Benchmark{Group: r.Text(0), Name: r.Text(1)}, keys[i]
			runs[keys[i]] = testrun.Run{}
			metrics[identity.Measurement(p.Benchmark, keys[i])] = nil
			c.profiles = append(c.profiles, p)
		}
		return nil
	}); err != nil {
		return nil, err
	}
	if err := t.Each("MATCH (r:TestRun) WHERE r.key IN $keys RETURN collect(r {.*})", map[string]any{"keys": slices.Collect(maps.Keys(runs))}, func(r bolt.Row) error {
		for _, n := range r.PropsList(0) {
			runs[n.Text("key")] = readRun(n)
		}
		return nil
	}); err != nil {
		return nil, err
	}
	if len(metrics) > 0 {
		if err := t.Each("MATCH (m:Measurement) WHERE m.id IN $ids RETURN collect(m {.*})", map[string]any{"ids": slices.Collect(maps.Keys(metrics))}, func(r bolt.Row) error {
			for _, n := range r.PropsList(0) {
				metrics[n.Int("id")] = readMeasurement(n)
			}
			return nil
		}); err != nil {
			return nil, err
		}
	}
	for i := range c.profiles {
		p := &c.profiles[i]
		run := runs[p.Run.Key]
		if run.Key == "" && p.Run.Key != "" {
			return nil, bolt.Changed("a run was deleted")
		}
		p.Run = run
		p.Measure(metrics[identity.Measurement(p.Benchmark, run.Key)])
	}
	return c, nil
}

// narrow returns the conditions of a query that the database may apply without changing
// its meaning. It returns none if the meaning of a text depends on all profiles: whether
// it is a glob, or the beginning of one profile's id only.
func narrow(q *store.Query) (where string, params map[string]any) {
	for _, list := range [][]string{q.Groups, q.Benchmarks, q.Branches, q.Machines, q.Runs} {
		if slices.ContainsFunc(list, func(text string) bool { return strings.ContainsAny(text, "*?") }) {
			return "", nil
		}
	}
	if slices.ContainsFunc(q.Profiles, store.ProfileID.IsShort) {
		return "", nil
	}
	var conditions []string
	params = map[string]any{}
	add := func(is bool, condition, name string, value any) {
		if is {
			conditions = append(conditions, condition)
			params[name] = value
		}
	}
	add(len(q.Profiles) > 0, "p.key IN $keys", "keys", texts(q.Profiles))
	add(len(q.Runs) > 0, "r.key IN $runs", "runs", q.Runs)
	add(len(q.Groups) > 0, "b.group IN $groups", "groups", q.Groups)
	add(len(q.Benchmarks) > 0, "(b.name IN $benchmarks OR b.base IN $benchmarks)", "benchmarks", q.Benchmarks)
	add(len(q.Branches) > 0, "coalesce(r.branch, '') IN $branches", "branches", q.Branches)
	add(len(q.Machines) > 0, "coalesce(r.machine, '') IN $machines", "machines", q.Machines)
	add(!q.Since.IsZero(), "r.date >= $since", "since", q.Since.UTC())
	add(!q.Until.IsZero(), "r.date < $until", "until", q.Until.UTC())
	if conditions == nil {
		return "", nil
	}
	return "WHERE " + strings.Join(conditions, " AND "), params
}

// texts returns the identities of profiles as the database has them.
func texts(ids []store.ProfileID) []string {
	return column.Of(ids, func(id store.ProfileID) string { return string(id) })
}

// atOnce is the maximum number of rows or values of a result in memory. A smaller
// result is read before the call returns; a larger one is streamed in parts, and ends
// with an error if a profile has changed.
const atOnce = 4_000_000

// parts divides the selection into ranges of profiles of at most so many rows each,
// but at least one profile.
func parts(n, rows int, size func(i int) int) [][2]int {
	var list [][2]int
	for i, sum := 0, 0; i < n; i++ {
		if sum += size(i); len(list) == 0 || sum > rows {
			list, sum = append(list, [2]int{i, i}), size(i)
		}
		list[len(list)-1][1] = i + 1
	}
	return list
}
