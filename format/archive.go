package format

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/dendroprof/dendro/profile"
)

// isTar recognises a tar by its magic, at byte 257 of the first header.
func isTar(prefix []byte) bool {
	return len(prefix) >= 512 && bytes.HasPrefix(prefix[257:], []byte("ustar"))
}

// tar reads the members of a tar.
func (c *reading) tar(name string, r io.Reader, depth int) bool {
	t := tar.NewReader(r)
	for {
		h, err := t.Next()
		if err == io.EOF {
			return true
		}
		if err != nil {
			return c.fail(name, malformed("tar", err))
		}
		if h.Typeflag == tar.TypeReg && !hidden(h.Name) && !c.content(member(name, h.Name), c.inflated("tar", t), depth+1) {
			return false
		}
	}
}

// zip reads the members of a zip. It needs to seek: a file is read in place,
// anything else goes to a temporary file first.
func (c *reading) zip(name string, in io.Reader, p *peeked, depth int) bool {
	at, size, done, err := c.seekable(in, p)
	if err != nil {
		return c.fail(name, err)
	}
	defer done()
	z, err := zip.NewReader(at, size)
	if err != nil {
		return c.fail(name, malformed("zip", err))
	}
	for _, f := range z.File {
		if f.FileInfo().IsDir() || hidden(f.Name) {
			continue
		}
		r, err := f.Open()
		if err != nil {
			if !c.fail(member(name, f.Name), malformed("zip", err)) {
				return false
			}
			continue
		}
		more := c.content(member(name, f.Name), c.inflated("zip", r), depth+1)
		r.Close()
		if !more {
			return false
		}
	}
	return true
}

// seekable returns the whole content for random access.
func (c *reading) seekable(in io.Reader, p *peeked) (io.ReaderAt, int64, func(), error) {
	if f, ok := in.(*os.File); ok {
		if info, err := f.Stat(); err == nil && info.Mode().IsRegular() {
			return f, info.Size(), func() {}, nil
		}
	}
	tmp, err := os.CreateTemp("", "dendro-zip-*")
	if err != nil {
		return nil, 0, nil, err
	}
	done := func() { tmp.Close(); os.Remove(tmp.Name()) }
	n, err := io.Copy(tmp, io.LimitReader(p, c.limits.Inflated+1))
	if err == nil && n > c.limits.Inflated {
		err = profile.TooLarge("archive larger", c.limits.Inflated, "--max-size")
	}
	if err != nil {
		done()
		return nil, 0, nil, fmt.Errorf("archive: %w", err)
	}
	return tmp, n, done, nil
}

// member names a member of an archive.
func member(archive, name string) string { return archive + ": " + name }

// hidden reports files that operating systems add to archives.
func hidden(name string) bool {
	base := name[strings.LastIndexByte(name, '/')+1:]
	return strings.HasPrefix(base, ".") || strings.HasPrefix(name, "__MACOSX/")
}
