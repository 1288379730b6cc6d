// Package coderepo tells of the repository of the profiled code, which only the client has:
// it answers what an analysis needs to know of it (facts.Repository), and finds the code of
// the changes in a report: file and line, owners, and what changed between the last good
// and the first bad commit.
//
// The git program is asked (package gitlog), and the file of owners is read (package
// codeowners). Nothing is written but gitlog's cache.
package coderepo

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/dendroprof/dendro/app/internal/codeowners"
	"github.com/dendroprof/dendro/app/internal/gitlog"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/query/facts"
	"github.com/dendroprof/dendro/report"
)

// Repository is a git repository by its top directory.
type Repository struct{ Dir string }

var _ facts.Repository = Repository{}

// Revision returns a commit, and which of some others are ancestors of it.
func (r Repository) Revision(ctx context.Context, name string, among []string) (*facts.Revision, error) {
	a, err := gitlog.ReadAncestors(ctx, r.Dir, name)
	if err != nil {
		return nil, err
	}
	revision := &facts.Revision{Commit: a.Commit, Shallow: a.Shallow, Ancestors: []string{}}
	for _, commit := range among {
		if a.Has(commit) {
			revision.Ancestors = append(revision.Ancestors, commit)
		}
	}
	return revision, nil
}

// Ages returns when the code of functions changed last, up to a revision.
func (r Repository) Ages(ctx context.Context, revision string, functions []facts.Place) (*facts.Ages, error) {
	log, err := readLog(ctx, r.Dir, revision)
	if err != nil {
		return nil, err
	}
	ages := &facts.Ages{Date: log.Date, Changed: map[string]int64{}}
	for _, f := range functions {
		if when, _, known := log.LastChange(&profile.Function{Name: f.Function, File: f.File}); known {
			ages.Changed[f.Function] = when.Unix()
		}
	}
	return ages, nil
}

// readLog reads the git repository at dir up to a revision; empty: what is checked out.
func readLog(ctx context.Context, dir, revision string) (*gitlog.Log, error) {
	cache := ""
	if dir, err := os.UserCacheDir(); err == nil {
		cache = filepath.Join(dir, "dendro", "git")
	}
	return gitlog.Read(ctx, dir, revision, cache)
}

// moduleFile returns the file at the top of a repository that describes its module; empty
// if there is none.
func moduleFile(repo string) string {
	for _, name := range []string{"go.mod", "pom.xml", "build.gradle", "build.gradle.kts", "package.json", "pyproject.toml", "Cargo.toml",
		"CMakeLists.txt"} {
		if _, err := os.Stat(filepath.Join(repo, name)); repo != "" && err == nil {
			return name
		}
	}
	return ""
}

// Locate finds the files of the functions that became slower, their owners, and what changed
// in them.
func (r Repository) Locate(ctx context.Context, doc *report.Report) error {
	doc.Module = moduleFile(r.Dir)
	if len(doc.Definitions) == 0 {
		return nil
	}
	owners, err := codeowners.Read(r.Dir)
	if err != nil {
		doc.Notes = append(doc.Notes, "owners of files are missing: "+err.Error())
		owners = &codeowners.Owners{}
	}
	log, err := readLog(ctx, r.Dir, "")
	if err != nil {
		doc.Notes = append(doc.Notes, "files are named as in the profiles: "+err.Error())
		return nil
	}
	var web gitlog.Web
	if head, err := gitlog.ReadHead(ctx, r.Dir); err == nil {
		web = gitlog.WebOf(head.Origin)
	}
	read, bumps := 0, bumpCache{}
	doc.Locate(func(c *report.Change, path []string) report.Place {
		var code *report.Code
		if read < mostCode {
			read++
			files, foreign := filesOf(log, doc.Definitions, c.Guilty())
			if doc.Module != "" {
				files = append(files, doc.Module)
			}
			from, to := doc.Commits[c.Since.LastGood], c.Since.Commit
			code = readCode(ctx, r.Dir, web, from, to, files, func(l gitlog.Line) bool {
				return l.File != doc.Module || aboutDependency(l, c.Guilty(), foreign)
			})
			if list := bumps.entered(ctx, r.Dir, from, to, definitionsOf(doc, c.Guilty())); len(list) > 0 {
				if code == nil {
					code = newCode(web, from, to)
				}
				code.Dependencies = list
			}
		}
		for _, name := range path {
			fn := doc.Definitions[name]
			if fn.Name == "" {
				continue
			}
			if _, file, _ := log.LastChange(&fn); file != "" {
				p := report.Place{At: name, File: file, Owners: owners.Of(file), Code: code}
				if filepath.Base(file) == filepath.Base(filepath.ToSlash(fn.File)) {
					p.Line = c.LineOf(&fn)
				}
				if c.Since.Commit != "" {
					p.Link = web.File(c.Since.Commit, file, p.Line)
				}
				return p
			}
		}
		fn := doc.Definitions[path[0]] // not the repository's
		return report.Place{At: path[0], File: fn.File, Line: c.LineOf(&fn), Code: code}
	})
	return nil
}

// Bounds of the search for changed code.
const (
	mostCode  = 10 // changes
	codeFiles = 5  // per change
)

// filesOf returns the files of the repository with the code of some functions, and whether
// the code of one is not in the repository.
func filesOf(log *gitlog.Log, functions map[string]profile.Function, names []string) (files []string, foreign bool) {
	for _, name := range names {
		fn := functions[name]
		if fn.Name == "" {
			continue
		}
		_, file, _ := log.LastChange(&fn)
		foreign = foreign || file == ""
		if file != "" && len(files) < codeFiles && !slices.Contains(files, file) {
			files = append(files, file)
		}
	}
	return files, foreign
}

// aboutDependency reports whether a changed line of the file that describes a module may be
// the cause of a change of some functions: a line of go.mod that requires or replaces the
// module of one of them, or selects the compiler; any line of another such file if the
// code of one is not in the repository (foreign).
func aboutDependency(l gitlog.Line, functions []string, foreign bool) bool {
	if filepath.Base(l.File) != "go.mod" {
		return foreign
	}
	fields := strings.Fields(l.Text)
	if len(fields) > 0 && (fields[0] == "require" || fields[0] == "replace") {
		fields = fields[1:]
	}
	if len(fields) == 0 {
		return false
	}
	module := fields[0]
	return module == "go" || module == "toolchain" || slices.ContainsFunc(functions, func(name string) bool {
		rest, ok := strings.CutPrefix(name, module)
		return ok && rest != "" && (rest[0] == '.' || rest[0] == '/')
	})
}

// readCode returns which lines of files changed between two commits; nil if that is unknown.
func readCode(ctx context.Context, repo string, web gitlog.Web, from, to string, files []string, keep func(gitlog.Line) bool) *report.Code {
	c, err := gitlog.ReadChanges(ctx, repo, from, to, files, keep)
	if err != nil || c == nil {
		return nil // the report is complete without it
	}
	code := newCode(web, c.From, c.To)
	code.MoreCommits, code.MoreLines = c.More, c.MoreLines
	for _, x := range c.Commits {
		code.Commits = append(code.Commits, report.CodeCommit{Commit: x.Commit, Author: x.Author, Subject: x.Subject, Link: web.Commit(x.Commit)})
	}
	for _, l := range c.Lines {
		code.Lines = append(code.Lines, report.CodeLine(l))
	}
	return code
}

func newCode(web gitlog.Web, from, to string) *report.Code {
	return &report.Code{From: from, To: to, Link: web.Compare(from, to), Commits: []report.CodeCommit{}, Lines: []report.CodeLine{}}
}
