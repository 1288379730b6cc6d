// Package gitlog answers questions about the code of functions from a local git
// repository: when it was changed last (Log), what changed between two commits (Changes),
// what its lines are (Sources), and what is checked out (Head, Ancestors).
//
// Read walks the history of a commit once and keeps, for every file that the
// commit has, the date of the last commit that touched it. Log.LastChange maps the
// name of a function to files (names.go) and takes the newest of them.
//
// The git program does the walking: for the names of files changed in tens of
// thousands of commits it is an order of magnitude faster than the libraries that
// read repositories, because it compares trees without reading the blobs. Merge commits
// themselves touch nothing; renames touch the new name. The change of files that were not
// touched within Horizon is unknown, and so is that of files that were not touched since a
// shallow clone begins.
//
// # The author of a repository is not trusted
//
// A repository may come from an archive, a shared directory, or a clone that has a bare
// repository in one of its folders, and git does what its configuration, hooks and attributes
// say: status and diff start filters, external diffs and monitors; an object that a partial
// clone lacks starts ssh or a request; core.worktree moves the working tree anywhere. The list
// grows with every version of git, so this package shows git another repository
// (repository.go): a temporary git directory with links to objects, references and the index, a
// copy of HEAD, and a configuration of our own, which takes over how files are encoded and
// compared and what branches follow (the list harmless), and nothing that names a command, an
// address or a path. Variables GIT_* and the configuration of user and machine do not reach git.
//
//   - Nothing runs. Files that pass through a filter (Git LFS) are not compared: changes of them do
//     not make a run dirty. Submodules are not entered.
//   - Nothing is fetched. What a partial clone lacks is an error that says so.
//   - The working tree is the directory with .git, and files are not read through links that lead
//     out of it. Files are regular and have a maximum size (internal/plainfile).
//   - What has no end ends: a command has two minutes, 2 GiB of memory (on Linux), a million files.
//   - Nothing is changed: git takes no locks and does not update the index.
//
// Who owns a repository (safe.directory) is not checked, because it cannot run anything: checkouts
// of other users, as in containers, can be read. A repository can still answer wrongly, and its
// objects may be borrowed from other directories, as by git clone --reference.
//
// Rejected: git with safe settings, because each way needs one that old versions do not have, and
// drivers have any name; go-git, because the last change of every file takes it many times as long,
// and version 5 does not read SHA-256 repositories, reftables, partial clones and sparse indexes.
//
// What was read of a full clone is cached in a directory of the caller's, one file per
// repository and commit, so that a second question costs milliseconds. The package knows no
// profiles but for the names in them, and does not weigh what it finds.
package gitlog

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/dendroprof/dendro/internal/plainfile"
	"github.com/dendroprof/dendro/profile"
)

// Log is the last change of every file of one commit. It is safe for concurrent
// use.
type Log struct {
	Commit string    // full hash
	Date   time.Time // of the commit

	kept  kept
	once  sync.Once
	index *index
}

// kept is what the cache holds.
type kept struct {
	Version int               `json:"version"`
	Commit  string            `json:"commit"`
	Date    int64             `json:"date"`    // Unix seconds
	Files   map[string]int64  `json:"files"`   // path → last change in Unix seconds; 0: not known
	Modules map[string]string `json:"modules"` // Go module path → its directory
}

// Horizon is how far before the commit the walk goes: beyond a year the age of a
// change tells nothing about a regression, and histories are long.
const Horizon = 366 * 24 * time.Hour

// cacheVersion changes when kept does.
const cacheVersion = 2

// maxModules is the maximum number of go.mod files to read.
const maxModules = 256

// Read reads the history of a revision (empty: HEAD) of the repository at dir, which
// may be any directory in it. Cache is a directory that is made when it is needed;
// empty: nothing is cached. A cache that cannot be written costs time and is no error.
func Read(ctx context.Context, dir, revision, cache string) (*Log, error) {
	revision = cmp.Or(revision, "HEAD")
	var k kept
	err := with(ctx, dir, func(r *repository) error {
		commit, err := r.commit(revision)
		if err != nil {
			return err
		}
		name := ""
		if cache != "" {
			key := sha256.Sum256([]byte(r.git))
			name = filepath.Join(cache, hex.EncodeToString(key[:8])+"-"+commit+".json")
			var ok bool
			if k, ok = load(name, commit); ok {
				return nil
			}
		}
		shallow, err := r.isShallow()
		if err != nil {
			return err
		}
		// A shallow clone is not cached: it may get the rest of its history.
		if k, err = r.walk(commit, shallow); err == nil && name != "" && !shallow {
			save(name, k)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return &Log{Commit: k.Commit, Date: time.Unix(k.Date, 0).UTC(), kept: k}, nil
}

// LastChange returns when the code of a function was changed last, and in which file. Of
// several files that could hold it, it is the newest change: an upper bound. If no change is
// known, as in a shallow clone, file is the only one that can hold it, otherwise empty.
func (l *Log) LastChange(fn *profile.Function) (when time.Time, file string, known bool) {
	l.once.Do(func() { l.index = newIndex(l.kept.Files, l.kept.Modules) })
	newest := int64(0)
	files := l.index.files(fn)
	for _, f := range files {
		if t := l.kept.Files[f]; t > newest || t == newest && t > 0 && f < file {
			newest, file = t, f
		}
	}
	switch {
	case newest > 0:
		return time.Unix(newest, 0).UTC(), file, true
	case len(files) == 1:
		file = files[0]
	}
	return time.Time{}, file, false
}

// walk reads the files of a commit and when each was touched last.
func (r *repository) walk(commit string, shallow bool) (kept, error) {
	k := kept{Version: cacheVersion, Commit: commit, Files: map[string]int64{}, Modules: map[string]string{}}
	if err := r.files(commit, func(name string) { k.Files[name] = 0 }); err != nil {
		return k, err
	}
	made, err := r.date(commit)
	if err != nil {
		return k, err
	}
	k.Date = made.Unix()
	// The first commit of a cut history would touch every file.
	roots := strconv.FormatBool(!shallow)
	// With -z a commit is a line of the format, and a NUL behind it and each name.
	args := []string{"-c", "log.showRoot=" + roots, "log", "-z", "--name-only", "--no-renames", "--no-ext-diff", "--no-textconv",
		"--no-notes", "--ignore-submodules=dirty", "--format=" + commitMark + "%ct"}
	since := k.Date - int64(Horizon/time.Second)
	if since > 0 {
		args = append(args, "--since=@"+strconv.FormatInt(since, 10))
	}
	date := int64(0)
	err = r.stream(fields(func(field string) error {
		field = strings.TrimPrefix(field, "\n")
		if text, ok := strings.CutPrefix(field, commitMark); ok {
			date, err = strconv.ParseInt(text, 10, 64)
			return err
		}
		if known, ok := k.Files[field]; ok && date > known {
			k.Files[field] = date
		}
		return nil
	}), append(args, commit, "--")...)
	if err != nil {
		return k, err
	}
	return k, r.modules(&k)
}

// commitMark begins the field of a commit; no path begins like that.
const commitMark = "//"

// modules reads which Go modules the commit has.
func (r *repository) modules(k *kept) error {
	n := 0
	for name := range k.Files {
		if name != "go.mod" && !strings.HasSuffix(name, "/go.mod") {
			continue
		}
		if n++; n > maxModules {
			return nil
		}
		text, err := r.text("cat-file", "blob", k.Commit+":"+name)
		if err != nil {
			return err
		}
		for line := range strings.Lines(text) {
			if module, ok := strings.CutPrefix(strings.TrimSpace(line), "module "); ok {
				k.Modules[strings.Trim(strings.TrimSpace(module), `"`)] = strings.TrimSuffix(strings.TrimSuffix(name, "go.mod"), "/")
				break
			}
		}
	}
	return nil
}

// load reads a cache file; false when there is none that fits.
func load(name, commit string) (k kept, ok bool) {
	data, err := os.ReadFile(name)
	if err != nil || json.Unmarshal(data, &k) != nil || k.Version != cacheVersion || k.Commit != commit {
		return kept{}, false
	}
	return k, true
}

// cacheAge is how long an unused commit stays in the cache.
const cacheAge = 30 * 24 * time.Hour

// save writes a cache file, and removes old ones.
func save(name string, k kept) {
	dir := filepath.Dir(name)
	data, err := json.Marshal(k)
	if err != nil || os.MkdirAll(dir, 0o755) != nil {
		return
	}
	_ = plainfile.Replace(name, func(f *os.File) error { // it would only have saved time
		_, err := f.Write(data)
		return err
	})
	old, _ := filepath.Glob(filepath.Join(dir, "*-*.json"))
	for _, file := range old {
		if info, err := os.Stat(file); err == nil && time.Since(info.ModTime()) > cacheAge {
			os.Remove(file)
		}
	}
}
