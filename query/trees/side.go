package trees

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/query"
	"github.com/dendroprof/dendro/query/param"
	"github.com/dendroprof/dendro/query/sides"
	"github.com/dendroprof/dendro/store"
)

// Named names the two sides of a diff, as check, report and regressions do.
type Named struct {
	Base []string `param:"base" arg:"what" help:"base side: a branch (up to the merge base), commit or run of the store, or key=value; or files, then repeatable" json:"base,omitempty"`
	Head []string `param:"head" arg:"what" help:"head side, named like --base (default: the commit that is checked out, otherwise the newest run that is not in the base)" json:"head,omitempty"`
}

func (n *Named) chosen() bool { return len(n.Base)+len(n.Head) > 0 }

// name returns the one name of a side of the store; empty: none.
func name(flag string, names []string) (string, error) {
	switch len(names) {
	case 0:
		return "", nil
	case 1:
		return names[0], nil
	}
	return "", param.Errorf("%s %s: give one branch, commit or run, or conditions in one text: branch=main,machine=m", flag, strings.Join(names, " "))
}

// named finds the runs of both sides by their names.
func (r *DiffRequest) named(ctx context.Context, st store.Reader, v *viewer, q store.Query) (queries [2]store.Query, err error) {
	c := sides.Chooser{Facts: &r.Facts, Alone: true}
	if c.Base, err = name("--base", r.Sides.Base); err == nil {
		c.Head, err = name("--head", r.Sides.Head)
	}
	switch {
	case err != nil:
		return queries, err
	case c.Base == "":
		return queries, param.Errorf("--head needs --base, the side to compare with")
	case r.Base.chosen() || r.Head.chosen():
		return queries, param.Errorf("the sides are named twice: give --base and --head, or --base-run, --head-run, …")
	}
	last := q.Last
	q.Last = 0
	list, err := st.Profiles(ctx, q)
	if err != nil {
		return queries, err
	}
	if len(list) == 0 {
		return queries, store.OneType(nil, q)
	}
	s, err := c.Choose(ctx, list, last)
	if err := r.Unmet(err); err != nil {
		return queries, err
	}
	v.tell(s.Notes)
	v.note("base: %s; head: %s", s.BaseText, s.HeadText)
	if len(s.Base) == 0 {
		return queries, fmt.Errorf("--base %s: %w", c.Base, store.ErrNothing)
	}
	return [2]store.Query{{Profiles: store.IDs(s.Base), Types: q.Types}, {Profiles: store.IDs(s.Head), Types: q.Types}}, nil
}

// Side chooses one side of a diff from the selection.
type Side struct {
	Runs     []string  `param:"run" arg:"key" help:"runs of this side, exact or glob; repeatable" json:"run,omitempty"`
	Commits  []string  `param:"commit" arg:"hash" help:"commits of this side; repeatable" json:"commit,omitempty"`
	Branches []string  `param:"branch" arg:"name" help:"branches of this side; repeatable" json:"branch,omitempty"`
	Since    time.Time `param:"since" arg:"date" help:"this side: runs from this date on (RFC 3339, 2026-11-21, Monday, or an age: 30d, 12h)" json:"since,omitzero"`
	Until    time.Time `param:"until" arg:"date" help:"this side: runs before this date" json:"until,omitzero"`
	Range    string    `param:"range" arg:"START..END" help:"this side: keep samples of this range, in milliseconds since the first sample, END excluded" json:"range,omitempty"`
	Type     string    `param:"type" arg:"name" help:"value type of this side, to compare two: cpu with wall shows what waits" json:"type,omitempty"`
	Labels   string    `param:"labels" arg:"{name=\"value\"}" help:"with --service or --labels: pushed profiles of this side" json:"labels,omitempty"`
	Work     float64   `param:"work" arg:"n" min:"0" help:"for --by work: amount of work of this side: requests, iterations, …" json:"work,omitempty"`
}

func (s *Side) chosen() bool {
	return len(s.Runs)+len(s.Commits)+len(s.Branches) > 0 || !s.Since.IsZero() || !s.Until.IsZero() || s.Range != "" || s.Labels != ""
}

// narrow returns the query of the side.
func (s *Side) narrow(q store.Query) store.Query {
	for _, x := range []struct{ own, of *[]string }{{&s.Runs, &q.Runs}, {&s.Commits, &q.Commits}, {&s.Branches, &q.Branches}} {
		if len(*x.own) > 0 {
			*x.of = *x.own
		}
	}
	if !s.Since.IsZero() {
		q.Since = s.Since
	}
	if !s.Until.IsZero() {
		q.Until = s.Until
	}
	return s.typed(q)
}

// typed returns the query in the value type of the side.
func (s *Side) typed(q store.Query) store.Query {
	if s.Type != "" {
		q.Types = []string{s.Type}
	}
	return q
}

// twoTypes reports whether a side names its value type.
func (r *DiffRequest) twoTypes() bool { return r.Base.Type != "" || r.Head.Type != "" }

// inputs reports whether a side is not of the store.
func (r *DiffRequest) inputs() bool { return len(r.Inputs[0])+len(r.Inputs[1]) > 0 }

// OfStore reports whether the request chooses a part of the store.
func (r *DiffRequest) OfStore() bool {
	q := &r.Selection
	for _, s := range []*Side{&r.Base, &r.Head} {
		if len(s.Runs)+len(s.Commits)+len(s.Branches) > 0 || !s.Since.IsZero() || !s.Until.IsZero() {
			return true
		}
	}
	return r.Sides.chosen() || len(q.Groups)+len(q.Benchmarks)+len(q.Params)+len(q.Runs)+len(q.Commits)+len(q.Branches)+len(q.Profiles) > 0
}

// side is what the request says of one side. That of pushed profiles is a run of one type.
func (r *DiffRequest) side(i int) *Side {
	s := [2]*Side{&r.Base, &r.Head}[i]
	if r.only == nil {
		return s
	}
	own := *s
	own.Type = ""
	return &own
}

// read returns both sides, and the viewer of the request.
func (r *DiffRequest) read(ctx context.Context, st store.Store, view string) (v *viewer, both [2][]Input, err error) {
	if v, err = newViewer(ctx, &r.Filter, query.TypeOf(&r.Selection)); err != nil {
		return v, both, err
	}
	if r.inputs() && r.Against == "" {
		both = r.Inputs
		for i := range both {
			if len(both[i]) == 0 {
				both[i], err = r.beside(ctx, st, v, i, view)
			}
		}
		return v, both, err
	}
	both, err = r.sides(ctx, st, v, view)
	return v, both, err
}

// eachSide reads both sides, and calls f with what the filter selects of each.
func (r *DiffRequest) eachSide(ctx context.Context, st store.Store, view string,
	f func(i int, v *viewer, list []Input) error) (v *viewer, both [2][]Input, err error) {
	if v, both, err = r.read(ctx, st, view); err == nil {
		err = v.checkStates(slices.Concat(both[0], both[1]))
	}
	for i := 0; i < len(both) && err == nil; i++ {
		if both[i], err = v.selected(both[i]); err == nil {
			err = v.onSide(r.side(i), func() error { return f(i, v, both[i]) })
		}
	}
	return v, both, err
}

// sides reads what is compared from the store.
func (r *DiffRequest) sides(ctx context.Context, st store.Store, v *viewer, view string) (both [2][]Input, err error) {
	if r.Against != "" {
		return r.bandSides(ctx, st, v)
	}
	queries, err := r.queries(ctx, st, v)
	for i := 0; i < len(both) && err == nil; i++ {
		both[i], err = r.readSide(ctx, st, v, i, queries[i], view)
	}
	return both, err
}

// readSide reads one side from the store.
func (r *DiffRequest) readSide(ctx context.Context, st store.Store, v *viewer, i int, q store.Query, view string) (side []Input,
	err error) {
	read := &reading{Average: r.Average, rawNames: r.RawNames, limits: r.Limits, viewer: v}
	err = v.onSide(r.side(i), func() (err error) {
		side, err = read.ofStore(ctx, st, q, view)
		return err
	})
	if err != nil {
		err = fmt.Errorf("%s: %w", sideName(i), err)
	}
	return side, err
}

// beside reads the side of the store that is compared with a file: the selection, narrowed by
// what the request says of that side.
func (r *DiffRequest) beside(ctx context.Context, st store.Store, v *viewer, i int, view string) (side []Input, err error) {
	if st == nil {
		return nil, param.Errorf("there is nothing to compare the file with")
	}
	q, notes, err := query.OneType(ctx, st, &r.Selection)
	if err != nil {
		return nil, err
	}
	v.tell(notes)
	if len(q.Types) == 1 && v.typ == "" {
		v.typ = q.Types[0] // what the file is shown by, too
	}
	return r.readSide(ctx, st, v, i, r.side(i).narrow(q), view)
}

func sideName(i int) string { return [2]string{"base", "head"}[i] }

// queries returns the part of the store on each side: what the request chooses of the
// selection or, with --last n, the newest runs and those before.
func (r *DiffRequest) queries(ctx context.Context, st store.Reader, v *viewer) (queries [2]store.Query, err error) {
	if r.only != nil {
		v.tell(query.PushedNotes(st))
		return *r.only, nil
	}
	if !r.twoTypes() {
		return r.choose(ctx, st, v, r.Selection)
	}
	for i := range queries { // profiles of two types are chosen alike
		both, err := r.choose(ctx, st, v, r.side(i).typed(r.Selection))
		if err != nil {
			return queries, err
		}
		queries[i] = both[i]
	}
	return queries, nil
}

// inOneType gives the trees of sides of two value types one type, named after both, so that
// they compare.
func (r *DiffRequest) inOneType(trees [2][]*calltree.Tree) [2][]*calltree.Tree {
	if !r.twoTypes() || len(trees[0]) == 0 || len(trees[1]) == 0 || trees[0][0].Type.Name == trees[1][0].Type.Name {
		return trees
	}
	base, head := trees[0][0].Type.Name, trees[1][0].Type.Name
	for _, side := range trees {
		for k, t := range side {
			own := *t
			own.Type.Name = base + " against " + head
			side[k] = &own
		}
	}
	return trees
}

// choose returns both sides of a selection.
func (r *DiffRequest) choose(ctx context.Context, st store.Reader, v *viewer, selection query.Selection) (queries [2]store.Query,
	err error) {
	q, notes, err := query.OneType(ctx, st, &selection)
	if err != nil {
		return queries, err
	}
	v.tell(notes)
	switch {
	case r.Sides.chosen():
		return r.named(ctx, st, v, q)
	case r.Base.chosen() && r.Head.chosen():
		return [2]store.Query{r.Base.narrow(q), r.Head.narrow(q)}, nil
	case r.twoTypes() && !r.Base.chosen() && !r.Head.chosen():
		return [2]store.Query{q, q}, nil
	case q.Last > 0 && !r.Base.chosen() && !r.Head.chosen():
		now, before, err := query.NewestAndBefore(ctx, st, q)
		if err == nil {
			v.note("base: %s; head: %s", query.RunsOf(before), query.RunsOf(now))
		}
		return [2]store.Query{{Profiles: store.IDs(before), Types: q.Types}, {Profiles: store.IDs(now), Types: q.Types}}, err
	}
	return queries, param.Errorf("nothing to compare: give --base and --head (or --base-run and --head-run, -commit, -branch, -since, -until, -range, -type), --last n, or two files")
}
