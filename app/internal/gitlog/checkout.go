package gitlog

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"io"
	"path/filepath"
)

// Checkout writes the files of a commit of the repository at dir to an empty directory, and
// returns the commit. Like all of this package it runs nothing that the repository names:
// files that pass through a filter (Git LFS) stay as they are committed, and submodules are
// empty directories.
func Checkout(ctx context.Context, dir, revision, to string) (h Head, err error) {
	err = with(ctx, dir, func(r *repository) error {
		h, err = r.checkout(revision, to)
		return err
	})
	return h, err
}

func (r *repository) checkout(revision, to string) (h Head, err error) {
	if h, err = r.at(revision); err != nil {
		return h, err
	}
	if err := r.files(h.Commit, func(string) {}); err != nil { // few objects can stand for any number of files
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

// MergeBase returns the newest commit that two revisions of the repository at dir have in
// common; the first of them if they have none. It is an error if a shallow clone lacks it.
func MergeBase(ctx context.Context, dir, a, b string) (commit string, err error) {
	err = with(ctx, dir, func(r *repository) error {
		first, second := a, b
		if err := r.commits(&first, &second); err != nil {
			return err
		}
		common, _ := r.text("merge-base", first, second) // fails if there is none
		if shallow, err := r.isShallow(); common == "" && (shallow || err != nil) {
			return cmp.Or(err, fmt.Errorf("the clone is shallow and lacks the merge base of %q and %q: git fetch --unshallow (in a CI fetch-depth: 0)", a, b))
		}
		commit = cmp.Or(common, first)
		return nil
	})
	return commit, err
}

// IsBranch reports whether the repository at dir has a branch of that name, or has fetched one.
func IsBranch(ctx context.Context, dir, name string) bool {
	return with(ctx, dir, func(r *repository) (err error) {
		for _, folder := range []string{"refs/heads/", "refs/remotes/origin/"} {
			if _, err = r.text("show-ref", "--verify", "--quiet", "--", folder+name); err == nil {
				return nil
			}
		}
		return err
	}) == nil
}
