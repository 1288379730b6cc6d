package ingest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/dendroprof/dendro/internal/plainfile"
	"github.com/dendroprof/dendro/profile"
)

// Source is one input: a file, an archive, or a stream.
type Source struct {
	Name  string // for messages and the layout
	Open  func() (io.ReadCloser, error)
	Label Label     // from flags, manifest and sidecar
	Mtime time.Time // of the file; zero for streams
	Size  int64     // bytes; 0 when unknown
	// Named: the user named this file, so it is an error if it is not a profile. Files
	// found in a directory are skipped instead.
	Named bool
}

// FileSource returns the source of a file on disk.
func FileSource(name string) Source {
	s := Source{Name: name, Named: true, Open: func() (io.ReadCloser, error) { return os.Open(name) }}
	if info, err := os.Stat(name); err == nil {
		s.Mtime, s.Size = info.ModTime(), info.Size()
	}
	return s
}

// FSSource returns the source of a file in a file system, such as an embedded
// one.
func FSSource(fsys fs.FS, name string) Source {
	return Source{Name: name, Named: true, Open: func() (io.ReadCloser, error) { return fsys.Open(name) }}
}

// ReaderSource returns the source of a stream that is read once.
func ReaderSource(name string, r io.Reader) Source {
	return Source{Name: name, Named: true, Open: func() (io.ReadCloser, error) { return io.NopCloser(r), nil }}
}

// MemorySource returns the source of content in memory. It is read in place if the
// format allows that, and must not change before.
func MemorySource(name string, content []byte) Source {
	open := func() (io.ReadCloser, error) { return memory{bytes.NewBuffer(content)}, nil }
	return Source{Name: name, Named: true, Size: int64(len(content)), Open: open}
}

// memory is the content of a MemorySource.
type memory struct{ *bytes.Buffer }

// Close implements io.Closer.
func (memory) Close() error { return nil }

// Unite merges sources with those of a manifest: a file in both is one source, at its
// place in sources, and the manifest's label takes precedence.
func Unite(sources, manifest []Source) []Source {
	at := map[string]int{}
	for i := range sources {
		at[filepath.Clean(sources[i].Name)] = i
	}
	for _, m := range manifest {
		if i, ok := at[filepath.Clean(m.Name)]; ok {
			s := &sources[i]
			s.Label, s.Named = m.Label.Or(s.Label), true
			continue
		}
		sources = append(sources, m)
	}
	return sources
}

// Expand resolves arguments to sources: files, directories (walked, sorted), globs, and
// "-" for stdin. A sidecar (`FILE.json` beside FILE) is not a source; it labels its
// file. It returns all sources found, and the joined errors of single arguments.
func Expand(args []string, stdin io.Reader) ([]Source, error) {
	var sources []Source
	var errs []error
	for _, arg := range args {
		if arg == "-" {
			sources = append(sources, ReaderSource("stdin", stdin))
			continue
		}
		found, err := expandPath(arg)
		sources = append(sources, found...)
		errs = append(errs, err)
	}
	return sources, errors.Join(errs...)
}

func expandPath(arg string) ([]Source, error) {
	info, err := os.Stat(arg)
	if err != nil {
		matches, globErr := filepath.Glob(arg)
		if globErr != nil || len(matches) == 0 {
			if place, ok := errors.AsType[*fs.PathError](err); ok {
				err = fmt.Errorf("%s: %w", arg, place.Err)
			}
			return nil, err
		}
		var sources []Source
		var errs []error
		for _, m := range matches {
			if isSidecar(m) {
				continue
			}
			found, err := expandPath(m)
			sources = append(sources, found...)
			errs = append(errs, err)
		}
		return sources, errors.Join(errs...)
	}
	if !info.IsDir() {
		s, err := withSidecar(FileSource(arg))
		return []Source{s}, err
	}
	return walk(arg)
}

// walk lists the files below a directory in lexical order, without hidden files and
// folders. Symbolic links are sources that are not profiles.
func walk(dir string) ([]Source, error) {
	var sources []Source
	var errs []error
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			errs = append(errs, err)
			if d != nil && d.IsDir() {
				return fs.SkipDir
			}
		case name != dir && strings.HasPrefix(d.Name(), "."):
			if d.IsDir() {
				return fs.SkipDir
			}
		case d.Type()&fs.ModeSymlink != 0:
			sources = append(sources, Source{Name: name, Open: func() (io.ReadCloser, error) { return link{}, nil }})
		case d.Type().IsRegular():
			s := FileSource(name)
			s.Named = false
			sources = append(sources, s)
		}
		return nil
	})
	sources, labelErr := WithSidecars(sources)
	return sources, errors.Join(append(errs, err, labelErr)...)
}

// link is a symbolic link in a directory: it is not followed, and reported as not a
// profile.
type link struct{}

var errLink = fmt.Errorf("%w: a symbolic link, not followed in directories", profile.ErrUnrecognized)

func (link) Read([]byte) (int, error) { return 0, errLink }

func (link) Close() error { return nil }

// SidecarSuffix ends the name of a file that labels another one: FILE.json.
const SidecarSuffix = ".json"

// WithSidecars labels the files of a listing by their sidecars, which it removes. The error
// joins those of single sidecars; their files have no label.
func WithSidecars(list []Source) (files []Source, err error) {
	at := make(map[string]int, len(list))
	for i := range list {
		at[list[i].Name] = i
	}
	var errs []error
	sidecar := make([]bool, len(list))
	for i := range list {
		of, ok := strings.CutSuffix(list[i].Name, SidecarSuffix)
		if k, found := at[of]; ok && found {
			sidecar[i] = true
			errs = append(errs, list[k].readLabel(&list[i]))
		}
	}
	for i := range list {
		if !sidecar[i] {
			files = append(files, list[i])
		}
	}
	return files, errors.Join(errs...)
}

// isSidecar reports whether a file labels another one beside it.
func isSidecar(name string) bool {
	of, ok := strings.CutSuffix(name, SidecarSuffix)
	if !ok {
		return false
	}
	info, err := os.Stat(of)
	return err == nil && info.Mode().IsRegular()
}

// withSidecar labels a file by its sidecar, if there is one.
func withSidecar(s Source) (Source, error) {
	sidecar := FileSource(s.Name + SidecarSuffix)
	sidecar.Open = func() (io.ReadCloser, error) { // a pipe of that name is no sidecar
		data, err := plainfile.Read(sidecar.Name, maxSmall)
		return io.NopCloser(bytes.NewReader(data)), err
	}
	err := s.readLabel(&sidecar)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return s, err
}

// readLabel reads the label of s from its sidecar.
func (s *Source) readLabel(sidecar *Source) error {
	data, err := sidecar.readSmall()
	if err != nil {
		return err
	}
	var e entry
	if err := decodeJSON(sidecar.Name, data, &e); err != nil {
		return err
	}
	if s.Label, err = e.label(); err != nil {
		err = fmt.Errorf("%s: %w", sidecar.Name, err)
	}
	return err
}

// ReadManifest returns the sources of a manifest: a JSON list of objects with `file`
// (relative to the manifest) and its label.
func ReadManifest(name string) ([]Source, error) {
	file := FileSource(name)
	data, err := file.readSmall()
	if err != nil {
		return nil, err
	}
	dir := filepath.Dir(name)
	return manifest(name, data, func(file string) Source {
		if !filepath.IsAbs(file) {
			file = filepath.Join(dir, filepath.FromSlash(file))
		}
		return FileSource(file)
	})
}

// ReadManifestFS is ReadManifest in a file system.
func ReadManifestFS(fsys fs.FS, name string) ([]Source, error) {
	data, err := fs.ReadFile(fsys, name)
	if err != nil {
		return nil, err
	}
	return manifest(name, data, func(file string) Source { return FSSource(fsys, path.Join(path.Dir(name), file)) })
}

func manifest(name string, data []byte, open func(file string) Source) ([]Source, error) {
	var entries []entry
	if err := decodeJSON(name, data, &entries); err != nil {
		return nil, fmt.Errorf("%w (a manifest is a list of objects)", err)
	}
	var sources []Source
	var faults []error
	at, more := map[string]int{}, map[int]int{} // a fault is one line, whatever the number of its entries
	for i := range entries {
		e := &entries[i]
		label, err := e.label()
		if err == nil && e.File == "" {
			err = errors.New("no file")
		}
		if err != nil {
			if k, ok := at[err.Error()]; ok {
				more[k]++
				continue
			}
			at[err.Error()] = len(faults)
			faults = append(faults, fmt.Errorf("%s: entry %d (%s): %w", name, i+1, e.File, err))
			continue
		}
		s := open(e.File)
		s.Label = label
		sources = append(sources, s)
	}
	for k, n := range more {
		faults[k] = fmt.Errorf("%w … and %d more of these", faults[k], n)
	}
	return slices.Clip(sources), errors.Join(faults...)
}

// maxSmall is the maximum size of a file of metadata, in bytes.
const maxSmall = 64 << 20

// readSmall reads a file of metadata.
func (s *Source) readSmall() ([]byte, error) {
	f, err := s.Open()
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxSmall+1))
	if err == nil && len(data) > maxSmall {
		err = fmt.Errorf("%s is larger than %d bytes", s.Name, maxSmall)
	}
	return data, err
}
