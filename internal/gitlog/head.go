package gitlog

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Head is the commit that is checked out in a repository.
type Head struct {
	Commit string
	Date   time.Time // of the commit
	Branch string    // empty: detached
	Origin string    // address of the remote, without a password; empty: there is none
	Dirty  bool      // tracked files have changes that are not committed
}

// password is the user and password in an address.
var password = regexp.MustCompile(`^(\w+://)[^/]*@`)

// ReadHead returns what is checked out in the repository at dir, which may be any
// directory in it.
func ReadHead(ctx context.Context, dir string) (h Head, err error) {
	r := repository{ctx, dir}
	text, err := r.text("log", "-1", "--format=%H %ct")
	if err != nil {
		return h, err
	}
	commit, seconds, _ := strings.Cut(text, " ")
	unix, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil {
		return h, fmt.Errorf("git log: %w", err)
	}
	h.Commit, h.Date = commit, time.Unix(unix, 0).UTC()
	changes, err := r.text("status", "--porcelain", "--untracked-files=no")
	if err != nil {
		return h, err
	}
	h.Dirty = changes != ""
	// Both fail where there is none.
	h.Branch, _ = r.text("symbolic-ref", "--short", "-q", "HEAD")
	h.Origin, _ = r.text("config", "--get", "remote.origin.url")
	h.Origin = password.ReplaceAllString(h.Origin, "$1")
	return h, nil
}
