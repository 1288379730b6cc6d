package gitlog

import (
	"bufio"
	"context"
	"errors"
	"io"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/dendroprof/dendro/internal/column"
)

// Bounds of Changes.
const (
	mostCommits = 5
	mostLines   = 20
	longestLine = 160 // bytes
)

// Changes are what the commits between two revisions changed in some files.
type Changes struct {
	From    string // full hashes
	To      string
	Commits []Commit // those that touch the files: the newest 5
	More    int
	Lines   []Line // in order of file and line: the first 20
	// MoreLines is the number of changed lines that Lines does not have, as More is of
	// commits.
	MoreLines int
}

// Commit is a commit without its changes.
type Commit struct {
	Commit  string // full hash
	Author  string
	Subject string
}

// Line is a changed line.
type Line struct {
	File string
	Line int    // in To; of a removed line, where it was
	Sign string // + or -
	Text string // at most 160 bytes
}

// ReadChanges returns what changed in files between two commits of the repository at dir:
// the lines for which keep is true (nil: all). It is nil if the repository does not have
// one of the commits, or no line changed.
func ReadChanges(ctx context.Context, dir, from, to string, files []string, keep func(Line) bool) (*Changes, error) {
	if from == "" || to == "" || len(files) == 0 {
		return nil, nil
	}
	c := &Changes{From: from, To: to, Commits: []Commit{}, Lines: []Line{}}
	err := with(ctx, dir, func(r *repository) error {
		if err := r.commits(&c.From, &c.To); err != nil {
			return err
		}
		return c.read(r, files, keep)
	})
	if errors.As(err, new(noCommitError)) || len(c.Lines) == 0 && err == nil {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	return c, nil
}

// read reads what changed in files.
func (c *Changes) read(r *repository, files []string, keep func(Line) bool) error {
	d := diff{c, keep, map[string]bool{}}
	err := r.stream(d.read, append([]string{"diff", "--no-color", "--no-ext-diff", "--no-textconv", "--no-renames", "--submodule=short",
		"-U0", "--src-prefix=a/", "--dst-prefix=b/", c.From, c.To, "--"}, literal(files)...)...)
	if err != nil || len(c.Lines) == 0 {
		return err
	}
	n := 0
	err = r.stream(fields(func(field string) error {
		if parts := strings.SplitN(strings.TrimPrefix(field, "\n"), "\n", 3); len(parts) == 3 && n < mostCommits {
			c.Commits = append(c.Commits, Commit{parts[0], parts[1], parts[2]})
		}
		n++
		return nil
	}), append([]string{"log", "-z", "--no-notes", "--format=%H%n%an%n%s", c.From + ".." + c.To, "--"},
		literal(slices.Sorted(maps.Keys(d.files)))...)...)
	c.More = n - len(c.Commits)
	return err
}

// literal returns files as git's arguments.
func literal(files []string) []string {
	return column.Of(files, func(f string) string { return ":(top,literal)" + f })
}

// diff adds the lines of a unified diff to changes.
type diff struct {
	*Changes
	keep  func(Line) bool // nil: every line
	files map[string]bool // with lines that were kept
}

// hunk is the header of changed lines without context.
var hunk = regexp.MustCompile(`^@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@`)

func (d diff) read(out *bufio.Reader) error {
	file, before, after := "", 0, 0
	for {
		line, err := readLine(out)
		switch m := hunk.FindStringSubmatch(line); {
		case m != nil:
			before, _ = strconv.Atoi(m[1])
			after, _ = strconv.Atoi(m[2])
		case strings.HasPrefix(line, "diff --git "):
			file, before, after = "", 0, 0
		case before+after == 0 && (strings.HasPrefix(line, "+++ b/") || strings.HasPrefix(line, "--- a/")):
			file = line[len("+++ b/"):]
		case file != "" && before+after > 0 && strings.HasPrefix(line, "+"):
			d.add(Line{file, after, "+", line[1:]})
			after++
		case file != "" && before+after > 0 && strings.HasPrefix(line, "-"):
			d.add(Line{file, before, "-", line[1:]})
			before++
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func (d diff) add(l Line) {
	if d.keep != nil && !d.keep(l) {
		return
	}
	d.files[l.File] = true
	if len(d.Lines) == mostLines {
		d.MoreLines++
		return
	}
	l.Text = l.Text[:min(len(l.Text), longestLine)]
	d.Lines = append(d.Lines, l)
}

// readLine returns the first 4,096 bytes of the next line, without its end.
func readLine(out *bufio.Reader) (string, error) {
	var line []byte
	for {
		part, more, err := out.ReadLine()
		line = append(line, part[:min(len(part), 4096-len(line))]...)
		if err != nil || !more {
			return string(line), err
		}
	}
}

// Web is the address of a repository's pages on GitHub or GitLab; empty: unknown.
type Web string

var scpForm = regexp.MustCompile(`^(?:[\w.-]+@)?([\w.-]+):([^/].*)$`)

// WebOf returns the pages of the repository with an address as git remote has it. Hosts
// are known by their names, which contain github or gitlab.
func WebOf(origin string) Web {
	host, path := "", ""
	if u, err := url.Parse(origin); err == nil && u.Host != "" {
		host, path = u.Hostname(), strings.TrimPrefix(u.Path, "/")
	} else if m := scpForm.FindStringSubmatch(origin); m != nil {
		host, path = m[1], m[2]
	}
	path = strings.TrimSuffix(strings.TrimSuffix(path, "/"), ".git")
	if path == "" || !strings.Contains(host, "github") && !strings.Contains(host, "gitlab") {
		return ""
	}
	return Web((&url.URL{Scheme: "https", Host: host, Path: "/" + path}).String())
}

// page returns the address of something below the repository's.
func (w Web) page(what string) string {
	if w == "" {
		return ""
	}
	if host, _, _ := strings.Cut(strings.TrimPrefix(string(w), "https://"), "/"); strings.Contains(host, "gitlab") {
		return string(w) + "/-/" + what
	}
	return string(w) + "/" + what
}

// File returns the address of a line of a file in a commit; line 0: of the file.
func (w Web) File(commit, file string, line int) string {
	address := w.page("blob/" + commit + "/" + (&url.URL{Path: file}).EscapedPath())
	if address != "" && line > 0 {
		address += "#L" + strconv.Itoa(line)
	}
	return address
}

// Commit returns the address of a commit.
func (w Web) Commit(hash string) string { return w.page("commit/" + hash) }

// Compare returns the address of the changes between two commits.
func (w Web) Compare(from, to string) string { return w.page("compare/" + from + "..." + to) }
