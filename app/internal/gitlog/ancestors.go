package gitlog

import (
	"bufio"
	"context"
	"fmt"
	"strings"
)

// mostAncestors bounds how far back Ancestors looks.
const mostAncestors = 200_000

// Ancestors is a commit with all commits that it is made of, the newest 200,000.
// Of another branch they are the commits up to the merge-base.
type Ancestors struct {
	Commit string // full hash
	// Shallow: the clone does not have all of them.
	Shallow bool
	commits map[string]bool
}

// ReadAncestors lists the ancestors of a revision of the repository at dir.
func ReadAncestors(ctx context.Context, dir, revision string) (*Ancestors, error) {
	a := &Ancestors{commits: map[string]bool{}}
	err := with(ctx, dir, func(r *repository) (err error) {
		if a.Commit, err = r.commit(revision); err != nil {
			return err
		}
		if a.Shallow, err = r.isShallow(); err != nil {
			return err
		}
		return r.stream(func(out *bufio.Reader) error {
			lines := bufio.NewScanner(out)
			for lines.Scan() {
				a.commits[lines.Text()] = true
			}
			return lines.Err()
		}, "rev-list", fmt.Sprintf("--max-count=%d", mostAncestors), a.Commit)
	})
	if err != nil {
		return nil, err
	}
	return a, nil
}

// leastDigits is the number of digits from which on a short commit is looked up.
const leastDigits = 7

// Has reports whether a commit, whole or its first 7 digits or more, is the commit
// or an ancestor of it.
func (a *Ancestors) Has(commit string) bool {
	if a.commits[commit] {
		return true
	}
	if len(commit) < leastDigits || len(commit) >= len(a.Commit) {
		return false
	}
	for c := range a.commits {
		if strings.HasPrefix(c, commit) {
			return true
		}
	}
	return false
}

// Root returns the top directory of the working tree of the repository that dir is in: the
// one with .git in it, whatever the repository's configuration says.
func Root(dir string) (string, error) {
	r := &repository{}
	if err := r.locate(dir); err != nil {
		return "", fmt.Errorf("repository %s: %w", dir, err)
	}
	if r.top == "" {
		return "", fmt.Errorf("repository %s: it is bare: it has no working tree", dir)
	}
	return r.top, nil
}
