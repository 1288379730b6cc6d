package change

import (
	"cmp"
	"slices"

	"github.com/dendroprof/dendro/analysis/regression"
)

// take updates the changes with the findings of the newest run, the surest first. It keeps or confirms
// the suspects that are found again, withdraws the others, and adds new findings as suspects.
func (w *walker) take(found []stated) {
	slices.SortStableFunc(found, func(a, b stated) int {
		return cmp.Or(-cmp.Compare(btoi(a.sure), btoi(b.sure)), -cmp.Compare(max(a.Score, -a.Score), max(b.Score, -b.Score)))
	})
	suspects := w.withdraw()
	var kept []Change
	level := -1
	for i := range found {
		f := &found[i]
		if f.drifts && w.drift(f) || w.known(f) || w.isOf(f, kept) {
			continue
		}
		suspect := suspectOf(suspects, f)
		if suspect != nil && !decides(f, suspect, found) {
			continue
		}
		c := w.newChange(f)
		if suspect != nil {
			c.continues(suspect)
		}
		if f.sure && !f.drifts {
			level = max(level, c.Head[0])
		}
		kept = append(kept, c)
	}
	if level >= 0 {
		w.raise(level)
	}
	w.v.Changes = append(kept, w.v.Changes...)
}

// withdraw removes the suspects from the changes, and returns them.
func (w *walker) withdraw() (suspects []Change) {
	w.v.Changes = slices.DeleteFunc(w.v.Changes, func(c Change) bool {
		if c.State.pending() {
			suspects = append(suspects, c)
		}
		return c.State.pending()
	})
	return suspects
}

// suspectOf returns the suspect that a finding shows again; nil: none.
func suspectOf(suspects []Change, f *stated) *Change {
	at := slices.IndexFunc(suspects, func(c Change) bool { return c.Finding.SameAs(f.Finding) })
	if at < 0 {
		return nil
	}
	return &suspects[at]
}

// decides reports whether a finding says what becomes of a suspect. One of fewer runs does not, unless
// it is sure, if there is one of all runs since the suspect's onset.
func decides(f *stated, suspect *Change, found []stated) bool {
	first := suspect.Head[0]
	return f.sure || f.first <= first || !slices.ContainsFunc(found, func(g stated) bool { return g.first <= first && g.SameAs(f.Finding) })
}

// continues makes a change the one that a suspect was: first stated by it.
func (c *Change) continues(suspect *Change) {
	c.Seen, c.Finding.ID = suspect.Seen, suspect.Finding.ID
	c.ID = idOf(&c.Finding, c.Onset.Run.Run)
}

// isOf reports whether a finding is of one of the changes that this step has stated.
func (w *walker) isOf(f *stated, kept []Change) bool {
	return slices.ContainsFunc(kept, func(c Change) bool { return w.related(&c.Finding, &f.Finding) })
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// known reports whether a finding is of an open change, or of one that this step ends: seen against
// the level before it, or its end.
func (w *walker) known(f *stated) bool {
	for i := range w.v.Changes {
		c := &w.v.Changes[i]
		back, over := w.over[c.ID]
		if c.State != Confirmed && !over {
			continue
		}
		g := f.Finding
		if g.Kind = c.Finding.Kind; c.Costs() && !f.Kind.Costs() && (g.SameAs(c.Finding) || c.Finding.Function == "") {
			return true
		}
		if (f.old || over) && (!over || f.first < back) && w.related(&f.Finding, &c.Finding) {
			return true
		}
	}
	return false
}

// related reports whether two findings of the same runs are one change: the same one, or one on the
// call path of the other.
func (w *walker) related(f, g *regression.Finding) bool {
	if f.SameAs(*g) || w.series.Type.Momentary() {
		return true
	}
	return f.Kind.Costs() == g.Kind.Costs() && (calls(f, g) || calls(g, f))
}

// calls reports whether the place of f is on a path to g.
func calls(f, g *regression.Finding) bool {
	return slices.ContainsFunc(g.Paths, func(p regression.Path) bool { return slices.Contains(p.Path, f.Function) })
}

// newChange returns the change of a finding, with its onset.
func (w *walker) newChange(f *stated) Change {
	first := w.onset(f)
	c := Change{State: f.state(), Drifts: f.sure && f.drifts, Finding: f.Finding, Rows: f.Rows, Program: f.program, Seen: w.v.Newest}
	c.Onset.Run = runOf(&w.series.Profiles[first].Run)
	for _, run := range w.v.Walk.Level {
		if run >= first {
			c.Head = append(c.Head, run)
		}
	}
	c.Base, _ = w.base(first)
	if len(c.Base) > 0 {
		last := c.Base[len(c.Base)-1]
		for _, run := range w.v.Walk.Level {
			if run < first {
				last = run
			}
		}
		c.Onset.LastGood = new(runOf(&w.series.Profiles[last].Run))
	}
	c.Runs = len(c.Head)
	c.ID = idOf(&c.Finding, c.Onset.Run.Run)
	c.explain()
	return c
}

// state is that of the change of a finding.
func (f *stated) state() State {
	switch {
	case f.sure:
		return Confirmed
	case f.weather:
		return Passing
	}
	return Suspect
}

// raise begins a new level with a run: no run of it is of the changes before, whose runs they
// were as long as the new change was a suspect.
func (w *walker) raise(first int) {
	for i := range w.v.Changes {
		if c := &w.v.Changes[i]; c.State == Confirmed && !c.Drifts && c.Head[0] < first {
			c.Head = slices.DeleteFunc(c.Head, func(run int) bool { return run >= first })
		}
	}
	walk := &w.v.Walk
	old, _ := w.base(first)
	walk.Level = slices.DeleteFunc(walk.Level, func(run int) bool { return run < first })
	walk.Old = old
}

// explain sets what the change explains of the benchmark's.
func (c *Change) explain() {
	c.Explains = 0
	if p := c.Program; p != nil && p.Value != 0 && (p.Low == p.High || p.Low > 0 || p.High < 0) {
		c.Explains = c.Finding.Delta.Share / p.Value
	}
}
