// Package codeowners reads the owners of files from GitHub's CODEOWNERS.
//
// The rules are those that GitHub documents ("About code owners"): a line is a
// pattern and its owners; the last pattern that matches a path decides; a pattern
// without owners removes them. Patterns are those of gitignore without
// negation (`!`), classes (`[…]`) and escaped comments, and with one difference:
// `docs/*` matches the files in docs and not those in its folders. Lines that are not valid,
// and the section headings that GitLab adds, are skipped, as GitHub skips them.
//
// Matching a path costs time in proportion to its length and to the number of lines.
// The package does not know whether an owner exists.
package codeowners

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"regexp"
	"strings"

	"github.com/dendroprof/dendro/internal/plainfile"
)

// maxSize is the size above which GitHub does not load the file.
const maxSize = 3 << 20

// Owners is a CODEOWNERS file. The zero value is an empty file. It is safe for
// concurrent use.
type Owners struct {
	lines []line
}

type line struct {
	fits   *regexp.Regexp
	owners []string
}

// Read reads the first CODEOWNERS file of a repository, in the order in which
// GitHub looks: .github, the root, docs. Without a file there are no owners. A link that
// leads out of the repository is an error.
func Read(repository string) (*Owners, error) {
	root, err := os.OpenRoot(repository)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	for _, name := range []string{".github/CODEOWNERS", "CODEOWNERS", "docs/CODEOWNERS"} {
		data, err := plainfile.ReadIn(root, name, maxSize-1)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue
		case errors.Is(err, plainfile.ErrTooLarge):
			return &Owners{}, nil
		case err != nil:
			return nil, err
		}
		return Parse(string(data)), nil
	}
	return &Owners{}, nil
}

// Parse reads the text of a CODEOWNERS file.
func Parse(text string) *Owners {
	o := &Owners{}
	for l := range strings.Lines(text) {
		fields := split(l)
		if len(fields) == 0 || strings.ContainsAny(fields[0], "[]") || strings.HasPrefix(fields[0], "!") || strings.HasPrefix(fields[0], "^") {
			continue
		}
		re, err := compile(fields[0])
		if err != nil {
			continue
		}
		o.lines = append(o.lines, line{re, fields[1:]})
	}
	return o
}

// Of returns the owners of a path relative to the root of the repository, with
// slashes; nil when nobody owns it.
func (o *Owners) Of(file string) []string {
	file = strings.TrimPrefix(path.Clean(file), "/")
	for i := len(o.lines) - 1; i >= 0; i-- {
		if l := &o.lines[i]; l.fits.MatchString(file) {
			return l.owners
		}
	}
	return nil
}

// split returns the fields of a line: separated by blanks, which a backslash
// escapes, up to a comment.
func split(l string) []string {
	var fields []string
	var b strings.Builder
	end := func() {
		if b.Len() > 0 {
			fields = append(fields, b.String())
			b.Reset()
		}
	}
	for i := 0; i < len(l); i++ {
		switch c := l[i]; {
		case c == '\\' && i+1 < len(l) && (l[i+1] == ' ' || l[i+1] == '\t'):
			i++
			b.WriteByte(l[i])
		case c == '#' && b.Len() == 0:
			return fields
		case c == ' ' || c == '\t' || c == '\r' || c == '\n':
			end()
		default:
			b.WriteByte(c)
		}
	}
	end()
	return fields
}

// compile translates a pattern. It is anchored at the root if a slash is in it
// other than at its end; it also matches everything below a folder that it names.
func compile(pattern string) (*regexp.Regexp, error) {
	rest, folder := strings.CutSuffix(pattern, "/")
	anchored := strings.Contains(rest, "/")
	parts := strings.Split(strings.TrimPrefix(rest, "/"), "/")
	var b strings.Builder
	b.WriteString(`^`)
	if !anchored {
		b.WriteString(`(?:.*/)?`)
	}
	for i, p := range parts {
		last := i == len(parts)-1
		switch {
		case p == "**" && last:
			b.WriteString(`.+`)
		case p == "**":
			b.WriteString(`(?:.*/)?`)
		default:
			b.WriteString(globs.Replace(regexp.QuoteMeta(p)))
			if !last {
				b.WriteByte('/')
			}
		}
	}
	switch {
	case folder:
		b.WriteString(`/.*$`)
	case anchored && parts[len(parts)-1] == "*":
		b.WriteString(`$`)
	default:
		b.WriteString(`(?:/.*)?$`)
	}
	return regexp.Compile(b.String())
}

// globs translates one part of a path whose characters are quoted.
var globs = strings.NewReplacer(`\*`, `[^/]*`, `\?`, `[^/]`)
