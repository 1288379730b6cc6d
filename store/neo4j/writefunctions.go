package neo4j

import (
	"fmt"
	"maps"
	"slices"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/internal/column"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/store/neo4j/internal/bolt"
	"github.com/dendroprof/dendro/store/neo4j/internal/identity"
)

// functionProps returns the properties of a function's node.
func functionProps(id int64, name string, f profile.Function) bolt.Props {
	n := bolt.Props{"id": id, "name": name}
	bolt.Set(n, "systemName", f.SystemName)
	bolt.Set(n, "module", f.Module)
	bolt.Set(n, "file", f.File)
	bolt.Set(n, "startLine", int64(f.StartLine))
	bolt.Set(n, "column", int64(f.Column))
	bolt.Set(n, "language", f.Language)
	if f.Kind != profile.KindUnknown {
		n["kind"] = f.Kind.String()
	}
	return n
}

// readFunction is the inverse of functionProps. An unknown kind, of a later version, is
// dropped.
func readFunction(n bolt.Props) profile.Function {
	kind, err := profile.ParseKind(n.Text("kind"))
	if err != nil {
		kind = profile.KindUnknown
	}
	return profile.Function{
		Name: n.Text("name"), SystemName: n.Text("systemName"), Module: n.Text("module"), File: n.Text("file"),
		StartLine: int32(n.Int("startLine")), Column: int32(n.Int("column")), Language: n.Text("language"), Kind: kind,
	}
}

// writeFunctions makes sure that the database has the functions of profiles, with their
// attributes.
func writeFunctions(t *bolt.Tx, label string, rows []*profileRow) error {
	want := map[int64]profile.Function{}
	for _, c := range rows {
		for fn, of := range c.forestFunctions() {
			if c.origin.functions[of] {
				continue
			}
			c.added.functions = append(c.added.functions, of)
			id, f := c.functions[fn], c.cut.Functions[fn]
			f.Name = c.names[fn]
			if other, ok := want[id]; ok && other.Name != f.Name {
				return identity.Collision(id, other.Name, f.Name)
			} else if ok {
				f = calltree.MergeAttributes(other, f)
			}
			want[id] = f
		}
	}
	if len(want) == 0 {
		return nil
	}
	ids := slices.Sorted(maps.Keys(want))
	props := column.Of(ids, func(id int64) map[string]any { return functionProps(id, want[id].Name, want[id]) })
	r, err := t.One(`UNWIND range(0, size($ids)-1) AS i
		MERGE (f:`+label+` {id: $ids[i]}) ON CREATE SET f += $props[i]
		RETURN collect(f {.*})`, map[string]any{"ids": ids, "props": props})
	if err != nil {
		return err
	}
	var changed []int64
	for _, n := range r.PropsList(0) {
		have, f := readFunction(n), want[n.Int("id")]
		if have.Name != f.Name {
			return identity.Collision(n.Int("id"), have.Name, f.Name)
		}
		if calltree.MergeAttributes(have, f) != have {
			changed = append(changed, n.Int("id"))
		}
	}
	if len(r.List(0)) != len(ids) {
		return fmt.Errorf("%w: %d of %d functions were stored", store.ErrCorrupt, len(r.List(0)), len(ids))
	}
	return mergeAttributes(t, label, changed, want)
}

// mergeAttributes merges attributes of functions with those in the database, under locks:
// several importers may add attributes.
func mergeAttributes(t *bolt.Tx, label string, ids []int64, want map[int64]profile.Function) error {
	if len(ids) == 0 {
		return nil
	}
	slices.Sort(ids)
	r, err := t.One(`UNWIND $ids AS id MATCH (f:`+label+` {id: id}) SET f.changes = coalesce(f.changes, 0) + 1
		RETURN collect(f {.*})`, map[string]any{"ids": ids})
	if err != nil {
		return err
	}
	var props []map[string]any
	other := 0 // code, see store.Verdicts
	for _, n := range r.PropsList(0) {
		id, have := n.Int("id"), readFunction(n)
		merged := calltree.MergeAttributes(have, want[id])
		if store.OtherCode(have, merged) {
			other = 1
		}
		props = append(props, functionProps(id, n.Text("name"), merged))
	}
	// The place that is kept may have no line or column.
	if err := t.Do("UNWIND $props AS p MATCH (f:"+label+" {id: p.id}) SET f.startLine = null, f.column = null, f += p", map[string]any{"props": props}); err != nil {
		return err
	}
	return t.Do("MATCH (d:Dendro {id: 'dendro'}) SET d.attributes = d.attributes + 1, d.code = d.code + $other", map[string]any{"other": other})
}

// maxRawName is the maximum length of a stored raw name, in bytes.
const maxRawName = 4000

// writeRawNames stores one raw name per function and group: the smallest, so that the
// order of imports does not matter.
func writeRawNames(t *bolt.Tx, label string, rows []*profileRow) error {
	smallest := map[int64]rawExample{}
	for _, c := range rows {
		for fn, of := range c.forestFunctions() {
			name, ok := c.raw[of]
			key := rawKey{c.group, of}
			if known, is := c.origin.raw[key]; !ok || is && known <= name {
				continue
			}
			c.added.raw[key] = name
			if len(name) > maxRawName {
				name = bolt.StoredName(name)
			}
			id := bolt.TextsID(c.group, c.names[fn])
			if other, ok := smallest[id]; !ok || name < other.name {
				smallest[id] = rawExample{c.functions[fn], c.group, name}
			}
		}
	}
	if len(smallest) == 0 {
		return nil
	}
	ids := slices.Sorted(maps.Keys(smallest))
	var functions []int64
	var groups, names []string
	for _, id := range ids {
		e := smallest[id]
		functions, groups, names = append(functions, e.function), append(groups, e.group), append(names, e.name)
	}
	params := map[string]any{"ids": ids, "functions": functions, "names": names, "groups": groups}
	if err := t.Do(`UNWIND range(0, size($ids)-1) AS i
		MERGE (n:RawName {id: $ids[i]}) ON CREATE SET n.group = $groups[i], n.name = $names[i]
		WITH n, i WHERE $names[i] < n.name
		SET n.name = CASE WHEN $names[i] < n.name THEN $names[i] ELSE n.name END`, params); err != nil {
		return err
	}
	return t.Do(`UNWIND range(0, size($ids)-1) AS i
		MATCH (n:RawName {id: $ids[i]}) WHERE NOT EXISTS { (n)<-[:WAS]-() }
		MATCH (f:`+label+` {id: $functions[i]}) CREATE (f)-[:WAS]->(n)`, params)
}
