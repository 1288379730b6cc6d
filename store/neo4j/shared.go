package neo4j

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/store/neo4j/internal/bolt"
	"github.com/dendroprof/dendro/store/neo4j/internal/identity"
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

// properties has only the paths with self values: CALLS leads to the others.
func (shared) properties(c *content) bolt.Props {
	paths, selfs := []int64{}, []int64{}
	for i, self := range c.tree.Self {
		if self != 0 {
			paths, selfs = append(paths, c.paths[i]), append(selfs, self)
		}
	}
	return bolt.Props{"paths": paths, "selfs": selfs}
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
	made := newPaths(missing)
	r, err := t.One(`WITH COLLECT { UNWIND $ofs AS id MATCH (f:Function {id: id}) RETURN f ORDER BY f.id } AS functions,
			COLLECT { UNWIND $known AS id MATCH (c:CallPath {id: id}) `+byID+` RETURN c ORDER BY c.id } AS known
		CALL () {
			UNWIND range(0, size($ids)-1) AS i
			CREATE (c:CallPath {id: $ids[i], depth: $depths[i]})
			RETURN collect(c) AS made
		}
		CALL (functions, made) {
			UNWIND range(0, size($ids)-1) AS i
			WITH made[i] AS c, functions[$functions[i]] AS f
			CREATE (c)-[:OF]->(f)
			RETURN count(*) AS of
		}
		WITH made + known AS paths, of
		CALL (paths) {
			UNWIND range(0, size($callees)-1) AS i
			WITH paths[$callers[i]] AS p, paths[$callees[i]] AS c
			CREATE (p)-[:CALLS]->(c)
			RETURN count(*) AS called
		}
		CALL (paths) {
			UNWIND range(0, size($again)-1) AS i
			WITH paths[$ancestors[i]] AS a, paths[$again[i]] AS c, i
			CREATE (a)-[:RECURS {distance: $distances[i]}]->(c)
			RETURN count(*) AS recursive
		}
		RETURN size(paths), of, called, recursive`, made.params)
	if err != nil {
		return err
	}
	return cmp.Or(bolt.CheckCount("paths", r.Int(0), made.paths), bolt.CheckCount("functions of paths", r.Int(1), len(missing)),
		bolt.CheckCount("calls", r.Int(2), made.calls), bolt.CheckCount("recursions", r.Int(3), made.recursions))
}

// pathsToMake are new paths as parameters: by place among the new ones, which are
// followed by the known paths that they hang on.
type pathsToMake struct {
	params                   map[string]any
	paths, calls, recursions int
}

// newPaths returns paths, which are in order of ids.
func newPaths(paths []pathOf) *pathsToMake {
	columns := pathColumns(paths)
	ids := columns["ids"].([]int64)
	of := slices.Compact(slices.Sorted(slices.Values(columns["functions"].([]int64))))
	functions := make([]int64, len(paths))
	for i, p := range paths {
		k, _ := slices.BinarySearch(of, p.function())
		functions[i] = int64(k)
	}
	recursions := map[*content][]int32{}
	callees, callers, again, ancestors, distances, known := []int64{}, []int64{}, []int64{}, []int64{}, []int64{}, []int64{}
	for i, p := range paths {
		if p.parent() != identity.Root {
			callees, callers = append(callees, int64(i)), append(callers, p.parent())
		}
		recursion, ok := recursions[p.content]
		if !ok {
			recursion = p.recursion()
			recursions[p.content] = recursion
		}
		if up := recursion[p.node]; up != calltree.NoNode {
			again, ancestors = append(again, int64(i)), append(ancestors, p.paths[up])
			distances = append(distances, int64(p.cut.Depth[p.node]-p.cut.Depth[up]))
		}
	}
	for _, id := range slices.Concat(callers, ancestors) {
		if _, ok := slices.BinarySearch(ids, id); !ok {
			known = append(known, id)
		}
	}
	slices.Sort(known)
	known = slices.Compact(known)
	place := func(list []int64) []int64 {
		for i, id := range list {
			k, ok := slices.BinarySearch(ids, id)
			if !ok {
				k, _ = slices.BinarySearch(known, id)
				k += len(ids)
			}
			list[i] = int64(k)
		}
		return list
	}
	return &pathsToMake{paths: len(ids) + len(known), calls: len(callees), recursions: len(again), params: map[string]any{
		"ids": ids, "depths": columns["depths"], "ofs": of, "functions": functions, "known": known,
		"callees": callees, "callers": place(callers), "again": again, "ancestors": place(ancestors), "distances": distances}}
}

// byPathID returns the distinct paths by id: importers that lock in one order do not
// wait for each other in a circle. Two paths with one id are an error.
func byPathID(paths []pathOf) ([]pathOf, error) {
	sorted := slices.SortedStableFunc(slices.Values(paths), func(a, b pathOf) int { return cmp.Compare(a.id(), b.id()) })
	kept := sorted[:0]
	for _, p := range sorted {
		if len(kept) > 0 && kept[len(kept)-1].id() == p.id() {
			if last := kept[len(kept)-1]; last.parent() != p.parent() || last.function() != p.function() {
				return nil, identity.Collision(p.id(), last.spell(), p.spell())
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
			if p.parent() != identity.Root {
				return nil, bolt.Changed("a path is there without its caller")
			}
			fallthrough
		case 2:
			return nil, identity.Collision(p.id(), p.spell(), "a path to "+names[k])
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
	ids := map[int64]struct{}{}
	for _, v := range values {
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
	var one sync.Mutex
	return t.Parallel(len(chunks), func(t *bolt.Tx, i int) error {
		r, err := t.One(`UNWIND $ids AS id
			MATCH (x:CallPath {id: id}) USING INDEX SEEK x:CallPath(id)
			MATCH (x)<-[:CALLS*0..]-(c)
			WITH DISTINCT c
			MATCH (c)-[:OF]->(f:Function)
			OPTIONAL MATCH (p:CallPath)-[:CALLS]->(c)
			RETURN collect(coalesce(c.id, 0)), collect(coalesce(p.id, 0)), collect(coalesce(f.id, 0))`, map[string]any{"ids": chunks[i]})
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
		"MATCH (c:CallPath)-[:OF]->(f) RETURN collect(coalesce(c.id, 0)), collect(coalesce(f.id, 0))",
		"MATCH (p:CallPath)-[:CALLS]->(c) RETURN collect(coalesce(c.id, 0)), collect(coalesce(p.id, 0))",
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
			RETURN p.key, collect(coalesce(f.id, 0)), collect(coalesce(r.self, 0)), collect(coalesce(r.total, 0))`, map[string]any{"keys": keys}, func(r bolt.Row) error {
			return f(r.Text(0), r.Ints(1), r.Ints(2), r.Ints(3))
		})
	}
	// Few functions of many profiles: one row, because each costs as much as many values.
	r, err := t.One(`UNWIND $wanted AS id MATCH (f:Function {id: id})<-[r:RAN]-(p:Profile) WHERE p.key IN $keys
		RETURN collect(coalesce(p.key, '')), collect(coalesce(f.id, 0)), collect(coalesce(r.self, 0)), collect(coalesce(r.total, 0))`, map[string]any{"keys": keys, "wanted": wanted})
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
		RETURN collect(coalesce(f.id, 0)), collect(n), collect(self), collect(total), collect(selfShare), collect(totalShare)`, map[string]any{"keys": keys})
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

// unusedPaths compares the lists of all profiles, and what leads to their paths, with all
// paths in this process, because the server's memory for a query is small.
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
	var all []int64
	callers := map[int64]int64{}
	if err := t.Each("MATCH (c:CallPath) OPTIONAL MATCH (p:CallPath)-[:CALLS]->(c) RETURN c.id, p.id", nil, func(r bolt.Row) error {
		all, callers[r.Int(0)] = append(all, r.Int(0)), r.Int(1) // rootPath for a root
		return nil
	}); err != nil {
		return nil, err
	}
	for id := range used {
		for up := callers[id]; up != identity.Root; up = callers[up] {
			if _, ok := used[up]; ok {
				break
			}
			used[up] = struct{}{}
		}
	}
	return slices.DeleteFunc(all, func(id int64) bool { _, ok := used[id]; return ok }), nil
}
