package neo4j

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/store/neo4j/internal/bolt"
	"github.com/dendroprof/dendro/store/neo4j/internal/traces"
)

// shared is the model with one forest of paths:
//
//	(:CallPath {id, depth})-[:OF]->(:Function {id, name, …})
//	(:CallPath)-[:CALLS]->(:CallPath)
//	(:CallPath)-[:RECURS {distance}]->(:CallPath)
//	(:Profile)-[:RAN {self, total}]->(:Function)
//
// A path and its relationships are made in one transaction, so that a path that
// is there is complete.
type shared struct{}

func (shared) name() Model       { return Shared }
func (shared) functions() string { return "Function" }

func (shared) schema() []string {
	return append(traces.Schema(), bolt.Constraint("Function", "id"), bolt.Constraint("Function", "name"), bolt.Constraint("CallPath", "id"))
}

// memory estimates the memory of a transaction on the server.
func (shared) memory(nodes int) int64 { return int64(nodes) * 420 }

// properties has the paths with self values first, so that a tree is read without those
// that only lead to them.
func (shared) properties(c *content) bolt.Props {
	n := c.cut.Len()
	paths, selfs, totals := make([]int64, 0, n), make([]int64, 0, n), make([]int64, 0, n)
	own := 0
	for _, with := range []bool{true, false} {
		for i, self := range c.tree.Self {
			if (self != 0) == with {
				paths, selfs, totals = append(paths, c.paths[i]), append(selfs, self), append(totals, c.tree.Total[i])
			}
		}
		if with {
			own = len(paths)
		}
	}
	return bolt.Props{"paths": paths, "selfs": selfs, "totals": totals, "own": int64(own)}
}

// values: profiles of earlier versions have no own, and all their paths depth first.
func (shared) values(whole bool) string {
	if whole {
		return ", p.paths, p.selfs"
	}
	return ", p.paths[0..coalesce(p.own, size(p.paths))], p.selfs[0..coalesce(p.own, size(p.selfs))]"
}

func (shared) write(t *bolt.Tx, rows []*profileRow) error {
	var fresh []pathOf
	for _, r := range rows {
		fresh = append(fresh, r.unknownPaths()...)
	}
	if len(fresh) > pathsAhead {
		return &tooManyPaths{fresh}
	}
	if err := writePaths(t, fresh); err != nil {
		return err
	}
	// One row for each function, so that it is looked up once, in order of ids.
	type value struct{ function, profile, self, total int64 }
	var values []value
	list := make([]map[string]any, len(rows))
	for i, r := range rows {
		list[i] = r.params
		r.params["place"] = int64(i)
		for _, f := range r.rows {
			values = append(values, value{r.functions[f.Func], int64(i), f.Self, f.Total})
		}
	}
	slices.SortFunc(values, func(a, b value) int {
		return cmp.Or(cmp.Compare(a.function, b.function), cmp.Compare(a.profile, b.profile))
	})
	n := len(values)
	ids, starts := []int64{}, []int64{}
	profiles, selfs, totals := make([]int64, n), make([]int64, n), make([]int64, n)
	for i, v := range values {
		if i == 0 || v.function != values[i-1].function {
			ids, starts = append(ids, v.function), append(starts, int64(i))
		}
		profiles[i], selfs[i], totals[i] = v.profile, v.self, v.total
	}
	r, err := t.One("UNWIND $rows AS x "+createProfile+`
		WITH p, x ORDER BY x.place
		WITH collect(p) AS made
		CALL (made) {
			UNWIND range(0, size($ids)-1) AS k
			MATCH (f:Function {id: $ids[k]})
			UNWIND range($starts[k], $starts[k+1]-1) AS i
			WITH f, made[$profiles[i]] AS p, i
			CREATE (p)-[:RAN {self: $selfs[i], total: $totals[i]}]->(f)
			RETURN count(*) AS ran
		}
		RETURN size(made), ran`, map[string]any{"rows": list, "ids": ids, "starts": append(starts, int64(n)), "profiles": profiles, "selfs": selfs, "totals": totals})
	if err != nil {
		return err
	}
	return cmp.Or(bolt.CheckCount("profiles", r.Int(0), len(rows)), bolt.CheckCount("functions of profiles", r.Int(1), n))
}

// pathsAhead is the maximum number of new paths in one transaction. A profile with
// more of them gets its paths first, in transactions of so many: nobody sees them
// until a profile refers to them.
const pathsAhead = 20_000

// tooManyPaths reports that the paths of profiles must be stored first.
type tooManyPaths struct {
	paths []pathOf // which the database may not have, parents before children
}

func (e *tooManyPaths) Error() string { return fmt.Sprintf("%d paths are new", len(e.paths)) }

// pathOf is the path of a node of a profile.
type pathOf struct {
	*profileRow
	node int32
}

func (p pathOf) id() int64       { return p.paths[p.node] }
func (p pathOf) parent() int64   { return p.content.parent(int(p.node)) }
func (p pathOf) function() int64 { return p.functions[p.cut.Func[p.node]] }

// spell returns the names of the path.
func (p pathOf) spell() string { return p.content.spell(p.node) }

// unknownPaths returns the paths that the database may not have.
func (r *profileRow) unknownPaths() []pathOf {
	var list []pathOf
	for n, p := range r.cut.Paths {
		if !r.origin.paths[p] {
			list = append(list, pathOf{r, int32(n)})
		}
	}
	return list
}

// writePaths makes sure that the database has paths. It has the parents that are not
// among them.
func writePaths(t *bolt.Tx, paths []pathOf) error {
	for _, p := range paths {
		p.added.paths = append(p.added.paths, p.cut.Paths[p.node])
	}
	paths, err := byPathID(paths)
	if err != nil {
		return err
	}
	missing, err := missingPaths(t, paths)
	if err != nil || len(missing) == 0 {
		return err
	}
	// Of those that another importer has made since, all is there.
	r, err := t.One(`UNWIND range(0, size($ids)-1) AS i
		MERGE (c:CallPath {id: $ids[i]}) ON CREATE SET c.depth = $depths[i]
		WITH c, i WHERE NOT EXISTS { (c)-[:OF]->() }
		MATCH (f:Function {id: $functions[i]})
		CREATE (c)-[:OF]->(f)
		WITH c, i
		OPTIONAL MATCH (p:CallPath {id: $parents[i]})
		FOREACH (_ IN CASE WHEN p IS NULL THEN [] ELSE [1] END | CREATE (p)-[:CALLS]->(c))
		RETURN collect(i), count(p)`, pathColumns(missing))
	if err != nil {
		return err
	}
	made := make([]pathOf, 0, len(missing))
	for _, i := range r.Ints(0) {
		made = append(made, missing[i])
	}
	if len(made) < len(missing) {
		if still, err := missingPaths(t, missing); err != nil || len(still) > 0 {
			return cmp.Or(err, bolt.CheckCount("paths", int64(len(made)), len(missing)))
		}
	}
	recursions, called := map[*content][]int32{}, 0
	var again, ancestors, distances []int64
	for _, p := range made {
		if p.parent() != rootPath {
			called++
		}
		recursion, ok := recursions[p.content]
		if !ok {
			recursion = p.recursion()
			recursions[p.content] = recursion
		}
		if up := recursion[p.node]; up != calltree.NoNode {
			again, ancestors = append(again, p.id()), append(ancestors, p.paths[up])
			distances = append(distances, int64(p.cut.Depth[p.node]-p.cut.Depth[up]))
		}
	}
	if err := bolt.CheckCount("calls", r.Int(1), called); err != nil || len(again) == 0 {
		return err
	}
	r, err = t.One(`UNWIND range(0, size($again)-1) AS i
		MATCH (c:CallPath {id: $again[i]}) MATCH (a:CallPath {id: $ancestors[i]})
		CREATE (a)-[:RECURS {distance: $distances[i]}]->(c)
		RETURN count(*)`, map[string]any{"again": again, "ancestors": ancestors, "distances": distances})
	if err != nil {
		return err
	}
	return bolt.CheckCount("recursions", r.Int(0), len(again))
}

// byPathID returns the distinct paths by id: importers that lock in one order do not
// wait for each other in a circle. Two paths with one id are an error.
func byPathID(paths []pathOf) ([]pathOf, error) {
	sorted := slices.SortedStableFunc(slices.Values(paths), func(a, b pathOf) int { return cmp.Compare(a.id(), b.id()) })
	kept := sorted[:0]
	for _, p := range sorted {
		if len(kept) > 0 && kept[len(kept)-1].id() == p.id() {
			if last := kept[len(kept)-1]; last.parent() != p.parent() || last.function() != p.function() {
				return nil, collision(p.id(), last.spell(), p.spell())
			}
			continue
		}
		kept = append(kept, p)
	}
	return kept, nil
}

// pathColumns returns paths as parameters.
func pathColumns(paths []pathOf) map[string]any {
	n := len(paths)
	ids, parents, functions, depths := make([]int64, n), make([]int64, n), make([]int64, n), make([]int64, n)
	for i, p := range paths {
		ids[i], parents[i], functions[i], depths[i] = p.id(), p.parent(), p.function(), int64(p.cut.Depth[p.node])
	}
	return map[string]any{"ids": ids, "parents": parents, "functions": functions, "depths": depths}
}

// missingPaths returns the paths that the database does not have, in their order. An id
// that belongs to something else there is an error.
func missingPaths(t *bolt.Tx, paths []pathOf) ([]pathOf, error) {
	if len(paths) == 0 {
		return nil, nil
	}
	r, err := t.One(`UNWIND range(0, size($ids)-1) AS i
		OPTIONAL MATCH (c:CallPath {id: $ids[i]})-[:OF]->(f:Function) `+byID+`
		OPTIONAL MATCH (p:CallPath)-[:CALLS]->(c)
		WITH i, f, coalesce(p.id, 0) AS parent
		WHERE f IS NULL OR f.id <> $functions[i] OR parent <> $parents[i]
		RETURN collect(i), collect(CASE WHEN f IS NULL THEN 0 WHEN parent = 0 THEN 1 ELSE 2 END), collect(coalesce(f.name, ''))`, pathColumns(paths))
	if err != nil {
		return nil, err
	}
	var missing []pathOf
	why, names := r.Ints(1), r.Texts(2)
	for k, i := range r.Ints(0) {
		switch p := paths[i]; why[k] {
		case 1: // another importer's commit is being carried out
			if p.parent() != rootPath {
				return nil, bolt.Changed("a path is there without its caller")
			}
			fallthrough
		case 2:
			return nil, collision(p.id(), p.spell(), "a path to "+names[k])
		}
		missing = append(missing, paths[i])
	}
	slices.SortFunc(missing, func(a, b pathOf) int { return cmp.Compare(a.id(), b.id()) })
	return missing, nil
}

func (shared) erase(t *bolt.Tx, key string) error { return nil }

// byID makes the server use the index. It counts the entries of an index in the
// background; soon after the first import it believes that there are few, and would
// read the whole index for each path.
const byID = "USING INDEX SEEK c:CallPath(id)"

// structureChunk is the number of paths that one statement looks up; tests lower it.
var structureChunk = 10_000

// Who needs more than one of allPaths paths reads all of them, unless there are more than
// mostPaths: that costs far less per path than looking up it and those that lead to it.
// Tests change allPaths.
var allPaths = 20

const mostPaths = 5_000_000

func (m shared) structure(t *bolt.Tx, values []sparse, need func(path int64) bool, f func(ids, parents, functions []int64)) error {
	ids, whole := map[int64]struct{}{}, true
	for _, v := range values {
		whole = whole && v.whole
		for _, id := range v.paths {
			if need(id) {
				ids[id] = struct{}{}
			}
		}
	}
	if len(ids) == 0 {
		return nil
	}
	if all, err := m.paths(t); err != nil {
		return err
	} else if len(ids) > int(all)/allPaths && all <= mostPaths {
		return allStructure(t, f)
	}
	chunks := slices.Collect(slices.Chunk(slices.Sorted(maps.Keys(ids)), structureChunk))
	callers := ""
	if !whole {
		callers = "MATCH (x)<-[:CALLS*0..]-(c) WITH DISTINCT c AS x "
	}
	var one sync.Mutex
	return t.Parallel(len(chunks), func(t *bolt.Tx, i int) error {
		r, err := t.One(`UNWIND $ids AS id
			MATCH (x:CallPath {id: id}) USING INDEX SEEK x:CallPath(id)
			`+callers+`WITH x AS c
			MATCH (c)-[:OF]->(f:Function)
			OPTIONAL MATCH (p:CallPath)-[:CALLS]->(c)
			RETURN collect(c.id), collect(coalesce(p.id, 0)), collect(f.id)`, map[string]any{"ids": chunks[i]})
		if err != nil {
			return err
		}
		found, parents, functions := r.Ints(0), r.Ints(1), r.Ints(2)
		one.Lock()
		defer one.Unlock()
		f(found, parents, functions)
		return nil
	})
}

// allStructure is structure of all paths.
func allStructure(t *bolt.Tx, f func(ids, parents, functions []int64)) error {
	statements := []string{
		"MATCH (c:CallPath)-[:OF]->(f) RETURN collect(c.id), collect(f.id)",
		"MATCH (p:CallPath)-[:CALLS]->(c) RETURN collect(c.id), collect(p.id)",
	}
	results := make([]bolt.Row, len(statements))
	if err := t.Parallel(len(statements), func(t *bolt.Tx, i int) (err error) {
		results[i], err = t.One(statements[i], nil)
		return err
	}); err != nil {
		return err
	}
	callers, of := results[1].Ints(1), map[int64]int64{}
	for i, id := range results[1].Ints(0) {
		of[id] = callers[i]
	}
	ids := results[0].Ints(0)
	parents := make([]int64, len(ids))
	for i, id := range ids {
		parents[i] = of[id] // rootPath for a root
	}
	f(ids, parents, results[0].Ints(1))
	return nil
}

func (shared) rows(t *bolt.Tx, keys []string, wanted []int64, f func(key string, functions, selfs, totals []int64) error) error {
	if wanted == nil {
		return t.Each(`MATCH (p:Profile) WHERE p.key IN $keys MATCH (p)-[r:RAN]->(f)
			RETURN p.key, collect(f.id), collect(r.self), collect(r.total)`, map[string]any{"keys": keys}, func(r bolt.Row) error {
			return f(r.Text(0), r.Ints(1), r.Ints(2), r.Ints(3))
		})
	}
	// Few functions of many profiles: one row, because each costs as much as many values.
	r, err := t.One(`UNWIND $wanted AS id MATCH (f:Function {id: id})<-[r:RAN]-(p:Profile) WHERE p.key IN $keys
		RETURN collect(p.key), collect(f.id), collect(r.self), collect(r.total)`, map[string]any{"keys": keys, "wanted": wanted})
	if err != nil {
		return err
	}
	type list struct{ functions, selfs, totals []int64 }
	of := map[string]*list{}
	functions, selfs, totals := r.Ints(1), r.Ints(2), r.Ints(3)
	for i, key := range r.Texts(0) {
		c := of[key]
		if c == nil {
			c = new(list)
			of[key] = c
		}
		c.functions, c.selfs, c.totals = append(c.functions, functions[i]), append(c.selfs, selfs[i]), append(c.totals, totals[i])
	}
	for key, c := range of {
		if err := f(key, c.functions, c.selfs, c.totals); err != nil {
			return err
		}
	}
	return nil
}

// sums and rows do not check that what a profile RAN is a function: for millions of
// rows the check costs a seventh of the time.
func (shared) sums(t *bolt.Tx, keys []string, _ map[string]int64) (bolt.Row, error) {
	return t.One(`MATCH (p:Profile) WHERE p.key IN $keys
		WITH p, toFloat(p.samples) AS samples
		MATCH (p)-[r:RAN]->(f)
		WITH f, count(*) AS n, sum(r.self) AS self, sum(r.total) AS total, sum(r.self / samples) AS selfShare, sum(r.total / samples) AS totalShare
		RETURN collect(f.id), collect(n), collect(self), collect(total), collect(selfShare), collect(totalShare)`, map[string]any{"keys": keys})
}

func (shared) paths(t *bolt.Tx) (int64, error) {
	r, err := t.One("MATCH (c:CallPath) RETURN count(c)", nil)
	if err != nil {
		return 0, err
	}
	return r.Int(0), nil
}

func (shared) garbage() []garbage {
	return []garbage{
		{"CallPath", unusedPaths},
		without("RawName", "NOT EXISTS { (n)<-[:WAS]-(:Function)<-[:OF]-() }"),
		without("Function", "NOT EXISTS { (n)<-[:OF]-() }"),
	}
}

// unusedPaths compares the lists of all profiles with all paths in this process,
// because the server's memory for a query is small.
func unusedPaths(t *bolt.Tx) ([]int64, error) {
	used := map[int64]struct{}{}
	mark := func(r bolt.Row) error {
		for _, id := range r.List(0) {
			used[id.(int64)] = struct{}{}
		}
		return nil
	}
	if err := t.Each("MATCH (p:Profile) RETURN p.paths", nil, mark); err != nil {
		return nil, err
	}
	if err := t.Each("MATCH (m:ModeVector) RETURN m.paths", nil, mark); err != nil {
		return nil, err
	}
	var unused []int64
	err := t.Each("MATCH (c:CallPath) RETURN c.id", nil, func(r bolt.Row) error {
		if _, ok := used[r.Int(0)]; !ok {
			unused = append(unused, r.Int(0))
		}
		return nil
	})
	return unused, err
}
