package format

import (
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"

	"github.com/dendroprof/dendro/profile"
)

// Write writes one sample table of p, or with table -1 all that the format holds.
func Write(w io.Writer, p *profile.Profile, table int, f *Format, c Compression) error {
	if f.Encode == nil {
		return fmt.Errorf("%s is read, not written", f.Title)
	}
	return Pack(w, c, func(w io.Writer) error { return f.Encode(w, p, table) })
}

// Pack compresses what write writes.
func Pack(w io.Writer, c Compression, write func(w io.Writer) error) error {
	switch c {
	case Gzip:
		zw := gzip.NewWriter(w)
		return errors.Join(write(zw), zw.Close())
	case Zstd:
		zw, err := zstd.NewWriter(w, zstd.WithEncoderConcurrency(1))
		if err != nil {
			return err
		}
		return errors.Join(write(zw), zw.Close())
	case LZ4:
		zw := lz4.NewWriter(w)
		return errors.Join(write(zw), zw.Close())
	}
	return write(w)
}
