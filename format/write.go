package format

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/dendroprof/dendro/profile"
)

// Write writes one sample table of p, or with table -1 all of them.
func Write(w io.Writer, p *profile.Profile, table int, f *Format, c Compression) error {
	if f.Encode == nil {
		return fmt.Errorf("the format %s is only read, not written", f.Name)
	}
	switch c {
	case Gzip:
		zw := gzip.NewWriter(w)
		return errors.Join(f.Encode(zw, p, table), zw.Close())
	case Zstd:
		zw, err := zstd.NewWriter(w, zstd.WithEncoderConcurrency(1))
		if err != nil {
			return err
		}
		return errors.Join(f.Encode(zw, p, table), zw.Close())
	}
	return f.Encode(w, p, table)
}

// Create writes one sample table of p, or with table -1 all of them, to a file
// in the format and compression of its name. A file that could not be written
// to its end is removed.
func Create(filename string, p *profile.Profile, table int) error {
	f, c, err := ByExtension(filename)
	if err != nil {
		return err
	}
	out, err := os.Create(filename)
	if err != nil {
		return err
	}
	err = errors.Join(Write(out, p, table, f, c), out.Close())
	if info, e := os.Lstat(filename); err != nil && e == nil && info.Mode().IsRegular() {
		err = errors.Join(err, os.Remove(filename))
	}
	return err
}
