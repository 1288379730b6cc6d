package neo4j

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/dendroprof/dendro/internal/column"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/store/neo4j/internal/bolt"
	"github.com/dendroprof/dendro/store/neo4j/internal/identity"
)

// thesis is the model of Lundberg and Rettig, "Modeling Profiling Data in a Graph
// Database for Performance Analysis" (2024), with one tree of nodes per profile:
//
//	(:Profile)-[:ROOT]->(:Function {key, profileKey, codePath, depth, baseSamples, totalSamples, base, total})
//	(:Function)-[:INVOKES]->(:Function)
//	(:Function)-[:RECURS {distance}]->(:Function)
//
// Each tree has one node more than the profile: the root, above all others. The
// key of a node is that of its profile and its number in depth-first order, so
// that keys ascend as nodes are made: indexes like that. Distinct functions, which
// the paper's model has no nodes for, are (:CodePath {id, name, …}) beside the trees.
type thesis struct {
	potentials int // highest degree in the arrays p and c of each node; 0: there are none
}

func (thesis) name() Model       { return Thesis }
func (thesis) functions() string { return "CodePath" }

func (thesis) schema() []string {
	return []string{
		bolt.Constraint("Function", "key"), bolt.Index("Function", "codePath"), bolt.Index("Function", "profileKey"),
		bolt.Constraint("CodePath", "id"), bolt.Constraint("CodePath", "name"),
	}
}

// memory estimates the memory of a transaction on the server.
func (m thesis) memory(nodes int) int64 {
	perNode := 6100
	if m.potentials > 0 {
		perNode += 2 * 48 * (m.potentials + 1)
	}
	return int64(nodes) * int64(perNode)
}

// properties are not in the paper. Dendro reads trees of all profiles by them.
func (thesis) properties(c *content) bolt.Props {
	return bolt.Props{"paths": c.paths, "selfs": c.tree.Self}
}

// rootName is the code path of the node above a profile's own roots.
const rootName = "root"

// thesisChunk is the number of nodes per statement; tests lower it.
var thesisChunk = 20_000

func (m thesis) write(t *bolt.Tx, rows []*profileRow) error {
	for _, row := range rows {
		if err := m.writeTree(t, row.content, "WITH $row AS x "+createProfile, row.params); err != nil {
			return err
		}
	}
	return nil
}

// writeTree makes the nodes in depth-first order, a chunk of them in each statement,
// and the relationships between nodes by their places in the list of what was
// made: no node has to be looked up but the ancestors that earlier chunks hold. The
// statement create creates the profile's node as p.
func (m thesis) writeTree(t *bolt.Tx, c *content, create string, row map[string]any) error {
	whole, recursion := c.whole(), c.recursion()
	params := map[string]any{"row": row, "key": c.key, "node": nodeKey(c.key, -1), "name": rootName, "total": whole, "share": c.share(whole),
		"p": nil, "c": nil} // null is no property
	var p, corrections [][]float64
	if m.potentials > 0 {
		p, corrections = c.potentials(recursion, m.potentials)
		params["p"], params["c"] = p[0], corrections[0]
	}
	r, err := t.One(create+`
		CREATE (p)-[:ROOT]->(f:Function {key: $node, profileKey: $key, codePath: $name, depth: 0,
			baseSamples: 0, totalSamples: $total, base: 0.0, total: $share, p: $p, c: $c})
		RETURN count(*)`, params)
	if err != nil {
		return err
	}
	if err := bolt.CheckCount("profiles", r.Int(0), 1); err != nil {
		return err
	}
	for start := 0; start < c.cut.Len(); start += thesisChunk {
		end := min(start+thesisChunk, c.cut.Len())
		ch := newThesisChunk(c, recursion, start, end)
		if m.potentials > 0 {
			ch.params["p"], ch.params["c"] = p[start+1:end+1], corrections[start+1:end+1]
		}
		if err := writeChunk(t, ch, end-start); err != nil {
			return err
		}
	}
	return nil
}

// writeChunk creates the nodes of a chunk.
func writeChunk(t *bolt.Tx, ch thesisColumns, nodes int) error {
	arrays := "" // even null in their place costs a tenth of an import
	if ch.params["p"] != nil {
		arrays = ", p: $p[i], c: $c[i]"
	}
	r, err := t.One(`OPTIONAL MATCH (a:Function) WHERE a.key IN $ancestors
		WITH a ORDER BY a.key
		WITH collect(a) AS before
		UNWIND range(0, size($keys)-1) AS i
		CREATE (f:Function {key: $keys[i], profileKey: $key, depth: $depth[i], baseSamples: $self[i], totalSamples: $sum[i],
			codePath: $names[$name[i]], base: $base[i], total: $total[i]`+arrays+`})
		WITH before, collect(f) AS made
		WITH before + made AS nodes, size(before) AS n
		CALL (nodes, n) {
			UNWIND range(0, size($parent)-1) AS i
			WITH nodes[$parent[i]] AS p, nodes[n + i] AS f
			CREATE (p)-[:INVOKES]->(f)
			RETURN count(*) AS invoked
		}
		CALL (nodes, n) {
			UNWIND range(0, size($again)-1) AS i
			WITH nodes[$from[i]] AS a, nodes[n + $again[i]] AS f, $distance[i] AS distance
			CREATE (a)-[:RECURS {distance: distance}]->(f)
			RETURN count(*) AS recurred
		}
		RETURN n, invoked, recurred`, ch.params)
	if err != nil {
		return err
	}
	return cmp.Or(bolt.CheckCount("ancestors", r.Int(0), ch.ancestors), bolt.CheckCount("calls", r.Int(1), nodes),
		bolt.CheckCount("recursions", r.Int(2), ch.recursions))
}

// thesisColumns are the parameters of one chunk.
type thesisColumns struct {
	params                map[string]any
	ancestors, recursions int
}

// newThesisChunk lays out the nodes [start, end). Places count from the first of
// the ancestors outside of the chunk that it refers to; those of them that the
// chunk's nodes have are ancestors of its first node.
func newThesisChunk(c *content, recursion []int32, start, end int) thesisColumns {
	const root = -1 // as a node of the table
	needed := map[int]bool{}
	for n := start; n < end; n++ {
		if up := int(c.cut.Parent[n]); up < start {
			needed[up] = true // NoNode is root
		}
		if up := int(recursion[n]); up != root && up < start {
			needed[up] = true
		}
	}
	before := slices.Sorted(maps.Keys(needed))
	place := func(n int) int64 {
		if n >= start {
			return int64(len(before) + n - start)
		}
		i, _ := slices.BinarySearch(before, n)
		return int64(i)
	}
	ancestors := column.Of(before, func(n int) string { return nodeKey(c.key, n) })
	var names []string
	nameOf := map[int32]int64{}
	size := end - start
	var (
		keys                           = make([]string, size)
		name, depth, self, sum, parent = make([]int64, size), make([]int64, size), make([]int64, size), make([]int64, size), make([]int64, size)
		base, total                    = make([]float64, size), make([]float64, size)
		from, again, distance          []int64
	)
	for i := range size {
		n := start + i
		fn := c.cut.Func[n]
		at, ok := nameOf[fn]
		if !ok {
			at = int64(len(names))
			names, nameOf[fn] = append(names, c.names[fn]), at
		}
		keys[i], name[i], depth[i], parent[i] = nodeKey(c.key, n), at, int64(c.cut.Depth[n])+1, place(int(c.cut.Parent[n]))
		self[i], sum[i] = c.tree.Self[n], c.tree.Total[n]
		base[i], total[i] = c.share(self[i]), c.share(sum[i])
		if up := int(recursion[n]); up != root {
			from, again, distance = append(from, place(up)), append(again, int64(i)), append(distance, int64(c.cut.Depth[n])-int64(c.cut.Depth[up]))
		}
	}
	return thesisColumns{map[string]any{
		"key": c.key, "keys": keys, "ancestors": ancestors, "names": names, "name": name,
		"depth": depth, "self": self, "sum": sum, "base": base, "total": total, "parent": parent,
		"from": from, "again": again, "distance": distance,
	}, len(before), len(from)}
}

// nodeKey returns the key of a node of the table; -1 is the root above it.
// The server stores hexadecimal digits in half a byte each.
func nodeKey(profile string, n int) string { return fmt.Sprintf("%s%06x", profile, n+1) }

func (thesis) erase(t *bolt.Tx, key string) error {
	return t.Do("MATCH (f:Function {profileKey: $key}) DETACH DELETE f", map[string]any{"key": key})
}

// structure reads the trees of profiles until nothing is missing: profiles of one
// benchmark have most of their paths in common.
func (thesis) structure(t *bolt.Tx, values []sparse, need func(path int64) bool, f func(ids, parents, functions []int64)) error {
	seen := map[int64]bool{}
	for _, v := range values {
		if !slices.ContainsFunc(v.paths, func(id int64) bool { return !seen[id] && need(id) }) {
			continue
		}
		r, err := t.One(`OPTIONAL MATCH (p:Profile {key: $key})
			OPTIONAL MATCH (f:Function {profileKey: $key}) WHERE f.depth > 0
			WITH p, f ORDER BY f.key
			WITH p, collect(f.depth) AS depths, collect(coalesce(f.codePath, '')) AS names
			RETURN p.paths, depths, names`, map[string]any{"key": v.key})
		switch {
		case err != nil:
			return err
		case !r.Has(0):
			return bolt.Changed("a profile was deleted")
		}
		ids, depths, functions := r.Ints(0), r.Ints(1), namedIDs(r.Texts(2))
		if len(ids) != len(depths) {
			return bolt.Changed("a profile does not have all of its nodes")
		}
		parents := make([]int64, len(ids))
		at := []int64{identity.Root} // the path at each depth
		for i, id := range ids {
			seen[id] = true
			depth := int(depths[i])
			if depth < 1 || depth > len(at) {
				return fmt.Errorf("%w: a node of profile %s has no parent", store.ErrCorrupt, v.key)
			}
			parents[i] = at[depth-1]
			at = append(at[:depth], id)
		}
		f(ids, parents, functions)
	}
	return nil
}

// functionRowsOf begins a statement that has a row for each profile of $keys and
// function: key, name, self, total. It selects all functions or those named.
func functionRowsOf(condition string) string {
	return `MATCH (f:Function) WHERE f.profileKey IN $keys AND f.depth > 0 ` + condition + `
		WITH f, NOT EXISTS { ()-[:RECURS]->(f) } AS outermost
		WITH f.profileKey AS key, f.codePath AS name, sum(f.baseSamples) AS self,
			sum(CASE WHEN outermost THEN f.totalSamples ELSE 0 END) AS total,
			max(CASE WHEN outermost AND f.totalSamples <> 0 THEN 1 ELSE 0 END) AS listed
		WHERE listed = 1 `
}

func (thesis) rows(t *bolt.Tx, keys []string, wanted []int64, f func(key string, functions, selfs, totals []int64) error) error {
	params := map[string]any{"keys": keys}
	condition := ""
	if wanted != nil {
		r, err := t.One("MATCH (c:CodePath) WHERE c.id IN $ids RETURN collect(c.name)", map[string]any{"ids": wanted})
		if err != nil {
			return err
		}
		condition, params["names"] = "AND f.codePath IN $names", r.List(0)
	}
	return t.Each(functionRowsOf(condition)+"RETURN key, collect(coalesce(name, '')), collect(self), collect(total)", params, func(r bolt.Row) error {
		return f(r.Text(0), namedIDs(r.Texts(1)), r.Ints(2), r.Ints(3))
	})
}

// namedIDs returns the ids of stored names.
func namedIDs(names []string) []int64 {
	return column.Of(names, store.FunctionID)
}

func (thesis) sums(t *bolt.Tx, keys []string, samples map[string]int64) (bolt.Row, error) {
	r, err := t.One(functionRowsOf("")+`
		WITH name, count(*) AS n, sum(self) AS self, sum(total) AS total,
			sum(toFloat(self) / $samples[key]) AS selfShare, sum(toFloat(total) / $samples[key]) AS totalShare
		RETURN collect(coalesce(name, '')), collect(n), collect(self), collect(total), collect(selfShare), collect(totalShare)`,
		map[string]any{"keys": keys, "samples": samples})
	if err != nil {
		return nil, err
	}
	ids := make([]any, 0, len(r.List(0)))
	for _, id := range namedIDs(r.Texts(0)) {
		ids = append(ids, id)
	}
	r[0] = ids
	return r, nil
}

func (thesis) paths(t *bolt.Tx) (int64, error) {
	r, err := t.One("MATCH (p:Profile) UNWIND p.paths AS id RETURN count(DISTINCT id)", nil)
	if err != nil {
		return 0, err
	}
	return r.Int(0), nil
}

func (thesis) garbage() []garbage {
	return []garbage{
		without("RawName", "NOT EXISTS { MATCH (n)<-[:WAS]-(c:CodePath) MATCH (:Function {codePath: c.name}) }"),
		without("CodePath", "NOT EXISTS { MATCH (:Function {codePath: n.name}) }"),
	}
}
