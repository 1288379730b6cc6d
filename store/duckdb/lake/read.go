package lake

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/internal/column"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/store/duckdb/internal/driver"
	"github.com/dendroprof/dendro/store/iceberg"
)

// FunctionNames implements store.Reader.
func (s *Store) FunctionNames(ctx context.Context) (list []profile.Function, err error) {
	v, err := s.view(ctx, store.Query{})
	if err != nil || len(v.profiles) == 0 {
		return nil, err
	}
	err = s.use(func(c *driver.Conn) error {
		functions, err := v.functions(ctx, c)
		list = slices.SortedFunc(maps.Values(functions), func(a, b profile.Function) int { return strings.Compare(a.Name, b.Name) })
		return err
	})
	return list, err
}

// RawNames implements store.Reader.
func (s *Store) RawNames(ctx context.Context, group string, names []string) (map[string]string, error) {
	v, err := s.view(ctx, store.Query{})
	if err != nil || len(v.profiles) == 0 || len(names) == 0 {
		return nil, err
	}
	from, err := v.from(ctx, "functions", v.profiles)
	if err != nil {
		return nil, err
	}
	quoted := column.Of(names, driver.Quote)
	all, name, raw := map[string]string{}, "", ""
	sql := "SELECT name, arg_max(raw_name, (grp = ?, raw_name)) FROM " + from + " AND raw_name <> '' AND name IN (" +
		strings.Join(quoted, ", ") + ") GROUP BY name"
	err = s.use(func(c *driver.Conn) error {
		return c.Rows(ctx, sql, []any{group}, []any{&name, &raw}, func() error {
			all[name] = raw
			return nil
		})
	})
	return all, err
}

// Functions implements store.Reader. The set may list functions without a row.
func (s *Store) Functions(ctx context.Context, q store.Query, names []string) (*store.FunctionSet, error) {
	v, err := s.view(ctx, q)
	if err != nil {
		return nil, err
	}
	set := &store.FunctionSet{Profiles: v.profiles, Rows: func(func(store.FunctionRows, error) bool) {}}
	if len(v.profiles) == 0 {
		return set, nil
	}
	var functions map[int64]profile.Function
	if err := s.use(func(c *driver.Conn) error { functions, err = v.functions(ctx, c); return err }); err != nil {
		return nil, err
	}
	var ids []int64
	for id, fn := range functions {
		if names == nil || slices.Contains(names, fn.Name) {
			ids = append(ids, id)
		}
	}
	slices.SortFunc(ids, func(a, b int64) int { return strings.Compare(functions[a].Name, functions[b].Name) })
	place := make(map[int64]int32, len(ids))
	for i, id := range ids {
		place[id] = int32(i)
		set.Functions = append(set.Functions, functions[id])
	}
	if len(ids) == 0 {
		return set, nil
	}
	condition := ""
	if names != nil {
		condition = " AND function IN (" + strings.Trim(strings.ReplaceAll(fmt.Sprint(ids), " ", ", "), "[]") + ")"
	}
	set.Rows = v.functionRows(ctx, place, condition)
	return set, nil
}

// functionRows streams the rows of the profiles that meet a condition. Place are the
// places of functions in the set.
func (v *view) functionRows(ctx context.Context, place map[int64]int32, condition string) iter.Seq2[store.FunctionRows, error] {
	return func(yield func(store.FunctionRows, error) bool) {
		index := indexOf(v.profiles)
		for _, part := range batchesOfFiles(v.profiles) {
			var rows store.FunctionRows
			err := v.s.use(func(c *driver.Conn) error {
				from, err := v.samplesOf(ctx, "function_samples", part)
				if err != nil {
					return err
				}
				return c.Query(ctx, "SELECT profile, function, self, total FROM "+from+condition, nil, func(ch driver.Chunk) error {
					at := index.of(ch)
					self, total := driver.Column[int64](ch, 2), driver.Column[int64](ch, 3)
					for i, fn := range driver.Column[int64](ch, 1) {
						n, known := place[fn]
						if !known {
							return fmt.Errorf("%w: table functions has no function %d", store.ErrCorrupt, fn)
						}
						rows.Profile, rows.Function = append(rows.Profile, at(i)), append(rows.Function, n)
						rows.Self, rows.Total = append(rows.Self, self[i]), append(rows.Total, total[i])
					}
					return nil
				})
			})
			if err != nil {
				yield(store.FunctionRows{}, err)
				return
			}
			if len(rows.Profile) > 0 && !yield(rows, nil) {
				return
			}
		}
	}
}

// SumFunctions adds up functions and their shares.
func (s *Store) SumFunctions(ctx context.Context, q store.Query) (*store.FunctionSums, error) {
	v, err := s.view(ctx, q)
	if err != nil {
		return nil, err
	}
	sums := &store.FunctionSums{Profiles: v.profiles}
	if len(v.profiles) == 0 {
		return sums, nil
	}
	functions, rows := map[int64]profile.Function{}, map[int64]store.FunctionSum{}
	err = s.use(func(c *driver.Conn) error {
		if functions, err = v.functions(ctx, c); err != nil {
			return err
		}
		samples, err := v.samplesOf(ctx, "function_samples", v.profiles)
		if err != nil {
			return err
		}
		profiles, err := v.from(ctx, "profiles", v.profiles)
		if err != nil {
			return err
		}
		sql := "SELECT function, count(*), sum(self)::BIGINT, sum(total)::BIGINT, sum(self * share), sum(total * share) FROM (FROM " + samples +
			") JOIN (SELECT profile, if(sum > 0, 1 / sum, 0) AS share FROM " + profiles + ") USING (profile) GROUP BY function"
		var id int64
		var sum store.FunctionSum
		return c.Rows(ctx, sql, nil, []any{&id, &sum.Profiles, &sum.Self, &sum.Total, &sum.SelfShare, &sum.TotalShare}, func() error {
			if _, known := functions[id]; !known {
				return fmt.Errorf("%w: table functions has no function %d", store.ErrCorrupt, id)
			}
			rows[id] = sum
			return nil
		})
	})
	if err != nil {
		return nil, err
	}
	ids := slices.SortedFunc(maps.Keys(rows), func(a, b int64) int { return strings.Compare(functions[a].Name, functions[b].Name) })
	for i, id := range ids {
		r := rows[id]
		r.Function = int32(i)
		sums.Functions, sums.Rows = append(sums.Functions, functions[id]), append(sums.Rows, r)
	}
	return sums, nil
}

// places are the places of profiles in a list.
type places map[store.ProfileID]int32

func indexOf(list []store.Profile) places {
	index := make(places, len(list))
	for i := range list {
		index[list[i].ID] = int32(i)
	}
	return index
}

// of returns the place of the profile in each row, whose id is the first column. Rows of
// a profile mostly follow each other.
func (p places) of(ch driver.Chunk) func(row int) int32 {
	ids := driver.Column[driver.Text](ch, 0)
	last, at := "", int32(0)
	return func(row int) int32 {
		if id := ids[row].Bytes(); string(id) != last {
			last = string(id)
			at = p[store.ProfileID(last)]
		}
		return at
	}
}

// forest is the call paths of a selection.
type forest struct {
	calltree.Forest
	paths map[iceberg.PathID]int32
	used  []int32         // paths with a value
	sums  calltree.Vector // of the self values
}

// forest reads the call paths of the profiles, and adds up the rows that meet a condition.
func (v *view) forest(ctx context.Context, c *driver.Conn, condition string) (*forest, error) {
	f := &forest{paths: map[iceberg.PathID]int32{}}
	functions, err := v.functions(ctx, c)
	if err != nil {
		return nil, err
	}
	from, err := v.from(ctx, "paths", v.profiles)
	if err != nil {
		return nil, err
	}
	if err := f.read(ctx, c, from, functions); err != nil {
		return nil, err
	}
	samples, err := v.samplesOf(ctx, "path_samples", v.profiles)
	if err != nil {
		return nil, err
	}
	return f, f.use(ctx, c, "SELECT path, sum(self)::BIGINT FROM "+samples+" AND ("+condition+") GROUP BY path")
}

// use marks the paths in the first column of a statement as used. The second one has their sums.
func (f *forest) use(ctx context.Context, c *driver.Conn, sql string) error {
	return c.Query(ctx, sql, nil, func(ch driver.Chunk) error {
		self := driver.Column[int64](ch, 1)
		for i, id := range driver.Column[driver.Text](ch, 0) {
			path, known := f.paths[iceberg.PathID(id.Bytes())]
			if !known {
				return fmt.Errorf("%w: table paths has no path %x", store.ErrCorrupt, id.Bytes())
			}
			if f.used = append(f.used, path); self[i] != 0 {
				f.sums.Nodes, f.sums.Self = append(f.sums.Nodes, path), append(f.sums.Self, self[i])
			}
		}
		return nil
	})
}

// tree returns the sum of the rows.
func (f *forest) tree(typ profile.ValueType) *calltree.Tree {
	cut := f.Cut(f.used)
	return calltree.NewTree(cut.Table, typ, cut.Self(f.sums))
}

// read adds the call paths of rows that SQL selects, parents before children.
func (f *forest) read(ctx context.Context, c *driver.Conn, from string, functions map[int64]profile.Function) error {
	ids := map[int64]int32{}
	sql := "SELECT path, any_value(parent), any_value(function), any_value(depth) AS depth FROM " + from + " GROUP BY path ORDER BY depth"
	return c.Query(ctx, sql, nil, func(ch driver.Chunk) error {
		path, parent, below := driver.Column[driver.Text](ch, 0), driver.Column[driver.Text](ch, 1), ch.Valid(1)
		for i, fn := range driver.Column[int64](ch, 2) {
			id, known := ids[fn]
			if !known {
				function, ok := functions[fn]
				if !ok {
					return fmt.Errorf("%w: table functions has no function %d", store.ErrCorrupt, fn)
				}
				id = f.Function(function)
				ids[fn] = id
			}
			up := calltree.NoNode
			if below.At(i) {
				if up, known = f.paths[iceberg.PathID(parent[i].Bytes())]; !known {
					return fmt.Errorf("%w: table paths has no parent %x", store.ErrCorrupt, parent[i].Bytes())
				}
			}
			f.paths[iceberg.PathID(path[i].Bytes())] = f.Path(up, id)
		}
		return nil
	})
}

// Conditions of rows of path_samples that have a value.
const (
	hasSelf  = "self <> 0"
	hasModes = hasSelf + " OR coalesce(cardinality(modes), 0) > 0"
)

// Trees implements store.Reader.
func (s *Store) Trees(ctx context.Context, q store.Query, opts store.TreeOptions) (*store.TreeSet, error) {
	v, err := s.view(ctx, q)
	if err != nil {
		return nil, err
	}
	condition, f := hasSelf, &forest{}
	if opts.Modes {
		condition = hasModes
	}
	if len(v.profiles) > 0 {
		err = s.use(func(c *driver.Conn) error {
			f, err = v.forest(ctx, c, condition)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	cut := f.Cut(f.used)
	return &store.TreeSet{Profiles: v.profiles, Table: cut.Table, Vectors: v.vectors(ctx, f, cut, condition)}, nil
}

// vectors streams the values of the profiles that meet a condition, and their modes.
func (v *view) vectors(ctx context.Context, f *forest, cut *calltree.Cut, condition string) iter.Seq2[store.TreeVector, error] {
	modes := "NULL"
	if condition == hasModes {
		modes = "modes::MAP(VARCHAR, VARCHAR)"
	}
	return func(yield func(store.TreeVector, error) bool) {
		done := 0
		for _, part := range batches(v.profiles) {
			if len(part) == 0 {
				return
			}
			list := make([]store.TreeVector, len(part))
			index := indexOf(part)
			err := v.s.use(func(c *driver.Conn) error {
				from, err := v.samplesOf(ctx, "path_samples", part)
				if err != nil {
					return err
				}
				return c.Query(ctx, "SELECT profile, path, self, "+modes+" FROM "+from+" AND ("+condition+")", nil, func(ch driver.Chunk) error {
					at, self := index.of(ch), driver.Column[int64](ch, 2)
					var parts []map[string]string
					if condition == hasModes {
						parts = ch.TextMaps(3)
					}
					paths := driver.Column[driver.Text](ch, 1)
					for i := range self {
						path, known := f.paths[iceberg.PathID(paths[i].Bytes())]
						if !known {
							return fmt.Errorf("%w: table paths has no path %x", store.ErrCorrupt, paths[i].Bytes())
						}
						node, _ := cut.Node(path)
						t := &list[at(i)]
						if self[i] != 0 {
							t.Nodes, t.Self = append(t.Nodes, node), append(t.Self, self[i])
						}
						if parts != nil {
							if err := addModes(t, node, parts[i]); err != nil {
								return err
							}
						}
					}
					return nil
				})
			})
			if err != nil {
				yield(store.TreeVector{}, err)
				return
			}
			for i := range list {
				list[i].Profile = done + i
				if err := ctx.Err(); err != nil {
					yield(store.TreeVector{}, err)
					return
				}
				if !yield(list[i], nil) {
					return
				}
			}
			done += len(part)
		}
	}
}

// addModes adds the values of a node in compile modes.
func addModes(t *store.TreeVector, node int32, values map[string]string) error {
	for name, text := range values {
		mode := profile.FrameType(0)
		for mode < profile.FrameTypes && mode.String() != name {
			mode++
		}
		value, err := strconv.ParseInt(text, 10, 64)
		if err != nil || mode == profile.FrameTypes {
			return fmt.Errorf("%w: mode %q with value %q", store.ErrCorrupt, name, text)
		}
		at := slices.IndexFunc(t.Modes, func(m store.ModeVector) bool { return m.Mode == mode })
		if at < 0 {
			at, t.Modes = len(t.Modes), append(t.Modes, store.ModeVector{Mode: mode})
		}
		m := &t.Modes[at]
		m.Nodes, m.Self = append(m.Nodes, node), append(m.Self, value)
	}
	return nil
}

// MergeTrees adds up trees.
func (s *Store) MergeTrees(ctx context.Context, q store.Query) (*calltree.Tree, []store.Profile, error) {
	v, err := s.view(ctx, q)
	if err == nil {
		err = store.Addable(v.profiles, q)
	}
	if err != nil {
		return nil, nil, err
	}
	var f *forest
	err = s.use(func(c *driver.Conn) error {
		f, err = v.forest(ctx, c, hasSelf)
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	return f.tree(store.SumType(v.profiles)), v.profiles, nil
}
