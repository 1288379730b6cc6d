package record

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/dendroprof/dendro/ingest"
	"github.com/dendroprof/dendro/internal/bucket"
)

// withBuckets returns the sources of addresses of object storage among arguments, and the
// other arguments. Its error joins those of single addresses.
func withBuckets(ctx context.Context, args []string) (sources []ingest.Source, rest []string, err error) {
	var errs []error
	for _, arg := range args {
		if !bucket.Is(arg) {
			rest = append(rest, arg)
			continue
		}
		found, err := listBucket(ctx, arg)
		sources = append(sources, found...)
		errs = append(errs, err)
	}
	return sources, rest, errors.Join(errs...)
}

// listBucket returns the object with an address and its sidecar, or those below it as the
// files of a directory.
func listBucket(ctx context.Context, address string) ([]ingest.Source, error) {
	b, key, err := bucket.Open(ctx, address)
	if err != nil {
		return nil, err
	}
	below := key
	if key != "" {
		below = strings.TrimSuffix(key, "/") + "/"
	}
	var list []ingest.Source
	for o, err := range b.List(ctx, key) {
		if err != nil {
			return nil, err
		}
		rel, inside := strings.CutPrefix(o.Key, below)
		switch {
		case o.Key == key, o.Key == key+ingest.SidecarSuffix && len(list) == 1 && list[0].Named:
		case !inside || rel == "" || strings.HasSuffix(rel, "/") || strings.HasPrefix(rel, ".") || strings.Contains(rel, "/."):
			continue // a neighbour, a folder, or hidden
		}
		list = append(list, ingest.Source{Name: strings.TrimSuffix(address, key) + o.Key, Open: opener(ctx, b, o.Key), Mtime: o.Modified,
			Size: o.Size, Named: o.Key == key})
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("%s: no object has this key, or one that begins with %s/", address, strings.TrimSuffix(key, "/"))
	}
	return ingest.WithSidecars(list)
}

// opener returns a function that opens an object. The time limit of downloads applies to
// reading it.
func opener(ctx context.Context, b bucket.Bucket, key string) func() (io.ReadCloser, error) {
	return func() (io.ReadCloser, error) {
		ctx, cancel := context.WithTimeout(ctx, downloadWhole)
		r, err := b.Read(ctx, key)
		if err != nil {
			cancel()
			return nil, err
		}
		return &opened{r, cancel}, nil
	}
}

// opened is the content of an object that is being read.
type opened struct {
	io.ReadCloser
	cancel context.CancelFunc
}

// Close implements io.Closer.
func (o *opened) Close() error {
	defer o.cancel()
	return o.ReadCloser.Close()
}
