package command

import (
	"io"
	"os"

	"github.com/dendroprof/dendro/ingest"
)

// metered returns sources whose files on disk report the bytes that are read of them. The
// function may be called by several goroutines.
func metered(sources []ingest.Source, read func(n int)) {
	for i := range sources {
		open := sources[i].Open
		sources[i].Open = func() (io.ReadCloser, error) {
			in, err := open()
			f, ok := in.(*os.File)
			if err != nil || !ok {
				return in, err
			}
			info, err := f.Stat()
			if err != nil || !info.Mode().IsRegular() {
				return in, err
			}
			return &meteredFile{f, info.Size(), read}, nil
		}
	}
}

// meteredFile is a file that can still be read anywhere, as archives need it.
type meteredFile struct {
	*os.File
	size int64
	read func(n int)
}

// Size returns the size that the file had when it was opened.
func (f *meteredFile) Size() int64 { return f.size }

func (f *meteredFile) Read(b []byte) (int, error) {
	n, err := f.File.Read(b)
	f.read(n)
	return n, err
}

func (f *meteredFile) ReadAt(b []byte, at int64) (int, error) {
	n, err := f.File.ReadAt(b, at)
	f.read(n)
	return n, err
}
