package judge

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/dendroprof/dendro/analysis/gate"
	"github.com/dendroprof/dendro/analysis/history"
	"github.com/dendroprof/dendro/analysis/regression"
	"github.com/dendroprof/dendro/query"
	"github.com/dendroprof/dendro/query/facts"
	"github.com/dendroprof/dendro/query/param"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/testrun"
)

// Sides names the two sides of a comparison; regressions, reports and checks have it.
type Sides struct {
	Releases
	Base string `param:"base" group:"Side" arg:"what" help:"base side: a branch, commit or run of the store, or key=value" json:"base,omitempty"`
	Head string `param:"head" group:"Side" arg:"what" help:"side to test, named like --base (default: the commit that is checked out, otherwise the newest run that is not in the base)" json:"head,omitempty"`
}

// check refuses sides that do not go with the other parameters.
func (s *Sides) check(j *Judging, method string) error {
	switch {
	case s.Head != "" && s.Base == "" && s.Service == "":
		return param.Errorf("--head needs --base; without both the newest runs are tested against those before")
	case s.Service != "" && method != "" && method != "default":
		return param.Errorf("--method %s ranks runs of benchmarks: leave out --service", method)
	case s.Base != "" && method != "" && method != "default":
		return param.Errorf("--method %s ranks the newest runs: leave out --base", method)
	case s.Service != "" && (len(j.History) > 0 || j.AnyBranch):
		return param.Errorf("--service has the history of the releases: leave out --history and --any-branch")
	case s.Base != "" && (len(j.History) > 0 || j.AnyBranch):
		return param.Errorf("--base names the history: leave out --history and --any-branch")
	}
	return nil
}

// chooser finds the runs of both sides.
type chooser struct {
	Sides
	*facts.Facts
	files bool // the sides are files, see ReportRequest.Files
}

// chosenSides are the runs that --base and --head name.
type chosenSides struct {
	gate.Sides
	baseText, headText string
	notes              []string
}

// compare compares the sides in a selection, whose profiles are a list in the order of time.
// Of the head the newest last runs of each benchmark are tested; 0: all.
func (r *chooser) compare(ctx context.Context, st store.Reader, q store.Query, list []store.Profile, last int, req regression.Request) (*gate.Comparison, *chosenSides, error) {
	s, err := r.sides(ctx, list, last)
	if err := r.Unmet(err); err != nil {
		return nil, nil, err
	}
	if len(q.Groups)+len(q.Benchmarks)+len(q.Params) > 0 && !r.files {
		q.Groups, q.Benchmarks, q.Params, q.Last = nil, nil, nil, 0
		all, err := st.Profiles(ctx, q)
		if err != nil {
			return nil, nil, err
		}
		s.addBeside(all)
	}
	req.K = 0
	c, err := gate.Compare(ctx, st, s.Sides, req)
	return c, s, err
}

// addBeside adds the runs of other benchmarks that are of the commits, or runs, of a side.
func (s *chosenSides) addBeside(all []store.Profile) {
	type key struct{ branch, commit, run string }
	of := func(p *store.Profile) key {
		if p.Run.Commit == "" {
			return key{run: p.Run.Key}
		}
		return key{branch: p.Run.Branch, commit: p.Run.Commit}
	}
	compared, side := map[testrun.Benchmark]bool{}, map[key]int{}
	for i, list := range [][]store.Profile{s.Base, s.Head} {
		for k := range list {
			compared[list[k].Benchmark] = true
			side[of(&list[k])] = i
		}
	}
	for i := range all {
		if at, ok := side[of(&all[i])]; ok && !compared[all[i].Benchmark] {
			s.Beside[at] = append(s.Beside[at], all[i])
		}
	}
}

// suggestBase adds to the reason why a benchmark has no history which other branch has
// runs of it.
func suggestBase(res *regression.Result, list []store.Profile) {
	runs := map[history.Key]map[string]int{} // by branch, of those without a verdict
	own := map[history.Key]string{}          // branch of the newest run
	for i := range res.Benchmarks {
		if b := &res.Benchmarks[i]; b.Reason != "" {
			runs[history.Key{Benchmark: b.Benchmark, Type: b.Type.Name}] = map[string]int{}
		}
	}
	for i := range list {
		p := &list[i]
		if of := runs[history.KeyOf(p)]; of != nil {
			of[p.Run.Branch]++
			own[history.KeyOf(p)] = p.Run.Branch
		}
	}
	for i := range res.Benchmarks {
		b := &res.Benchmarks[i]
		if b.Reason == "" {
			continue
		}
		at := history.Key{Benchmark: b.Benchmark, Type: b.Type.Name}
		of := runs[at]
		branch, most := own[at], of[own[at]]
		for _, name := range slices.Sorted(maps.Keys(of)) {
			if of[name] > most && name != "" {
				branch, most = name, of[name]
			}
		}
		if branch != own[at] {
			b.Reason += fmt.Sprintf("; %s of %s: use --base %s", query.Counted(most, "run"), branch, branch)
		}
	}
}

// naming is how a side was named.
type naming int

const (
	byFilter naming = iota // key=value
	byBranch
	byRun
	byCommit
)

// named returns the profiles that a text names: key=value, a branch, a run, a commit, or
// a revision of the client's repository.
func (r *chooser) named(ctx context.Context, flag, text string, list []store.Profile) ([]store.Profile, naming, error) {
	if strings.Contains(text, "=") {
		q, err := runFilter(flag, strings.Split(text, ","))
		if err != nil {
			return nil, 0, err
		}
		found := q.Filter(slices.Clone(list))
		if len(found) == 0 {
			err = fmt.Errorf("%s %s: %w", flag, text, store.ErrNothing)
		}
		return found, byFilter, err
	}
	for _, try := range []struct {
		q  store.Query
		by naming
	}{
		{store.Query{Branches: []string{text}}, byBranch},
		{store.Query{Runs: []string{text}}, byRun},
		{store.Query{Commits: []string{text}}, byCommit},
	} {
		if found := try.q.Filter(slices.Clone(list)); len(found) > 0 {
			return found, try.by, nil
		}
	}
	if found := r.ofRevision(ctx, text, list); len(found) > 0 {
		return found, byCommit, nil
	}
	return nil, 0, fmt.Errorf("%s %q %w", flag, text, errNoSide)
}

// errNoSide is a side that the store does not have.
var errNoSide = errors.New("is not a branch, run or commit of the selected profiles, and --base and --head are not both files")

// inRepository reports whether the client's repository has a branch or commit, also one
// that was only fetched.
func (r *chooser) inRepository(ctx context.Context, name string) bool {
	for _, revision := range []string{name, "origin/" + name} {
		if repo := r.Source(); repo != nil {
			if _, err := repo.Revision(ctx, revision, nil); err == nil {
				return true
			}
		}
	}
	return false
}

// ofRevision returns the profiles of a commit, by any name that the repository has for
// it.
func (r *chooser) ofRevision(ctx context.Context, revision string, list []store.Profile) []store.Profile {
	repo := r.Source()
	if repo == nil {
		return nil
	}
	a, err := repo.Revision(ctx, revision, nil)
	if err != nil {
		return nil
	}
	q := store.Query{Commits: []string{a.Commit}}
	return q.Filter(slices.Clone(list))
}

// sides resolves both names in a list of profiles in the order of time. Of the head the
// newest last runs of each benchmark are kept; 0: all.
func (r *chooser) sides(ctx context.Context, list []store.Profile, last int) (*chosenSides, error) {
	if r.files {
		return fileSides(list, r.Base, r.Head, last), nil
	}
	s := &chosenSides{}
	base, by, err := r.named(ctx, "--base", r.Base, list)
	if errors.Is(err, errNoSide) && r.inRepository(ctx, r.Base) {
		s.note("the store has no run of %s yet: import its runs when %s is built", r.Base, r.Base)
		base, by, err = nil, byFilter, nil
	}
	if err != nil {
		return nil, err
	}
	if s.Head, err = r.headOf(ctx, s, list, base, last); err != nil {
		return nil, err
	}
	switch by {
	case byBranch:
		base = r.upToMergeBase(ctx, s, base)
	case byRun, byCommit:
		base = upTo(list, base)
	}
	s.Base = base
	s.baseText = fmt.Sprintf("%s (%s)", r.Base, query.RunsOf(base))
	s.headText = query.RunsOf(s.Head)
	if r.Head != "" {
		s.headText = fmt.Sprintf("%s (%s)", r.Head, s.headText)
	}
	return s, nil
}

// headOf returns the profiles under test: those that --head names, else those of the
// commit that is checked out, else those of the newest commit that is not the base's.
func (r *chooser) headOf(ctx context.Context, s *chosenSides, list, base []store.Profile, last int) ([]store.Profile, error) {
	rest, by := without(list, base), byBranch
	var err error
	if r.Head == "" {
		if found := r.checkedOut(ctx, rest); len(found) > 0 {
			rest, by = found, byCommit
		}
	} else if rest, by, err = r.named(ctx, "--head", r.Head, list); err != nil {
		return nil, err
	}
	if len(rest) == 0 {
		return nil, fmt.Errorf("--base %s: all selected runs are of the base: import runs of the change, or name them with --head: %w", r.Base, store.ErrNothing)
	}
	if newest := newestCommit(rest); last == 0 && len(newest) < len(rest) {
		switch by {
		case byBranch:
			rest = newest
		case byFilter:
			s.note("--head %s tests all of its commits together (%s); a branch by its name alone tests its newest commit (%s)", r.Head, query.RunsOf(rest), query.RunsOf(newest))
		}
	}
	q := store.Query{Last: last}
	return q.Filter(rest), nil
}

// checkedOut returns the profiles of the commit that a workflow tests, or that is checked
// out; nil if there are none.
func (r *chooser) checkedOut(ctx context.Context, list []store.Profile) []store.Profile {
	if r.Tested != "" {
		q := store.Query{Commits: []string{r.Tested}}
		if found := q.Filter(slices.Clone(list)); len(found) > 0 {
			return found
		}
	}
	return r.ofRevision(ctx, "HEAD", list)
}

// newestCommit keeps the runs of the commit that was measured last; without commits the
// newest run.
func newestCommit(list []store.Profile) []store.Profile {
	newest := list[len(list)-1].Run
	return slices.DeleteFunc(slices.Clone(list), func(p store.Profile) bool {
		if newest.Commit == "" {
			return p.Run.Key != newest.Key
		}
		return p.Run.Commit != newest.Commit || p.Run.Branch != newest.Branch
	})
}

// without returns the profiles of a list that another does not have.
func without(list, other []store.Profile) []store.Profile {
	has := map[store.ProfileID]bool{}
	for i := range other {
		has[other[i].ID] = true
	}
	return slices.DeleteFunc(slices.Clone(list), func(p store.Profile) bool { return has[p.ID] })
}

// upTo returns the history that ends with some runs: these and the runs before on their
// branch.
func upTo(list, runs []store.Profile) []store.Profile {
	newest := runs[len(runs)-1].Run
	return slices.DeleteFunc(slices.Clone(list), func(p store.Profile) bool {
		return p.Run.Branch != newest.Branch || newest.Before(p.Run)
	})
}

// upToMergeBase keeps the runs of the base's branch that the head contains: those of
// commits that are ancestors of the head's.
func (r *chooser) upToMergeBase(ctx context.Context, s *chosenSides, base []store.Profile) []store.Profile {
	base = without(base, s.Head)
	commit, repo := s.Head[len(s.Head)-1].Run.Commit, r.Source()
	switch {
	case repo == nil || commit == "":
		s.note("unknown merge base (no repository, or no commit of the head): all runs of the base count")
		return base
	case len(base) > 0 && s.Head[0].Run.Branch == base[0].Run.Branch || len(base) == 0 && s.Head[0].Run.Branch == "":
		return base // one branch, one line
	}
	a, err := repo.Revision(ctx, commit, query.Distinct(base, func(p *store.Profile) string { return p.Run.Commit }))
	if err != nil {
		s.note("unknown merge base (%v): all runs of the base count", err)
		return base
	}
	kept := slices.DeleteFunc(slices.Clone(base), func(p store.Profile) bool { return p.Run.Commit != "" && !a.Has(p.Run.Commit) })
	switch {
	case len(kept) == 0 && a.Shallow:
		s.note("unknown merge base: the clone is shallow (fetch-depth: 0 fetches all); all runs of the base count")
		return base
	case len(kept) == 0:
		s.note("no run of the base is at or before the merge base: all of them count")
		return base
	case len(kept) < len(base):
		s.note("dropped runs of the base after the merge base: %s", query.RunsOf(without(base, kept)))
	}
	return kept
}

func (s *chosenSides) note(format string, args ...any) {
	s.notes = append(s.notes, fmt.Sprintf(format, args...))
}

// Labels of files that are compared.
const (
	NoGroup  = "." // in place of an empty group: a label without one gets the folder's
	BaseSide = "base"
	HeadSide = "head"
)

// fileSides tells the sides of files apart by the branch they were labelled with.
func fileSides(list []store.Profile, baseText, headText string, last int) *chosenSides {
	s := &chosenSides{}
	for _, p := range list {
		if p.Benchmark.Group == NoGroup {
			p.Benchmark.Group = ""
		}
		head := p.Run.Branch == HeadSide
		p.Run.Branch = ""
		if head {
			s.Head = append(s.Head, p)
		} else {
			s.Base = append(s.Base, p)
		}
	}
	q := store.Query{Last: last}
	s.Head = q.Filter(s.Head)
	s.baseText = fmt.Sprintf("%s (%s)", baseText, query.RunsOf(s.Base))
	s.headText = fmt.Sprintf("%s (%s)", headText, query.RunsOf(s.Head))
	return s
}
