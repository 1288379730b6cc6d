package profiles

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/store/duckdb/internal/driver"
	"github.com/dendroprof/dendro/store/duckdb/internal/encoding"
)

// rows are the columns that a Put appends. They belong to the holder of Store.write
// and are reused by the next Put.
type rows struct {
	tree struct {
		profile []int32
		blob    [][]byte
	}
	mode struct {
		profile []int32
		mode    []uint8
		blob    [][]byte
	}
	paths  []int32     // translated
	values []pathValue // of a window
}

type pathValue struct {
	path int32
	self int64
}

func (r *rows) reset() {
	r.tree.profile, r.tree.blob = r.tree.profile[:0], r.tree.blob[:0]
	r.mode.profile, r.mode.mode, r.mode.blob = r.mode.profile[:0], r.mode.mode[:0], r.mode.blob[:0]
}

// commitBatch writes a batch in one transaction and applies it to the catalog. After
// an error the file is unchanged.
func (s *Store) commitBatch(ctx context.Context, c *driver.Conn, b *batch) error {
	w, err := s.dict.writer(ctx, c)
	if err != nil {
		return err
	}
	s.rows.reset()
	s.sweeper.reset()
	for _, p := range b.order {
		if p.dropped {
			continue
		}
		if err := s.encode(ctx, c, w, p); err != nil {
			return err
		}
	}
	removed := b.removed()
	c.Begin()
	if err := s.writeBatch(ctx, c, w, b, removed); err != nil {
		c.Rollback()
		return err
	}
	if len(removed) > 0 {
		s.removal.Lock()
		defer s.removal.Unlock()
	}
	s.publish.Lock()
	defer s.publish.Unlock()
	if err := c.Commit(); err != nil {
		return err
	}
	s.dict.commit()
	s.catalog.change(func() { b.apply() })
	return nil
}

// removed lists the entries whose rows are removed.
func (b *batch) removed() []*entry {
	var list []*entry
	for _, p := range b.order {
		if !p.dropped && p.old != nil {
			list = append(list, p.old)
		}
	}
	return list
}

// apply applies the commit to the catalog. The caller holds its lock.
func (b *batch) apply() {
	cat := b.cat
	cat.next = b.next
	cat.rules = b.opts.Rules
	maps.Copy(cat.benches, b.benches)
	maps.Copy(cat.runs, b.runs)
	maps.Copy(cat.metrics, b.metrics)
	for _, p := range b.order {
		if !p.dropped {
			e := p.entry
			cat.profiles[e.p.ID] = &e
		}
	}
}

// encode adds up a profile over the store's forest and appends its rows to s.rows.
func (s *Store) encode(ctx context.Context, c *driver.Conn, w *writer, p *pending) error {
	r, sw := &s.rows, &s.sweeper
	defer sw.reset()
	var oldModes map[profile.FrameType]calltree.Vector
	old := calltree.Vector{}
	if p.sum && p.old != nil {
		var err error
		if old, oldModes, err = readOld(ctx, c, p.old.id(), w.paths.Len()); err != nil {
			return err
		}
	}
	modes := map[profile.FrameType]bool{}
	for mode := range oldModes {
		modes[mode] = true
	}
	s.sum(w, old, p.records, func(rec *store.Record) []calltree.Vector {
		for _, m := range rec.Modes {
			modes[m.Mode] = true
		}
		return []calltree.Vector{rec.Self}
	})
	id := p.id()
	r.tree.profile = append(r.tree.profile, id)
	r.tree.blob = append(r.tree.blob, s.vectors.Encode(sw.nodes, sw.values))
	p.p.Sum, p.p.Nodes = int64(sw.sum), len(sw.touched)
	for mode := range profile.FrameType(profile.FrameTypes) {
		if !modes[mode] {
			continue
		}
		sw.reset()
		s.sum(w, oldModes[mode], p.records, func(rec *store.Record) (list []calltree.Vector) {
			for _, m := range rec.Modes {
				if m.Mode == mode {
					list = append(list, m.Vector)
				}
			}
			return list
		})
		if len(sw.nodes) == 0 {
			continue
		}
		r.mode.profile, r.mode.mode = append(r.mode.profile, id), append(r.mode.mode, uint8(mode))
		r.mode.blob = append(r.mode.blob, s.vectors.Encode(sw.nodes, sw.values))
	}
	return nil
}

// sum adds up stored values and those vectors of the records that pick returns.
func (s *Store) sum(w *writer, old calltree.Vector, records []*store.Record, pick func(*store.Record) []calltree.Vector) {
	for _, rec := range records {
		for _, v := range pick(rec) {
			if v.Len() == 0 {
				continue
			}
			s.rows.paths = w.translations.Of(rec.Forest, w).Paths(rec.Forest, v.Nodes, s.rows.paths)
			s.sweeper.grow(w.paths.Len())
			s.sweeper.add(calltree.Vector{Nodes: s.rows.paths, Self: v.Self})
		}
	}
	s.sweeper.grow(w.paths.Len())
	s.sweeper.add(old)
	s.sweeper.finish(w.paths.Parent)
}

// readOld returns the stored vectors of a profile.
func readOld(ctx context.Context, c *driver.Conn, id int32, limit int) (self calltree.Vector, modes map[profile.FrameType]calltree.Vector,
	err error) {
	err = c.Query(ctx, fmt.Sprint("SELECT paths FROM tree WHERE profile = ", id), nil, func(ch driver.Chunk) error {
		self, err = encoding.Decode(driver.Column[driver.Text](ch, 0)[0].Bytes(), limit, calltree.Vector{})
		return err
	})
	if err != nil {
		return self, nil, err
	}
	modes = map[profile.FrameType]calltree.Vector{}
	err = c.Query(ctx, fmt.Sprint("SELECT mode, paths FROM tree_mode WHERE profile = ", id), nil, func(ch driver.Chunk) error {
		blobs := driver.Column[driver.Text](ch, 1)
		for i, mode := range driver.Column[uint8](ch, 0) {
			v, err := encoding.Decode(blobs[i].Bytes(), limit, calltree.Vector{})
			if err != nil {
				return err
			}
			modes[profile.FrameType(mode)] = v
		}
		return nil
	})
	return self, modes, err
}

// writeBatch fills the open transaction.
func (s *Store) writeBatch(ctx context.Context, c *driver.Conn, w *writer, b *batch, removed []*entry) error {
	if err := removeRows(ctx, c, b.cat, removed); err != nil {
		return err
	}
	if b.rules {
		if err := c.SetMeta(ctx, metaRules, b.opts.Rules); err != nil {
			return err
		}
	}
	for _, step := range []func() error{
		func() error { return b.writeRuns(ctx, c) },
		func() error { return b.writeMetrics(ctx, c) },
		func() error { return b.writeProfiles(c) },
		func() error { return w.writeRawNames(ctx, c, b.records) },
		func() error { return w.writeFunctions(ctx, c) },
		func() error { return w.writePaths(c) },
		func() error { return s.rows.write(c) },
		func() error { return ctx.Err() },
	} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

func (r *rows) write(c *driver.Conn) error {
	if err := c.Append("", "tree", len(r.tree.profile), r.tree.profile, r.tree.blob); err != nil {
		return err
	}
	return c.Append("", "tree_mode", len(r.mode.profile), r.mode.profile, r.mode.mode, r.mode.blob)
}

func (b *batch) writeRuns(ctx context.Context, c *driver.Conn) error {
	var benches []benchRow
	for bench, id := range b.benches {
		row := benchRow{id: id, Benchmark: bench, params: map[string]string{}}
		base, params := bench.Params()
		for row.base = base; len(params) > 0; params = params[1:] {
			row.params[params[0].Key] = params[0].Value
		}
		benches = append(benches, row)
	}
	if err := driver.Insert(c, "", "benchmark", benches, (*benchRow).fields); err != nil {
		return err
	}
	for key, r := range b.runs {
		if _, old := b.cat.runs[key]; old {
			if err := c.Query(ctx, "DELETE FROM run WHERE id = ?", []any{r.id}, nil); err != nil {
				return err
			}
		}
	}
	return driver.Insert(c, "", "run", slices.Collect(maps.Values(b.runs)), (*runEntry).fields)
}

func (b *batch) writeMetrics(ctx context.Context, c *driver.Conn) error {
	var rows []metricRow
	for at, list := range b.metrics {
		if len(b.cat.metrics[at]) > 0 {
			if err := c.Query(ctx, "DELETE FROM metric WHERE bench = ? AND run = ?", []any{at.bench, at.run}, nil); err != nil {
				return err
			}
		}
		for _, m := range list {
			rows = append(rows, metricRow{at, m, int64(m.N)})
		}
	}
	return driver.Insert(c, "", "metric", rows, (*metricRow).fields)
}

func (b *batch) writeProfiles(c *driver.Conn) error {
	var kept []profileRow
	for _, p := range b.order {
		if !p.dropped {
			kept = append(kept, profileRow{p.entry, p.id(), int32(p.p.Type.Scale), int32(p.p.Nodes), strings.Join(p.p.Parts, " ")})
		}
	}
	if err := driver.Insert(c, "", "profile", kept, (*profileRow).fields); err != nil {
		return err
	}
	used := map[int32]bool{}
	for _, p := range kept {
		used[p.source] = true
	}
	var ids []int32
	var data [][]byte
	for _, src := range b.sources {
		if used[src.id] {
			ids, data = append(ids, src.id), append(data, src.data)
		}
	}
	return c.Append("", "source", len(ids), ids, data)
}

// writeFunctions writes the functions that are new or have new attributes.
func (w *writer) writeFunctions(ctx context.Context, c *driver.Conn) error {
	if w.otherCode {
		if err := countOtherCode(ctx, c); err != nil {
			return err
		}
	}
	var rows []functionRow
	for id := range w.changedFns {
		if int(id) < w.committedFns {
			if err := c.Query(ctx, "DELETE FROM fn WHERE id = ?", []any{id}, nil); err != nil {
				return err
			}
			rows = append(rows, functionRow{id, w.functions[id]})
		}
	}
	for id := w.committedFns; id < len(w.functions); id++ {
		rows = append(rows, functionRow{int32(id), w.functions[id]})
	}
	return driver.Insert(c, "", "fn", rows, (*functionRow).fields)
}

// functionRow is a row of table fn.
type functionRow struct {
	id int32
	profile.Function
}

func (r *functionRow) fields() []any {
	return []any{&r.id, &r.Name, (*uint8)(&r.Kind), &r.Module, &r.File, &r.StartLine, &r.Column, &r.Language, &r.SystemName}
}

// writePaths writes the new paths.
func (w *writer) writePaths(c *driver.Conn) error {
	n := w.paths.Len() - w.committed
	ids, depth := make([]int32, n), make([]int32, n)
	for i := range ids {
		p := int32(w.committed + i)
		ids[i] = p
		switch up := w.paths.Parent[p]; {
		case up == calltree.NoNode:
		case int(up) < w.committed:
			depth[i] = w.depth(up) + 1
		default:
			depth[i] = depth[int(up)-w.committed] + 1
		}
	}
	from := w.committed
	return c.Append("", "call_path", n, ids, w.paths.Parent[from:], w.paths.Item[from:], depth, w.rec[from:])
}

// rawName is a row of table raw_name.
type rawName struct {
	group string
	fn    int32
	name  string
}

func (r *rawName) fields() []any { return []any{&r.group, &r.fn, &r.name} }

// writeRawNames adds the functions of the records and writes an example of a raw name
// for each function and group that has none yet.
func (w *writer) writeRawNames(ctx context.Context, c *driver.Conn, records []stored) error {
	var rows []rawName
	for _, r := range records {
		if len(r.record.Self.Nodes) == 0 || len(r.record.RawNames) == 0 && !r.idle {
			continue
		}
		t := w.translations.Of(r.record.Forest, w)
		t.Paths(r.record.Forest, r.record.Self.Nodes, nil)
		have, err := w.rawNames(ctx, c, r.group)
		if err != nil {
			return err
		}
		for fn, name := range r.record.RawNames {
			id, ok := t.Function(fn)
			if !ok || name == "" || have[id] {
				continue
			}
			have[id] = true
			rows = append(rows, rawName{r.group, id, cut(name, maxRawName)})
		}
	}
	return driver.Insert(c, "", "raw_name", rows, (*rawName).fields)
}

// rawNames returns which functions have an example in a group.
func (w *writer) rawNames(ctx context.Context, c *driver.Conn, group string) (map[int32]bool, error) {
	if have, ok := w.raw[group]; ok {
		return have, nil
	}
	have, fn := map[int32]bool{}, int32(0)
	err := c.Rows(ctx, "SELECT fn FROM raw_name WHERE grp = ?", []any{group}, []any{&fn}, func() error {
		have[fn] = true
		return nil
	})
	if err != nil {
		return nil, err
	}
	if w.raw == nil {
		w.raw = map[string]map[int32]bool{}
	}
	w.raw[group] = have
	return have, nil
}

// cut shortens a text to at most n bytes without splitting a character.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && s[n]&0xC0 == 0x80 {
		n--
	}
	return s[:n] + "…"
}

// removeRows deletes all rows of profiles and the sources that only they have.
func removeRows(ctx context.Context, c *driver.Conn, cat *catalog, entries []*entry) error {
	if len(entries) == 0 {
		return nil
	}
	ids := make([]int32, len(entries))
	rows := false
	gone := map[int32]bool{}
	for i, e := range entries {
		ids[i] = e.id()
		gone[e.id()] = true
		rows = rows || e.slot != noSlot
	}
	sources := map[int32]bool{}
	for _, e := range entries {
		if e.source != noSource {
			sources[e.source] = true
		}
	}
	if len(sources) > 0 {
		for _, e := range cat.profiles {
			if !gone[e.id()] {
				delete(sources, e.source)
			}
		}
	}
	if err := selectIDs(c, ids); err != nil {
		return err
	}
	if rows {
		const sql = "DELETE FROM fn_sample WHERE (bench, slot) IN (SELECT (bench, slot) FROM profile WHERE id IN (SELECT id FROM selected))"
		if err := c.Query(ctx, sql, nil, nil); err != nil {
			return err
		}
	}
	for _, t := range []string{"tree", "tree_mode"} {
		if err := c.Query(ctx, fmt.Sprintf("DELETE FROM %s WHERE profile IN (SELECT id FROM selected)", t), nil, nil); err != nil {
			return err
		}
	}
	if err := c.Query(ctx, "DELETE FROM profile WHERE id IN (SELECT id FROM selected)", nil, nil); err != nil {
		return err
	}
	for id := range sources {
		if err := c.Query(ctx, "DELETE FROM source WHERE id = ?", []any{id}, nil); err != nil {
			return err
		}
	}
	return c.Exec("DELETE FROM selected")
}
