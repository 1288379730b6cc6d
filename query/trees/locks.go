package trees

import (
	"fmt"
	"slices"

	"github.com/dendroprof/dendro/analysis/own"
	"github.com/dendroprof/dendro/internal/words"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/query"
	"github.com/dendroprof/dendro/query/locks"
	"github.com/dendroprof/dendro/query/param"
	"github.com/dendroprof/dendro/table"
)

// LocksResult is who holds the locks of thread dumps and who waits for them, the locks
// with most waiting threads first.
type LocksResult struct {
	Head
	locks.Locks
}

// locks lists the locks of all inputs.
func (s *scope) locks() (*LocksResult, error) {
	if name := s.besideLocks(); name != "" {
		return nil, param.Errorf("locks are those of whole dumps: leave out %s", name)
	}
	all := locks.New()
	list, known := s.list, false
	for i := range list {
		if list[i].viewer == nil {
			return nil, param.Errorf("locks are in thread dumps: give the files, or import them with --keep-source")
		}
		known = all.Add(s.all[i], list[i].viewer, own.Of(s.all[i].Table, s.all[i].Self)) || known || s.all[i].Type.Name == profile.Threads
	}
	if !known {
		return nil, fmt.Errorf("%sits samples do not say who holds a lock, as Java thread dumps do (jstack -l, jcmd PID Thread.print -l); --state lists who waits", list[0].prefix())
	}
	found := all.Locks()
	rows := found.Rows
	found.Rows = words.First(rows, s.r.Rows)
	s.notes = []string{} // of samples without a stack, which are threads like others here
	out := &LocksResult{Head: s.head(s.tree.RootTotal(), query.Omitted{Rows: len(rows) - len(found.Rows)}), Locks: found}
	if slices.ContainsFunc(rows, func(r locks.Row) bool { return r.HeldBy == "" }) {
		out.Notes = append(out.Notes, "dumps do not say who holds some locks: jstack -l PID and jcmd PID Thread.print -l print it of all")
	}
	return out, nil
}

// besideLocks returns the flag that a list of locks has no use for; empty: none is set.
func (s *scope) besideLocks() string {
	f := &s.r.Filter
	for _, flag := range []struct {
		name string
		set  bool
	}{
		{"--thread", len(f.Threads) > 0}, {"--state", len(f.States) > 0}, {"--no-idle", f.NoIdle}, {"--search", f.Search != ""},
		{"--kind", f.Kind != ""}, {"--transform", len(f.Transforms) > 0}, {"--under", f.Under != ""}, {"--invert", f.Invert},
		{"--callers", f.Callers != ""}, {"--callees", f.Callees != ""}, {"--select", f.Select != ""},
	} {
		if flag.set {
			return flag.name
		}
	}
	return ""
}

// Table lists locks, below the deadlocks.
func (r *LocksResult) Table(bool) *table.Table {
	t := r.Locks.Table()
	t.Notes, t.Omitted = r.Notes, r.Omitted.Rows
	return t
}
