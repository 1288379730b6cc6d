package gitlog

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/dendroprof/dendro/internal/plainfile"
	"github.com/dendroprof/dendro/profile"
)

// Limits of source files: what is larger is no source that a person reads.
const (
	maxSource  = 4 << 20
	maxSources = 500_000
)

// Sources are the source files below a directory, found by the paths that profiles have
// for them. It belongs to one goroutine.
type Sources struct {
	root  *os.Root // nil: the files of a commit
	index *index
	read  map[string][]string // lines by path; nil: cannot be read

	commit string // full hash; empty: the files of root
	blob   func(path string) ([]byte, error)
}

// OpenSourcesAt lists the files of a commit of the repository that a directory is in, or if it
// has no such commit, as OpenSources does, those of the directory: Sources.Commit tells which.
func OpenSourcesAt(ctx context.Context, dir, commit string) (*Sources, error) {
	if commit == "" {
		return OpenSources(ctx, dir)
	}
	s, files := &Sources{read: map[string][]string{}}, map[string]int64{}
	err := with(ctx, dir, func(r *repository) (err error) {
		if s.commit, err = r.commit(commit); err != nil {
			return err
		}
		return r.files(s.commit, func(path string) {
			if len(files) < maxSources {
				files[path] = 0
			}
		})
	})
	if err != nil {
		return OpenSources(ctx, dir)
	}
	s.index = newIndex(files, nil)
	s.blob = func(path string) (content []byte, err error) {
		content = []byte{}
		return content, with(ctx, dir, func(r *repository) error { return r.file(s.commit, path, &content) })
	}
	return s, nil
}

// Commit returns the commit that the text is of; empty: what is in the directory.
func (s *Sources) Commit() string { return s.commit }

// OpenSources lists the files below a directory: those that git tracks if it is in a
// repository, otherwise all that are not in a hidden directory.
func OpenSources(ctx context.Context, dir string) (*Sources, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	files := map[string]int64{}
	err = with(ctx, dir, func(r *repository) error { // what git tracks, or would
		return r.run(r.inTree(dir, "ls-files", "-z", "--cached", "--others", "--exclude-standard"), paths(func(path string) { files[path] = 0 }))
	})
	if err != nil {
		clear(files)
		err = walkSources(root, files)
	}
	if err != nil {
		return nil, errors.Join(err, root.Close())
	}
	return &Sources{root: root, index: newIndex(files, nil), read: map[string][]string{}}, nil
}

func walkSources(root *os.Root, files map[string]int64) error {
	return fs.WalkDir(root.FS(), ".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return nil // a directory that cannot be read has no sources
		case d.IsDir() && path != "." && strings.HasPrefix(d.Name(), "."):
			return fs.SkipDir
		case len(files) >= maxSources:
			return fs.SkipAll
		case d.Type().IsRegular():
			files[path] = 0
		}
		return nil
	})
}

// Close closes the directory.
func (s *Sources) Close() error {
	if s.root == nil {
		return nil
	}
	return s.root.Close()
}

// File returns the path in the repository of the file that a function is in; empty if no
// file, or more than one, has the path of the profile.
func (s *Sources) File(fn *profile.Function) string {
	_, file := place(fn)
	if file == "" {
		return ""
	}
	if found := s.index.bySuffix(file); len(found) == 1 {
		return found[0]
	}
	return ""
}

// Lines returns the lines of the file that a function is in, by the path in the profile;
// nil if no file, or more than one, has such a path. Files outside of the directory are
// never read, whatever links and paths say.
func (s *Sources) Lines(fn *profile.Function) []string {
	name := s.File(fn)
	if name == "" {
		return nil
	}
	lines, ok := s.read[name]
	if !ok {
		read := s.blob
		if read == nil {
			read = func(name string) ([]byte, error) {
				return plainfile.ReadIn(s.root, filepath.FromSlash(name), maxSource)
			}
		}
		if text, err := read(name); err == nil && len(text) <= maxSource {
			lines = slices.Collect(strings.Lines(string(text)))
		}
		for i := range lines {
			lines[i] = strings.TrimRight(lines[i], "\r\n")
		}
		s.read[name] = lines
	}
	return lines
}
