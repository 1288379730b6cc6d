package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/dendroprof/dendro/analysis/gate"
	"github.com/dendroprof/dendro/internal/engines"
	"github.com/dendroprof/dendro/internal/gitlog"
	"github.com/dendroprof/dendro/internal/ingest"
	"github.com/dendroprof/dendro/internal/words"
	"github.com/dendroprof/dendro/normalize"
	"github.com/dendroprof/dendro/store"
)

// runSides are the runs that --base and --head name.
type runSides struct {
	gate.Sides
	baseText, headText string
	notes              []string
}

// ofPaths reports whether the sides are files or directories. One alone is a name
// in the store: a folder may be called like a branch.
func (o *reporting) ofPaths() bool {
	for _, text := range []string{o.base, o.head} {
		if _, err := os.Stat(text); text == "" || err != nil {
			return false
		}
	}
	return true
}

// naming is how a side was named.
type naming int

const (
	byFilter naming = iota // key=value
	byBranch
	byRun
	byCommit
)

// named returns the profiles that a text names: key=value, a branch, a run, a
// commit, or what git takes for one.
func named(ctx context.Context, flag, text string, list []store.Profile, git string) ([]store.Profile, naming, error) {
	if strings.Contains(text, "=") {
		q, err := historyFilter(strings.Split(text, ","))
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
	if git != "" {
		if a, err := gitlog.ReadAncestors(ctx, git, text); err == nil {
			q := store.Query{Commits: []string{a.Commit}}
			if found := q.Filter(slices.Clone(list)); len(found) > 0 {
				return found, byCommit, nil
			}
		}
	}
	return nil, 0, fmt.Errorf("%s %q is no branch, run or commit of the selected profiles, and not both sides are files", flag, text)
}

// sides resolves both flags in a list of profiles in the order of time. Of the head
// the newest last runs of each benchmark are kept; 0: all.
func (o *reporting) sides(ctx context.Context, list []store.Profile, last int, git string) (*runSides, error) {
	if o.ofPaths() {
		return fileSides(list, o.base, o.head, last), nil
	}
	base, by, err := named(ctx, "--base", o.base, list, git)
	if err != nil {
		return nil, err
	}
	s := &runSides{}
	head, err := o.headOf(ctx, list, base, last, git)
	if err != nil {
		return nil, err
	}
	s.Head = head
	switch by {
	case byBranch:
		base = s.upToMergeBase(ctx, base, git)
	case byRun, byCommit:
		base = upTo(list, base)
	}
	s.Base = base
	s.baseText = fmt.Sprintf("%s (%s)", o.base, runsOf(base))
	s.headText = runsOf(head)
	if o.head != "" {
		s.headText = fmt.Sprintf("%s (%s)", o.head, s.headText)
	}
	return s, nil
}

// headOf returns the profiles under test: those that --head names, else those of
// the commit that is checked out, else those of the newest commit that is not the
// base's.
func (o *reporting) headOf(ctx context.Context, list, base []store.Profile, last int, git string) ([]store.Profile, error) {
	rest, by := without(list, base), byBranch
	var err error
	if o.head == "" {
		if found := o.checkedOut(ctx, rest, git); len(found) > 0 {
			rest, by = found, byCommit
		}
	} else if rest, by, err = named(ctx, "--head", o.head, list, git); err != nil {
		return nil, err
	}
	if len(rest) == 0 {
		return nil, fmt.Errorf("--base %s: no run is left to be the head: %w", o.base, store.ErrNothing)
	}
	if by == byBranch && last == 0 {
		rest = newestCommit(rest)
	}
	q := store.Query{Last: last}
	return q.Filter(rest), nil
}

// checkedOut returns the profiles of the commit that the workflow tests, or that is
// checked out; nil if there are none.
func (o *reporting) checkedOut(ctx context.Context, list []store.Profile, git string) []store.Profile {
	commits := []string{o.tested}
	if git != "" {
		if a, err := gitlog.ReadAncestors(ctx, git, "HEAD"); err == nil {
			commits = append(commits, a.Commit)
		}
	}
	for _, c := range commits {
		q := store.Query{Commits: []string{c}}
		if found := q.Filter(slices.Clone(list)); c != "" && len(found) > 0 {
			return found
		}
	}
	return nil
}

// newestCommit keeps the runs of the commit that was measured last; without commits
// the newest run.
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

// upTo returns the history that ends with some runs: theirs and those before on
// their branch.
func upTo(list, runs []store.Profile) []store.Profile {
	newest := runs[len(runs)-1].Run
	return slices.DeleteFunc(slices.Clone(list), func(p store.Profile) bool {
		return p.Run.Branch != newest.Branch || newest.Before(p.Run)
	})
}

// upToMergeBase keeps the runs of the base's branch that the head is made of: those
// of commits that are ancestors of the head's.
func (s *runSides) upToMergeBase(ctx context.Context, base []store.Profile, git string) []store.Profile {
	base = without(base, s.Head)
	commit := s.Head[len(s.Head)-1].Run.Commit
	switch {
	case git == "" || commit == "":
		s.note("the merge-base is not known (no repository, or no commit of the head): all runs of the base count")
		return base
	case s.Head[0].Run.Branch == firstBranch(base):
		return base // one branch, one line
	}
	a, err := gitlog.ReadAncestors(ctx, git, commit)
	if err != nil {
		s.note("the merge-base is not known (%v): all runs of the base count", err)
		return base
	}
	kept := slices.DeleteFunc(slices.Clone(base), func(p store.Profile) bool { return p.Run.Commit != "" && !a.Has(p.Run.Commit) })
	switch {
	case len(kept) == 0 && a.Shallow:
		s.note("the clone is shallow, so the merge-base is not known (fetch-depth: 0 gets it): all runs of the base count")
		return base
	case len(kept) == 0:
		s.note("no run of the base is at or before the merge-base: all of them count")
		return base
	case len(kept) < len(base):
		s.note("%s of the base after the merge-base left out", strings.TrimSuffix(runsOf(without(base, kept)), ")"))
	}
	return kept
}

func firstBranch(list []store.Profile) string {
	if len(list) == 0 {
		return ""
	}
	return list[0].Run.Branch
}

func (s *runSides) note(format string, args ...any) {
	s.notes = append(s.notes, fmt.Sprintf(format, args...))
}

// runsOf counts the runs of profiles: "12 runs, run-001 … run-012".
func runsOf(list []store.Profile) string {
	keys := distinct(list, func(p *store.Profile) string { return p.Run.Key })
	switch n := len(keys); n {
	case 0:
		return "no runs"
	case 1:
		return "run " + keys[0]
	default:
		return fmt.Sprintf("%d runs, %s … %s", n, keys[0], keys[n-1])
	}
}

// noGroup stands for no group while files are in a store: a label without a group
// gets that of the folder.
const noGroup = "."

// fileSides tells the sides of files apart by the branch they were labelled with.
func fileSides(list []store.Profile, baseText, headText string, last int) *runSides {
	s := &runSides{}
	for _, p := range list {
		if p.Benchmark.Group == noGroup {
			p.Benchmark.Group = ""
		}
		if p.Run.Branch == "head" {
			p.Run.Branch = ""
			s.Head = append(s.Head, p)
		} else {
			p.Run.Branch = ""
			s.Base = append(s.Base, p)
		}
	}
	q := store.Query{Last: last}
	s.Head = q.Filter(s.Head)
	s.baseText = fmt.Sprintf("%s (%s)", baseText, runsOf(s.Base))
	s.headText = fmt.Sprintf("%s (%s)", headText, runsOf(s.Head))
	return s
}

// ofFiles imports both sides into a store in memory and calls f with it.
func (o *reporting) ofFiles(ctx context.Context, e *env, f func(store.Store, store.Query) error) error {
	q, err := o.resolve()
	if err != nil {
		return err
	}
	st, err := engines.Open(ctx, "mem:", engines.Write)
	if err != nil {
		return err
	}
	for _, side := range []struct{ name, path string }{{"base", o.base}, {"head", o.head}} {
		if err := o.importSide(ctx, e, st, side.name, side.path); err != nil {
			return errors.Join(err, st.Close())
		}
	}
	return errors.Join(f(st, q), st.Close())
}

// importSide imports the files of one side, labelled as its branch.
func (o *reporting) importSide(ctx context.Context, e *env, st store.Store, side, path string) error {
	sources, err := ingest.Expand([]string{path}, e.in)
	if err != nil {
		return err
	}
	opts := ingest.Options{Normalizer: normalize.New(nil)}
	var layout *ingest.Layout
	if o.layout != "" {
		if layout, err = ingest.ParseLayout(o.layout); err != nil {
			return usageError{err}
		}
	}
	for i := range sources {
		l := sources[i].Label
		if layout != nil {
			more, err := layout.Label(sources[i].Name)
			if err != nil {
				return err
			}
			l = l.Or(more)
		}
		l = l.Or(folderLabel(path, sources[i].Name))
		l.Run.Key = strings.TrimSuffix(side+"/"+l.Run.Key, "/")
		l.Run.Branch = side
		sources[i].Label = l
	}
	failed := 0
	_, err = ingest.Run(ctx, st, sources, opts, func(r ingest.Result) {
		if r.Status == ingest.Failed {
			failed++
			fmt.Fprintf(e.err, "dendro: %s: %s\n", words.Clean(r.File), words.Clean(r.Error))
		}
	})
	if err == nil && failed > 0 {
		err = errReported
	}
	return err
}

// folderLabel reads run and group from the folders between a directory and a file:
// the first is the run, the others are the group.
func folderLabel(dir, name string) ingest.Label {
	var l ingest.Label
	l.Group = noGroup
	rel, err := filepath.Rel(dir, name)
	if err != nil {
		return l
	}
	parts := strings.Split(filepath.ToSlash(rel), "/")
	if len(parts) > 1 {
		l.Run.Key = parts[0]
	}
	if len(parts) > 2 {
		l.Group = strings.Join(parts[1:len(parts)-1], "/")
	}
	return l
}
