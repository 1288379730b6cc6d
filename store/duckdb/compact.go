package duckdb

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/internal/bitset"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/traceprof"
)

// Compact implements store.Writer. It writes everything that a profile needs to
// a new file beside the old one, paths and functions numbered densely and the
// rows of functions ordered by benchmark, function and profile, and then renames
// it: whenever the process dies, one of the two is whole and has the name.
func (s *Store) Compact(ctx context.Context) error {
	if err := s.enter(ctx); err != nil {
		return err
	}
	err := s.writable()
	s.leave()
	if err != nil {
		return err
	}
	next := s.path + ".compact"
	removeDatabase(next)
	defer removeDatabase(next)
	return s.external(func(c *conn) error {
		return s.rewrite(ctx, c, next)
	}, func() error { return replaceDatabase(s.path, next) })
}

// external runs f on an instance that may touch other files, which the store's
// own must not, and done between closing that instance and opening the usual
// one. The store belongs to it alone meanwhile.
func (s *Store) external(f func(c *conn) error, done func() error) error {
	return s.exclusive(func() error {
		s.closeInstance()
		in, err := openInstance(s.path, s.opts.ReadOnly, true, s.opts)
		if err == nil {
			s.in = in
			err = s.with(func(c *conn) error {
				if err := registerDecoders(c, s.self); err != nil {
					return err
				}
				return f(c)
			})
			in.close()
		}
		if err == nil && done != nil {
			err = done()
		}
		if again := s.reopen(); again != nil {
			return again
		}
		return translate(s.path, err)
	})
}

// quoted returns a text as a literal of SQL.
func quoted(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }

// rewrite fills the database next.
func (s *Store) rewrite(ctx context.Context, c *conn, next string) error {
	v, err := s.dict.reader(c)
	if err != nil {
		return err
	}
	r := &rewriter{ctx: ctx, c: c, v: v, stacks: &s.traces.stacks}
	for _, p := range s.cat.all() {
		r.profiles = append(r.profiles, int32(p.Seq))
	}
	slices.Sort(r.profiles)
	if err := r.number(); err != nil {
		return err
	}
	if err := c.exec("ATTACH " + quoted(next) + " AS " + freshSQL); err != nil {
		return err
	}
	if err := createTables(c, freshSQL+"."); err != nil {
		return err
	}
	for _, step := range []func() error{r.copyTables, r.writeFunctions, r.writePaths, r.copyByFunction, r.writeTrees, r.writeSnapshots} {
		if err := step(); err != nil {
			return err
		}
	}
	c.dropAppenders() // they hold on to the attached database
	if err := c.exec("CHECKPOINT " + freshSQL); err != nil {
		return err
	}
	return c.exec("DETACH " + freshSQL)
}

// fresh is the name under which the new file is attached. DuckDB calls the store
// itself by its file's name up to the first dot, so the two are never the same.
const (
	fresh    = "fresh.copy"
	freshSQL = `"` + fresh + `"`
)

// rewriter copies a store into the attached database.
type rewriter struct {
	ctx      context.Context
	c        *conn
	v        *view
	stacks   *stackCache
	profiles []int32 // ids, ascending

	path, fn           []int32 // new ids; -1: not used
	oldPaths, oldFuncs []int32 // by new id
}

// eachBlob calls f with all rows of a table of blobs, in order.
func (r *rewriter) eachBlob(table, columns string, f func(ch chunk) error) error {
	for part := range slices.Chunk(r.profiles, 256) {
		sql := fmt.Sprintf("SELECT profile, paths%s FROM %s WHERE profile BETWEEN %d AND %d ORDER BY profile", columns, table, part[0], part[len(part)-1])
		if err := r.c.query(r.ctx, sql, nil, f); err != nil {
			return err
		}
	}
	return nil
}

// number gives new ids to the paths and functions in use. The order of paths stays,
// so that vectors stay ascending and parents before children.
func (r *rewriter) number() error {
	used := newMarks(len(r.v.rec))
	bufs := make([]calltree.Vector, processors) // by worker
	for _, table := range []string{"tree", "tree_mode"} {
		err := r.eachBlob(table, "", func(ch chunk) error {
			col := column[text](ch, 1)
			return spread(len(col), perWorker, func(w, i int) (err error) {
				bufs[w], err = decodeVector(col[i].bytes(), len(r.v.rec), bufs[w])
				used.add(w, bufs[w])
				return err
			})
		})
		if err != nil {
			return err
		}
	}
	paths, functions := used.all(), bitset.New(len(r.v.functions))
	parent, item := r.v.forest.Paths.Parent, r.v.forest.Paths.Item
	for p := int32(len(parent)) - 1; p >= 0; p-- { // parents are before their children
		if paths.Has(p) {
			functions.Add(item[p])
			if parent[p] != calltree.NoNode {
				paths.Add(parent[p])
			}
		}
	}
	r.path, r.oldPaths = renumber(paths, len(parent))
	r.fn, r.oldFuncs = renumber(functions, len(r.v.functions))
	return r.sortFunctions()
}

// sortFunctions numbers functions by their largest total, so that values of one
// magnitude lie together in fn_sample: there they take the bits of the largest one
// among thousands of neighbours, and most are small.
func (r *rewriter) sortFunctions() error {
	largest := make([]int64, len(r.fn)) // by old id
	err := r.c.query(r.ctx, "SELECT fn, max(abs(total)) FROM fn_sample GROUP BY fn", nil, func(ch chunk) error {
		totals := column[int64](ch, 1)
		for i, fn := range column[int32](ch, 0) {
			if uint(fn) < uint(len(largest)) {
				largest[fn] = totals[i]
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	slices.SortStableFunc(r.oldFuncs, func(a, b int32) int { return cmp.Compare(largest[b], largest[a]) })
	for id, old := range r.oldFuncs {
		r.fn[old] = int32(id)
	}
	return nil
}

// renumber counts the things in use among n.
func renumber(used bitset.Set, n int) (newID, old []int32) {
	newID, old = make([]int32, n), used.Members()
	for id := range newID {
		newID[id] = -1
	}
	for id, was := range old {
		newID[was] = int32(id)
	}
	return newID, old
}

func (r *rewriter) copyTables() error {
	return r.c.exec(strings.ReplaceAll(`DELETE FROM fresh.meta; INSERT INTO fresh.meta SELECT * FROM meta;
		INSERT INTO fresh.benchmark SELECT * FROM benchmark ORDER BY id;
		INSERT INTO fresh.run SELECT * FROM run ORDER BY id;
		INSERT INTO fresh.metric SELECT * FROM metric ORDER BY bench, run, name;
		INSERT INTO fresh.profile SELECT * FROM profile ORDER BY id;
		INSERT INTO fresh.source SELECT * FROM source ORDER BY id;
		INSERT INTO fresh.task SELECT * FROM task ORDER BY created, id;
		INSERT INTO fresh.task_log SELECT * FROM task_log ORDER BY task, time;
		INSERT INTO fresh.instance SELECT * FROM instance ORDER BY service, name;
		INSERT INTO fresh.segment SELECT * FROM segment;`, "fresh", freshSQL))
}

func (r *rewriter) writeFunctions() error {
	ids := make([]int32, len(r.oldFuncs))
	for i := range ids {
		ids[i] = int32(i)
	}
	return appendFunctions(r.c, fresh, r.oldFuncs, func(id int32) *profile.Function { return &r.v.functions[id] }, ids)
}

func (r *rewriter) writePaths() error {
	n := len(r.oldPaths)
	cols := make([][]int32, 6)
	for i := range cols {
		cols[i] = make([]int32, n)
	}
	id, parent, fn, depth, rec, recd := cols[0], cols[1], cols[2], cols[3], cols[4], cols[5]
	of := func(old int32) int32 {
		if old == calltree.NoNode {
			return old
		}
		return r.path[old]
	}
	for i, old := range r.oldPaths {
		id[i], parent[i], rec[i] = int32(i), of(r.v.forest.Paths.Parent[old]), of(r.v.rec[old])
		fn[i] = r.fn[r.v.forest.Paths.Item[old]]
		if parent[i] >= 0 {
			depth[i] = depth[parent[i]] + 1
		}
		if rec[i] >= 0 {
			recd[i] = depth[i] - depth[rec[i]]
		}
	}
	return r.c.appendTo(fresh, "call_path", n, id, parent, fn, depth, rec, recd)
}

// copyByFunction copies what refers to functions, with their new ids.
func (r *rewriter) copyByFunction() error {
	if err := r.c.exec("CREATE TEMP TABLE renumbered(old INTEGER, new INTEGER)"); err != nil {
		return err
	}
	ids := make([]int32, len(r.oldFuncs))
	for i := range ids {
		ids[i] = int32(i)
	}
	if err := r.c.appendTo("temp", "renumbered", len(ids), r.oldFuncs, ids); err != nil {
		return err
	}
	for _, sql := range []string{
		`INSERT INTO ` + freshSQL + `.fn_sample SELECT bench, profile, new AS fn, self, total FROM fn_sample JOIN renumbered ON old = fn ORDER BY bench, new, profile`,
		`INSERT INTO ` + freshSQL + `.raw_name SELECT grp, new, name FROM raw_name JOIN renumbered ON old = fn ORDER BY grp, new`,
	} {
		if err := r.c.query(r.ctx, sql, nil, nil); err != nil {
			return err
		}
	}
	return nil
}

// writeTrees writes the vectors over the new numbers.
func (r *rewriter) writeTrees() error {
	bufs := make([]calltree.Vector, processors) // by worker
	encoders := make([]vectorEncoder, processors)
	var ids []int32
	var list [][]byte
	fill := func(ch chunk) error {
		col := column[text](ch, 1)
		ids, list = slices.Clone(column[int32](ch, 0)), grown(list, len(col))
		return spread(len(col), perWorker, func(w, i int) (err error) {
			if bufs[w], err = decodeVector(col[i].bytes(), len(r.path), bufs[w]); err != nil {
				return err
			}
			for k, p := range bufs[w].Nodes {
				bufs[w].Nodes[k] = r.path[p]
			}
			list[i] = encoders[w].encode(bufs[w].Nodes, bufs[w].Self)
			return nil
		})
	}
	err := r.eachBlob("tree", "", func(ch chunk) error {
		if err := fill(ch); err != nil {
			return err
		}
		return r.c.appendTo(fresh, "tree", len(ids), ids, list)
	})
	if err != nil {
		return err
	}
	return r.eachBlob("tree_mode", ", mode", func(ch chunk) error {
		if err := fill(ch); err != nil {
			return err
		}
		return r.c.appendTo(fresh, "tree_mode", len(ids), ids, slices.Clone(column[uint8](ch, 2)), list)
	})
}

// writeSnapshots writes one row for each segment that was sampled, in place of
// the many in which it came, and one dictionary for each task.
func (r *rewriter) writeSnapshots() error {
	list, err := r.c.sampledSegments(r.ctx, traceprof.SnapshotQuery{})
	if err != nil {
		return err
	}
	task, next := int32(-1), int64(0)
	var stacks *taskStacks
	for len(list) > 0 {
		if stacks == nil || stacks.task != list[0].task {
			task++
			stacks = newTaskStacks(task, list[0].task)
		}
		n := readTogether(list)
		values, err := r.c.readSegments(r.ctx, r.stacks, list[:n])
		if err != nil {
			return err
		}
		rows := snapshotRows{next: next}
		for i := range values {
			values[i].Path = stacks.translate(&values[i])
			rows.add(task, &values[i])
		}
		var added newStacks
		stacks.write(&added)
		stacks.committed()
		if err := added.append(r.c, fresh); err != nil {
			return err
		}
		if err := rows.append(r.c, fresh); err != nil {
			return err
		}
		next, list = rows.next, list[n:]
	}
	return nil
}
