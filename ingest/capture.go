package ingest

import (
	"bytes"
	"io"
	"slices"

	"github.com/klauspost/compress/zstd"
)

// capture copies everything read through it, so that the original can be stored with
// the profile. It drops content longer than limit.
type capture struct {
	r     io.Reader
	limit int64
	data  []byte
	over  bool
}

func newCapture(r io.Reader, limit int64) *capture { return &capture{r: r, limit: limit} }

// Read reads on and keeps what came.
func (c *capture) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	if !c.over {
		if c.over = int64(len(c.data)+n) > c.limit; c.over {
			c.data = nil
		} else {
			c.data = append(c.data, p[:n]...)
		}
	}
	return n, err
}

// attach adds the original to the profiles of a batch, compressed unless it already is.
// Members of an archive do not get it, because it would be stored with each of them.
func (c *capture) attach(b *batch) {
	if b.more || len(b.items) != 1 || len(b.items[0].files) == 0 {
		b.withoutOriginal()
		return
	}
	it := &b.items[0]
	if _, err := io.Copy(io.Discard, c); err != nil || c.over {
		it.result.Warnings = append(it.result.Warnings, "the original is not kept: it is too large (raise it with --max-message)")
		return
	}
	data := c.data
	if !compressed(data) {
		enc, err := zstd.NewWriter(nil)
		if err != nil {
			return
		}
		data = enc.EncodeAll(data, nil)
	}
	for _, f := range it.files {
		f.Source = data
	}
}

// withoutOriginal warns that the profiles of a batch, members of an archive, are stored
// without their originals.
func (b *batch) withoutOriginal() {
	for i := range b.items {
		if b.items[i].files != nil {
			b.items[i].result.Warnings = append(b.items[i].result.Warnings, "the original is not kept: it is a member of an archive")
		}
	}
}

// compressed reports whether data begins like gzip, zstd or zip.
func compressed(data []byte) bool {
	return slices.ContainsFunc([]string{"\x1f\x8b", "\x28\xb5\x2f\xfd", "PK\x03\x04"}, func(magic string) bool {
		return bytes.HasPrefix(data, []byte(magic))
	})
}
