package iceberg

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/dendroprof/dendro/internal/bucket"
)

// warehouse is where the files of a lake are: a directory, or a bucket. A file has a
// location, by which Iceberg's metadata knows it, and a path on this machine; both end with
// the same names. No file ever changes.
type warehouse struct {
	url    string        // where locations begin, without a slash at the end
	dir    string        // where paths begin, absolute
	bucket bucket.Bucket // nil: dir has the files; otherwise dir is a cache of the bucket
	prefix string        // where the keys of the bucket begin
}

// newWarehouse returns the warehouse at a URL. Dir, if not empty, is where its directory is
// now.
func newWarehouse(ctx context.Context, location, dir string) (w *warehouse, err error) {
	w = &warehouse{url: location, dir: dir}
	switch {
	case bucket.Is(location):
		if w.bucket, w.prefix, err = bucket.Open(ctx, location+"/"); err != nil {
			return nil, err
		}
		if w.dir, err = cacheDir(location); err != nil {
			return nil, err
		}
	case dir == "":
		w.dir = filepath.FromSlash(plain(location))
	}
	return w, nil
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
	if w.bucket == nil {
		return ctx.Err()
	}
	return w.download(ctx, paths)
}

// read returns the content of a file.
func (w *warehouse) read(ctx context.Context, path string) ([]byte, error) {
	if err := w.fetch(ctx, path); err != nil {
		return nil, err
	}
	return os.ReadFile(path)
}

// keep makes files durable that programs of this machine wrote.
func (w *warehouse) keep(ctx context.Context, paths ...string) error {
	if w.bucket != nil {
		return each(ctx, paths, w.upload)
	}
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
func (w *warehouse) create(ctx context.Context, path string, content []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o666)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	if err = errors.Join(err, f.Close()); err == nil {
		err = w.keep(ctx, path)
	}
	if err != nil {
		w.remove(ctx, path)
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// remove removes files; those that are not there are no error.
func (w *warehouse) remove(ctx context.Context, paths ...string) error {
	for _, p := range paths {
		if err := os.Remove(p); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	if w.bucket == nil {
		return nil
	}
	return each(ctx, paths, func(ctx context.Context, p string) error { return w.bucket.Delete(ctx, w.key(p)) })
}

// before lists the files of a table that were last changed before a time.
func (w *warehouse) before(ctx context.Context, table string, limit time.Time) (paths []string, err error) {
	if w.bucket != nil {
		for o, err := range w.bucket.List(ctx, w.prefix+table+"/") {
			if err != nil {
				return nil, err
			}
			// A key may be any text, such as one with "..": no file of a lake has it.
			if name := filepath.FromSlash(strings.TrimPrefix(o.Key, w.prefix)); o.Modified.Before(limit) && filepath.IsLocal(name) &&
				filepath.Clean(name) == name {
				paths = append(paths, filepath.Join(w.dir, name))
			}
		}
		return paths, nil
	}
	return paths, filepath.WalkDir(filepath.Join(w.dir, table), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err == nil && info.ModTime().Before(limit) {
			paths = append(paths, path)
		}
		return err
	})
}
