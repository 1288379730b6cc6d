// Package sides finds the runs that --base and --head name: a branch, a commit, a run, or key=value
// conditions. Every query that compares two sides of a store reads the names here.
//
//	names + profiles of a selection ──Choose──▶ Chosen: the profiles of both sides, and notes
//
// A name may be one of the client's repository, which is asked for merge bases too (package
// facts). The package compares nothing, and does not know what the sides are for.
package sides

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/dendroprof/dendro/internal/words"
	"github.com/dendroprof/dendro/query"
	"github.com/dendroprof/dendro/query/facts"
	"github.com/dendroprof/dendro/query/param"
	"github.com/dendroprof/dendro/store"
)

// Chooser finds the runs of both sides.
type Chooser struct {
	Base, Head string // names; an empty head is what is checked out, or the newest runs
	*facts.Facts
	// Alone: a base that is a run or a commit is that alone, not the history that ends with it.
	Alone bool
}

// Chosen are the runs that the names mean.
type Chosen struct {
	Base, Head         []store.Profile // in the order of time
	BaseText, HeadText string
	Notes              []string
	// NotHead is the commit that is checked out, or that a workflow tests, if the head was not named and is
	// another one, because the store has no run of it; empty otherwise.
	NotHead string
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
func (c *Chooser) named(ctx context.Context, flag, text string, list []store.Profile) ([]store.Profile, naming, error) {
	if strings.Contains(text, "=") {
		q, err := Filter(flag, strings.Split(text, ","))
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
	if found := c.ofRevision(ctx, text, list); len(found) > 0 {
		return found, byCommit, nil
	}
	return nil, 0, fmt.Errorf("%s %q %w%s", flag, text, query.ErrNoSide, c.others(text, list))
}

// others says which names may be meant in place of one that the store does not have.
func (c *Chooser) others(text string, list []store.Profile) string {
	const most = 6
	branches := query.Distinct(list, func(p *store.Profile) string { return p.Run.Branch })
	said := words.DidYouMean(text, branches)
	if said == "" && len(branches) > 0 && len(branches) <= most {
		said = "; known branches: " + strings.Join(words.CleanAll(branches), ", ")
	}
	if c.Source() == nil {
		said += "; there is no git repository here that knows it"
	}
	return said
}

// inRepository reports whether the client's repository has a branch or commit.
func (c *Chooser) inRepository(ctx context.Context, name string) bool {
	repo := c.Source()
	if repo == nil {
		return false
	}
	_, err := repo.Revision(ctx, name, nil)
	return err == nil
}

// ofRevision returns the profiles of a commit, by any name that the repository has for
// it.
func (c *Chooser) ofRevision(ctx context.Context, revision string, list []store.Profile) []store.Profile {
	repo := c.Source()
	if repo == nil {
		return nil
	}
	a, err := repo.Revision(ctx, revision, nil)
	if err != nil {
		return nil
	}
	return ofCommit(list, a.Commit)
}

// leastDigits is the number of digits from which on a run may have a commit's hash shortened.
const leastDigits = 7

// ofCommit returns the profiles of a commit, given its full hash.
func ofCommit(list []store.Profile, commit string) []store.Profile {
	return slices.DeleteFunc(slices.Clone(list), func(p store.Profile) bool {
		return p.Run.Commit != commit && (len(p.Run.Commit) < leastDigits || !strings.HasPrefix(commit, p.Run.Commit))
	})
}

// Choose resolves both names in a list of profiles in the order of time. Of the head the
// newest last runs of each benchmark are kept; 0: all.
func (c *Chooser) Choose(ctx context.Context, list []store.Profile, last int) (*Chosen, error) {
	s := &Chosen{}
	base, by, err := c.named(ctx, "--base", c.Base, list)
	if errors.Is(err, query.ErrNoSide) && c.inRepository(ctx, c.Base) {
		s.note("the store has no run of %s yet: import its runs when %s is built", c.Base, c.Base)
		base, by, err = nil, byFilter, nil
	}
	if err != nil {
		return nil, err
	}
	if s.Head, err = c.headOf(ctx, s, list, base, by, last); err != nil {
		return nil, err
	}
	switch by {
	case byBranch:
		base = c.upToMergeBase(ctx, s, base)
	case byRun, byCommit:
		if !c.Alone {
			base = upTo(list, base)
		}
	}
	s.Base = base
	s.BaseText = fmt.Sprintf("%s (%s)", c.Base, query.RunsOf(base))
	s.HeadText = query.RunsOf(s.Head)
	if c.Head != "" {
		s.HeadText = fmt.Sprintf("%s (%s)", c.Head, s.HeadText)
	}
	return s, nil
}

// headOf returns the profiles under test: those that --head names, else those of the
// commit that is checked out, else those of the newest commit that is not the base's.
func (c *Chooser) headOf(ctx context.Context, s *Chosen, list, base []store.Profile, named naming, last int) ([]store.Profile, error) {
	rest, by := without(list, base), byBranch
	commit := ""
	var err error
	if c.Head == "" {
		var found []store.Profile
		found, commit = c.checkedOut(ctx, rest)
		if own := ofCommit(base, commit); commit != "" && len(found) == 0 && named == byBranch && len(own) > 0 {
			found = own // main itself, or that of a fork
			s.note("%s, which is checked out, is of %s: its runs are tested against the others of %[2]s", words.Commit(commit), c.Base)
		}
		if len(found) > 0 {
			rest, by, commit = found, byCommit, ""
		}
	} else if rest, by, err = c.named(ctx, "--head", c.Head, list); err != nil {
		return nil, err
	}
	if len(rest) == 0 {
		return nil, c.noHead(commit)
	}
	if commit != "" && rest[len(rest)-1].Run.Commit != "" {
		s.NotHead = commit
		s.note("tested are the newest runs that are not of the base (the store has none of %s, which is checked out, beside the base)",
			words.Commit(commit))
	}
	if newest := newestCommit(rest); last == 0 && len(newest) < len(rest) {
		switch by {
		case byBranch:
			rest = newest
		case byFilter:
			s.note("--head %s tests all of its commits together (%s); a branch by its name alone tests its newest commit (%s)", c.Head, query.RunsOf(rest), query.RunsOf(newest))
		}
	}
	q := store.Query{Last: last}
	return q.Filter(rest), nil
}

// noHead returns the error that there is no run but those of the base, and what helps. The commit that is checked
// out is empty if it is not known.
func (c *Chooser) noHead(commit string) error {
	what := ""
	if commit != "" {
		what = fmt.Sprintf(", and %s, which is checked out, has no others", words.Commit(commit))
	}
	return fmt.Errorf("--base %s: %w to test: every run is of the base%s; record the change (dendro bench -- COMMAND), or name runs with --head RUN (list: dendro runs)", c.Base, store.ErrNothing, what)
}

// checkedOut returns the profiles of the commit that a workflow tests, or else that is checked
// out, and that commit if it is known.
func (c *Chooser) checkedOut(ctx context.Context, list []store.Profile) (found []store.Profile, commit string) {
	if commit = c.Tested; commit == "" {
		if repo := c.Source(); repo != nil {
			if a, err := repo.Revision(ctx, "HEAD", nil); err == nil {
				commit = a.Commit
			}
		}
	}
	if commit == "" {
		return nil, ""
	}
	return ofCommit(list, commit), commit
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
	has := store.IDSet(other)
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
func (c *Chooser) upToMergeBase(ctx context.Context, s *Chosen, base []store.Profile) []store.Profile {
	base = without(base, s.Head)
	commit, repo := s.Head[len(s.Head)-1].Run.Commit, c.Source()
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

func (s *Chosen) note(format string, args ...any) {
	s.Notes = append(s.Notes, fmt.Sprintf(format, args...))
}

// Filter parses the key=value texts of a flag; nil without any.
func Filter(flag string, texts []string) (*store.Query, error) {
	if len(texts) == 0 {
		return nil, nil
	}
	q := &store.Query{}
	date := func(to *time.Time, value string) (err error) {
		*to, err = words.ParseInstant(value, time.Now())
		return err
	}
	for _, t := range texts {
		key, value, ok := strings.Cut(t, "=")
		var err error
		switch {
		case !ok:
			err = param.Errorf("it is not key=value")
		case key == "branch":
			q.Branches = append(q.Branches, value)
		case key == "machine":
			q.Machines = append(q.Machines, value)
		case key == "commit":
			q.Commits = append(q.Commits, value)
		case key == "run":
			q.Runs = append(q.Runs, value)
		case key == "since":
			err = date(&q.Since, value)
		case key == "until":
			err = date(&q.Until, value)
		case strings.HasPrefix(key, "attr."):
			if q.Attributes == nil {
				q.Attributes = map[string]string{}
			}
			q.Attributes[strings.TrimPrefix(key, "attr.")] = value
		default:
			const keys = "branch, machine, commit, run, attr.KEY, since, until"
			err = param.Errorf("%.60q is not one of %s%s", key, keys, words.DidYouMean(key, strings.Split(keys, ", ")))
		}
		if err != nil {
			return nil, param.Errorf("%s %.60q: %w", flag, t, err)
		}
	}
	return q, nil
}
