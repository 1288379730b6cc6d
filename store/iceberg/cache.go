package iceberg

import (
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/dendroprof/dendro/internal/plainfile"
)

const (
	// cacheBytes is what the cached files of a bucket may come to.
	cacheBytes = 10 << 30
	// cacheUse is how long a file stays in the cache after it was used, whatever the size of
	// the cache: a query may not have opened it yet.
	cacheUse = time.Hour
	// transfers is the number of files that are sent or received at once.
	transfers = 8
)

// cacheDir returns the directory for the files of a bucket, below the user's cache
// directory.
func cacheDir(location string) (string, error) {
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	dir = filepath.Join(dir, "dendro", "lake", url.PathEscape(location))
	return dir, os.MkdirAll(dir, 0o700)
}

// each calls f for several paths at once. The first error ends it.
func each(ctx context.Context, paths []string, f func(context.Context, string) error) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(transfers)
	for _, p := range paths {
		g.Go(func() error { return f(ctx, p) })
	}
	return g.Wait()
}

// key returns the key of the file with a path.
func (w *warehouse) key(path string) string {
	return w.prefix + filepath.ToSlash(path[len(w.dir)+1:])
}

// upload stores a file in the bucket. The cache has it then.
func (w *warehouse) upload(ctx context.Context, path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	return w.bucket.Write(ctx, w.key(path), f, info.Size())
}

// download brings the files into the cache that it does not have.
func (w *warehouse) download(ctx context.Context, paths []string) error {
	now := time.Now()
	var missing []string
	for _, p := range paths {
		switch err := os.Chtimes(p, now, now); {
		case errors.Is(err, fs.ErrNotExist):
			missing = append(missing, p)
		case err != nil:
			return err
		}
	}
	if len(missing) == 0 {
		return ctx.Err()
	}
	err := each(ctx, missing, func(ctx context.Context, path string) error {
		from, err := w.bucket.Read(ctx, w.key(path))
		if err != nil {
			return err
		}
		defer from.Close()
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return err
		}
		return plainfile.Replace(path, func(f *os.File) error {
			_, err := io.Copy(f, from)
			return err
		})
	})
	if err != nil {
		return err
	}
	return evict(w.dir, cacheBytes, now.Add(-cacheUse))
}

// evict removes the files of a cache that were not used for the longest time, until the
// others have at most limit bytes. Files that were used since a time stay.
func evict(dir string, limit int64, since time.Time) error {
	type file struct {
		path string
		size int64
		used time.Time
	}
	var files []file
	var size int64
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if errors.Is(err, fs.ErrNotExist) {
			return nil // removed meanwhile
		} else if err != nil {
			return err
		}
		files = append(files, file{path, info.Size(), info.ModTime()})
		size += info.Size()
		return nil
	})
	if err != nil {
		return err
	}
	slices.SortFunc(files, func(a, b file) int { return cmp.Or(a.used.Compare(b.used), cmp.Compare(a.path, b.path)) })
	for _, f := range files {
		if size <= limit || !f.used.Before(since) {
			break
		}
		if err := os.Remove(f.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		size -= f.size
	}
	return nil
}
