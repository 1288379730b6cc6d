package gitlog

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"time"
)

// Checkout writes the files of a commit of the repository at dir to an empty directory, and
// returns the commit. Like all of this package it runs nothing that the repository names:
// files that pass through a filter (Git LFS) stay as they are committed, and submodules are
// empty directories.
func Checkout(ctx context.Context, dir, revision, to string) (h Head, err error) {
	r, err := open(ctx, dir)
	if err != nil {
		return h, err
	}
	defer r.close()
	if h, err = r.checkout(revision, to); err != nil {
		return h, fmt.Errorf("repository %s: %w", dir, err)
	}
	return h, nil
}

func (r *repository) checkout(revision, to string) (h Head, err error) {
	if h.Commit, err = r.commit(revision); err != nil {
		return h, err
	}
	text, err := r.text("log", "-1", "--format=%ct", h.Commit, "--")
	if err != nil {
		return h, err
	}
	unix, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return h, fmt.Errorf("git log: %w", err)
	}
	h.Date, h.Origin = time.Unix(unix, 0).UTC(), password.ReplaceAllString(r.origin, "$1")
	if err := r.count(h.Commit); err != nil {
		return h, err
	}
	if to, err = filepath.Abs(to); err != nil {
		return h, err
	}
	// The index of the view is a link to the user's: this one is another file.
	index := filepath.Join(r.view, "checkout.index")
	for _, args := range [][]string{{"read-tree", h.Commit}, {"checkout-index", "--all", "--force"}} {
		c := r.command(append([]string{"-c", "core.bare=false"}, args...)...)
		c.Dir = to
		c.Env = append(c.Env, "GIT_WORK_TREE="+to, "GIT_INDEX_FILE="+index)
		if err := r.run(c, func(out *bufio.Reader) error { _, err := io.Copy(io.Discard, out); return err }); err != nil {
			return h, err
		}
	}
	return h, nil
}

// count bounds the number of files of a commit: few objects can stand for any number.
func (r *repository) count(commit string) error {
	return r.stream(paths(func(string) {}), "ls-tree", "-r", "-z", "--name-only", "--full-tree", commit)
}

// MergeBase returns the newest commit that two revisions of the repository at dir have in
// common; the first of them if they have none.
func MergeBase(ctx context.Context, dir, a, b string) (string, error) {
	r, err := open(ctx, dir)
	if err != nil {
		return "", err
	}
	defer r.close()
	first, err := r.commit(a)
	if err != nil {
		return "", fmt.Errorf("repository %s: %w", dir, err)
	}
	second, err := r.commit(b)
	if err != nil {
		return "", fmt.Errorf("repository %s: %w", dir, err)
	}
	if common, err := r.text("merge-base", first, second); err == nil && common != "" {
		return common, nil
	}
	return first, nil
}

// IsBranch reports whether the repository at dir has a branch of that name.
func IsBranch(ctx context.Context, dir, name string) bool {
	r, err := open(ctx, dir)
	if err != nil {
		return false
	}
	defer r.close()
	_, err = r.text("show-ref", "--verify", "--quiet", "--", "refs/heads/"+name)
	return err == nil
}
