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

func (shared) properties(c *content) bolt.Props {
	return bolt.Props{"paths": c.paths, "selfs": c.tree.Self, "totals": c.tree.Total}
}

func (shared) write(t *bolt.Tx, c *content, create string, params map[string]any, l *additions) error {
	fresh := c.unknownPaths()
	if len(fresh) > pathsAhead {
		return &tooManyPaths{c, fresh}
	}
	if err := writePaths(t, c, fresh, l); err != nil {
		return err
	}
	rows := slices.Clone(c.rows)
	slices.SortFunc(rows, func(a, b calltree.FunctionRow) int { return cmp.Compare(c.functions[a.Func], c.functions[b.Func]) })
	var functions, selfs, totals []int64
	for _, r := range rows {
		functions, selfs, totals = append(functions, c.functions[r.Func]), append(selfs, r.Self), append(totals, r.Total)
	}
	if len(rows) > 0 {
		create += `
		WITH p UNWIND range(0, size($functions)-1) AS i
		MATCH (f:Function {id: $functions[i]})
		CREATE (p)-[:RAN {self: $selfs[i], total: $totals[i]}]->(f)`
		params["functions"], params["selfs"], params["totals"] = functions, selfs, totals
	}
	r, err := t.One(create+" RETURN count(*)", params)
	if err != nil {
		return err
	}
	return bolt.CheckCount("functions of the profile", r.Int(0), max(len(rows), 1))
}

// pathsAhead is the maximum number of new paths in one transaction. A profile with
// more of them gets its paths first, in transactions of so many: nobody sees them
// until a profile refers to them.
const pathsAhead = 20_000

// tooManyPaths reports that the paths of a profile must be stored first.
type tooManyPaths struct {
	*content
	nodes []int32 // without the paths that are there already
}

func (e *tooManyPaths) Error() string { return fmt.Sprintf("%d paths are new", len(e.nodes)) }

// unknownPaths returns the nodes whose paths the database may not have.
func (c *content) unknownPaths() []int32 {
	var nodes []int32
	for n, p := range c.cut.Paths {
		if !c.origin.paths[p] {
			nodes = append(nodes, int32(n))
		}
	}
	return nodes
}

// writePaths makes sure that the database has the paths of some nodes, parents before
// children. It has the parents that are not among them.
func writePaths(t *bolt.Tx, c *content, nodes []int32, l *additions) error {
	for _, n := range nodes {
		l.paths = append(l.paths, c.cut.Paths[n])
	}
	var err error
	missing := slices.Clone(nodes)
	if len(nodes) > c.cut.Len()/2 { // who knows most of a profile's paths finds the others to be new
		missing, err = missingPaths(t, c, nodes)
	}
	if err != nil || len(missing) == 0 {
		return err
	}
	columns, err := c.pathColumns(missing)
	if err != nil {
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
		RETURN collect(i), count(p)`, columns)
	if err != nil {
		return err
	}
	made := make([]int32, 0, len(missing))
	for _, i := range r.Ints(0) {
		made = append(made, missing[i])
	}
	if len(made) < len(missing) {
		if still, err := missingPaths(t, c, missing); err != nil || len(still) > 0 {
			return cmp.Or(err, bolt.CheckCount("paths", int64(len(made)), len(missing)))
		}
	}
	recursion, called := c.recursion(), 0
	var again, ancestors, distances []int64
	for _, n := range made {
		if c.cut.Parent[n] != calltree.NoNode {
			called++
		}
		if up := recursion[n]; up != calltree.NoNode {
			again, ancestors = append(again, c.paths[n]), append(ancestors, c.paths[up])
			distances = append(distances, int64(c.cut.Depth[n]-c.cut.Depth[up]))
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

// pathColumns returns nodes as parameters, and sorts the nodes by id: importers that
// lock in one order do not wait for each other in a circle. Two nodes with one id are
// an error.
func (c *content) pathColumns(nodes []int32) (map[string]any, error) {
	slices.SortFunc(nodes, func(a, b int32) int { return cmp.Compare(c.paths[a], c.paths[b]) })
	var ids, parents, functions, depths []int64
	for i, n := range nodes {
		if i > 0 && ids[i-1] == c.paths[n] {
			return nil, collision(ids[i-1], c.spell(nodes[i-1]), c.spell(n))
		}
		ids = append(ids, c.paths[n])
		parents = append(parents, c.parent(int(n)))
		functions = append(functions, c.functions[c.cut.Func[n]])
		depths = append(depths, int64(c.cut.Depth[n]))
	}
	return map[string]any{"ids": ids, "parents": parents, "functions": functions, "depths": depths}, nil
}

// missingPaths returns the nodes, parents first, whose paths the database does not
// have. An id that belongs to something else there is an error.
func missingPaths(t *bolt.Tx, c *content, nodes []int32) ([]int32, error) {
	if len(nodes) == 0 {
		return nil, nil
	}
	sorted := slices.Clone(nodes)
	p, err := c.pathColumns(sorted)
	if err != nil {
		return nil, err
	}
	r, err := t.One(`UNWIND range(0, size($ids)-1) AS i
		OPTIONAL MATCH (c:CallPath {id: $ids[i]})-[:OF]->(f:Function) `+byID+`
		OPTIONAL MATCH (p:CallPath)-[:CALLS]->(c)
		WITH i, f, coalesce(p.id, 0) AS parent
		WHERE f IS NULL OR f.id <> $functions[i] OR parent <> $parents[i]
		RETURN collect(i), collect(CASE WHEN f IS NULL THEN 0 WHEN parent = 0 THEN 1 ELSE 2 END), collect(coalesce(f.name, ''))`, p)
	if err != nil {
		return nil, err
	}
	var missing []int32
	why, names := r.Ints(1), r.Texts(2)
	for k, i := range r.Ints(0) {
		switch why[k] {
		case 1: // another importer's commit is being carried out
			if c.cut.Parent[sorted[i]] != calltree.NoNode {
				return nil, bolt.Changed("a path is there without its caller")
			}
			fallthrough
		case 2:
			return nil, collision(c.paths[sorted[i]], c.spell(sorted[i]), "a path to "+names[k])
		}
		missing = append(missing, sorted[i])
	}
	slices.Sort(missing)
	return missing, nil
}

// spell returns the path of a node.
func (c *content) spell(n int32) string { return calltree.FormatPath(c.cut.Path(n)) }

func (shared) erase(t *bolt.Tx, key string, _ int64) error { return nil }

// byID makes the server use the index. It counts the entries of an index in the
// background; soon after the first import it believes that there are few, and would
// read the whole index for each path.
const byID = "USING INDEX SEEK c:CallPath(id)"

// structureChunk is the number of paths that one statement looks up; tests lower it.
var structureChunk = 20_000

func (shared) structure(t *bolt.Tx, values []sparse, need func(path int64) bool, f func(ids, parents, functions []int64)) error {
	ids := map[int64]struct{}{}
	for _, v := range values {
		for _, id := range v.paths {
			if need(id) {
				ids[id] = struct{}{}
			}
		}
	}
	chunks := slices.Collect(slices.Chunk(slices.Sorted(maps.Keys(ids)), structureChunk))
	var one sync.Mutex
	return t.Parallel(len(chunks), func(t *bolt.Tx, i int) error {
		r, err := t.One(`UNWIND $ids AS id
			MATCH (c:CallPath {id: id})-[:OF]->(f:Function) `+byID+`
			OPTIONAL MATCH (p:CallPath)-[:CALLS]->(c)
			RETURN collect(id), collect(coalesce(p.id, 0)), collect(f.id)`, map[string]any{"ids": chunks[i]})
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

func (shared) rows(t *bolt.Tx, keys []string, wanted []int64, f func(key string, functions, selfs, totals []int64) error) error {
	statement := `MATCH (p:Profile) WHERE p.key IN $keys MATCH (p)-[r:RAN]->(f)
		RETURN p.key, collect(f.id), collect(r.self), collect(r.total)`
	if wanted != nil {
		statement = `UNWIND $wanted AS id MATCH (f:Function {id: id})<-[r:RAN]-(p:Profile) WHERE p.key IN $keys
			RETURN p.key, collect(f.id), collect(r.self), collect(r.total)`
	}
	return t.Each(statement, map[string]any{"keys": keys, "wanted": wanted}, func(r bolt.Row) error {
		return f(r.Text(0), r.Ints(1), r.Ints(2), r.Ints(3))
	})
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
