package gitlog

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"
)

// Head is the commit that is checked out in a repository.
type Head struct {
	Commit string
	Date   time.Time // of the commit
	Branch string    // empty: detached
	Origin string    // address of the remote, without a password; empty: there is none
	// Dirty: tracked files have changes that are not committed. Submodules do not count, nor
	// files that pass through a filter (Git LFS): comparing them would run the filter.
	Dirty bool
}

// password is the user and password in an address.
var password = regexp.MustCompile(`^(\w+://)[^/]*@`)

// headTime is how long an import waits for labels from a repository.
const headTime = 15 * time.Second

// ReadHead returns what is checked out in the repository at dir, which may be any
// directory in it. Errors are ErrNoRepository, ErrNoCommit, or others; with these the result
// has what is known all the same: its Commit is empty if nothing is.
func ReadHead(ctx context.Context, dir string) (h Head, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, headTime, fmt.Errorf("no answer within %s", headTime))
	defer cancel()
	err = with(ctx, dir, func(r *repository) error {
		h, err = r.head()
		return err
	})
	return h, err
}

func (r *repository) head() (h Head, err error) {
	if h, err = r.at("HEAD"); errors.As(err, new(noCommitError)) {
		return Head{}, ErrNoCommit
	} else if err != nil {
		return Head{}, err
	}
	h.Branch, _ = r.text("symbolic-ref", "--short", "-q", "HEAD") // fails if there is none
	h.Dirty, err = r.dirty()
	return h, err
}

// at returns the commit of a revision.
func (r *repository) at(revision string) (h Head, err error) {
	if h.Commit, err = r.commit(revision); err == nil {
		h.Date, err = r.date(h.Commit)
	}
	h.Origin = password.ReplaceAllString(r.origin, "$1")
	return h, err
}

// dirty compares the commit with the index, and the index with the working tree. The first
// comparison ends at the first difference: then the second does not meet a commit that has
// more files than the index.
func (r *repository) dirty() (bool, error) {
	if r.top == "" {
		return false, nil
	}
	if staged, err := r.differs("diff-index", "--cached", "--quiet", "--no-renames", "--no-ext-diff", "--ignore-submodules=dirty", "HEAD",
		"--"); err != nil || staged {
		return staged, err
	}
	var changed []string
	err := r.run(r.inTree(r.top, "status", "--porcelain=v1", "-z", "--untracked-files=no", "--ignore-submodules=all", "--no-renames"),
		fields(func(field string) error {
			if len(field) > len("XY ") && len(changed) < mostCompared {
				changed = append(changed, field[len("XY "):])
			}
			return nil
		}))
	if err != nil || len(changed) == 0 || len(changed) == mostCompared {
		return len(changed) > 0, err
	}
	return r.anyUnfiltered(changed)
}

// mostCompared is the number of changed files from which on a working tree is dirty without
// a look at each.
const mostCompared = 1000

// anyUnfiltered reports whether one of some files does not pass through a filter.
func (r *repository) anyUnfiltered(files []string) (found bool, err error) {
	c := r.inTree(r.top, "check-attr", "-z", "--stdin", "filter")
	c.Stdin = strings.NewReader(strings.Join(files, "\x00") + "\x00")
	n := 0
	err = r.run(c, fields(func(field string) error {
		if n++; n%3 == 0 && (field == "unspecified" || field == "unset") { // path, attribute, value
			found = true
		}
		return nil
	}))
	return found, err
}
