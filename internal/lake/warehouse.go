package lake

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"
)

// warehouse is where the files of a lake are. A file has a location, by which Iceberg's
// metadata knows it, and a path on this machine; both end with the same names.
type warehouse struct {
	url string // where locations begin, without a slash at the end
	dir string // where paths begin, absolute
}

// newWarehouse returns the warehouse at a URL. Dir, if not empty, is where its directory is
// now.
func newWarehouse(location, dir string) (*warehouse, error) {
	if scheme, _, ok := strings.Cut(location, "://"); ok && scheme != "file" {
		return nil, fmt.Errorf("warehouse %s: not a directory", location)
	}
	if dir == "" {
		dir = filepath.FromSlash(plain(location))
	}
	return &warehouse{url: location, dir: dir}, nil
}

// urlOf returns the URL of a directory.
func urlOf(dir string) string {
	return (&url.URL{Scheme: "file", Path: filepath.ToSlash(dir)}).String()
}

// plain returns a location without its scheme: one file has several, such as file:/x and
// file:///x.
func plain(location string) string {
	u, err := url.Parse(location)
	if err != nil || u.Scheme == "" {
		return location
	}
	return path.Join("/", u.Host, u.Path)
}

// path returns the path of the file at a location. One outside of the warehouse has no
// path: using it is an error.
func (w *warehouse) path(location string) string {
	name, inside := strings.CutPrefix(plain(location), plain(w.url)+"/")
	if !inside || !filepath.IsLocal(filepath.FromSlash(name)) {
		return location
	}
	return filepath.Join(w.dir, filepath.FromSlash(name))
}

// location is the inverse of path.
func (w *warehouse) location(path string) string {
	return w.url + filepath.ToSlash(strings.TrimPrefix(path, w.dir))
}

// fetch makes sure that programs of this machine can read files.
func (w *warehouse) fetch(ctx context.Context, paths ...string) error {
	for _, p := range paths {
		if !strings.HasPrefix(p, w.dir+string(filepath.Separator)) {
			return fmt.Errorf("%s is not a file of the lake", p)
		}
	}
	return ctx.Err()
}

// read returns the content of a file.
func (w *warehouse) read(ctx context.Context, path string) ([]byte, error) {
	if err := w.fetch(ctx, path); err != nil {
		return nil, err
	}
	return os.ReadFile(path)
}

// keep makes a file durable that a program of this machine wrote.
func (w *warehouse) keep(ctx context.Context, paths ...string) error {
	for _, p := range paths {
		f, err := os.Open(p)
		if err != nil {
			return err
		}
		if err := errors.Join(f.Sync(), f.Close()); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// create writes a new file and makes it durable.
func (w *warehouse) create(ctx context.Context, path string, write func(io.Writer) error) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o666)
	if err != nil {
		return err
	}
	if err = errors.Join(write(f), f.Close()); err == nil {
		err = w.keep(ctx, path)
	}
	if err != nil {
		w.remove(ctx, path)
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// remove removes files; those that are not there are no error.
func (w *warehouse) remove(_ context.Context, paths ...string) error {
	for _, p := range paths {
		if err := os.Remove(p); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// each calls f with the files below a directory and the times of their last change.
func (w *warehouse) each(_ context.Context, dir string, f func(path string, changed time.Time) error) error {
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		return f(path, info.ModTime())
	})
}
