package format

import (
	"archive/tar"
	"archive/zip"
	"bufio"
	"bytes"
	"cmp"
	"compress/bzip2"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
	"github.com/xi2/xz"

	"github.com/dendroprof/dendro/internal/cost"
	"github.com/dendroprof/dendro/profile"
)

// maxNesting is how often content may be unpacked: all.tar.gz with a zip of
// .pb.gz files is four times.
const maxNesting = 4

var errNesting = fmt.Errorf("packed more than %d times: %w", maxNesting, profile.ErrUnsupported)

// packed is content that must be unpacked.
type packed struct {
	name  string
	r     *bufio.Reader
	at    *access // of the same content, or nil
	level int
}

// packing returns what content that begins with prefix is packed in and how to
// unpack it, or nil.
func packing(prefix []byte) (kind string, unpack func(*walk, packed)) {
	begins := func(magic string) bool { return bytes.HasPrefix(prefix, []byte(magic)) }
	switch {
	case begins("\x1f\x8b"):
		return "gzip", (*walk).gzip
	case begins("\x28\xb5\x2f\xfd") || len(prefix) > 4 && prefix[0]>>4 == 5 && string(prefix[1:4]) == "\x2a\x4d\x18": // or a skippable frame
		return "zstd", (*walk).zstd
	case begins("\x04\x22\x4d\x18"):
		return "lz4", (*walk).lz4
	case begins("\xfd7zXZ\x00"):
		return "xz", (*walk).xz
	case begins("BZh") && len(prefix) > 10 && string(prefix[4:10]) == "1AY&SY":
		return "bzip2", (*walk).bzip2
	case begins("PK\x03\x04") || begins("PK\x05\x06"):
		return "zip", (*walk).zip
	case len(prefix) >= 512 && string(prefix[257:262]) == "ustar":
		return "tar", (*walk).tar
	}
	return "", nil
}

func (w *walk) gzip(p packed) {
	var zr *gzip.Reader
	if n := len(w.gzips); n > 0 {
		zr, w.gzips = w.gzips[n-1], w.gzips[:n-1]
	} else {
		zr = new(gzip.Reader)
	}
	defer func() { w.gzips = append(w.gzips, zr) }()
	if err := zr.Reset(p.r); err != nil {
		w.fail(Decoded{Name: p.name}, w.damage("gzip", err), 0)
		return
	}
	if p.at != nil {
		w.size = p.at.gzipSize()
	}
	w.content(p.name, &meter{zr, w, "gzip"}, nil, p.level+1)
	w.size = 0
}

// maxWindow bounds the memory of the decoders of zstd and xz; `zstd --long` and twice
// `xz -9` use as much.
const maxWindow = 128 << 20

func (w *walk) zstd(p packed) {
	var zr *zstd.Decoder
	if n := len(w.zstds); n > 0 {
		zr, w.zstds = w.zstds[n-1], w.zstds[:n-1]
	} else {
		zr, _ = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow), zstd.WithDecoderLowmem(true))
	}
	defer func() {
		zr.Reset(nil)
		w.zstds = append(w.zstds, zr)
	}()
	if err := zr.Reset(p.r); err != nil {
		w.fail(Decoded{Name: p.name}, w.damage("zstd", err), 0)
		return
	}
	w.content(p.name, &meter{zr, w, "zstd"}, nil, p.level+1)
}

func (w *walk) lz4(p packed) {
	var zr *lz4.Reader
	if n := len(w.lz4s); n > 0 {
		zr, w.lz4s = w.lz4s[n-1], w.lz4s[:n-1]
	} else {
		zr = lz4.NewReader(nil)
	}
	defer func() {
		zr.Reset(nil)
		w.lz4s = append(w.lz4s, zr)
	}()
	zr.Reset(p.r)
	w.content(p.name, &meter{zr, w, "lz4"}, nil, p.level+1)
}

func (w *walk) xz(p packed) {
	zr, err := xz.NewReader(p.r, maxWindow)
	if err != nil {
		w.fail(Decoded{Name: p.name}, w.damage("xz", err), 0)
		return
	}
	w.content(p.name, &meter{zr, w, "xz"}, nil, p.level+1)
}

func (w *walk) bzip2(p packed) {
	w.content(p.name, &meter{bzip2.NewReader(p.r), w, "bzip2"}, nil, p.level+1)
}

func (w *walk) tar(p packed) {
	tr := tar.NewReader(p.r)
	for n := 0; !w.ended; {
		header, err := tr.Next()
		switch {
		case err == io.EOF && n == 0:
			w.fail(Decoded{Name: p.name}, errNoMembers, 0)
			return
		case err == io.EOF:
			return
		case err != nil:
			w.fail(Decoded{Name: p.name}, w.damage("tar", err), 0)
			return
		}
		if (header.Typeflag == tar.TypeReg || header.Typeflag == tar.TypeGNUSparse) && !hidden(header.Name) {
			n++
			w.content(p.name+": "+header.Name, &meter{tr, w, "tar"}, nil, p.level+1)
		}
	}
}

// hidden reports files that operating systems add to archives.
func hidden(name string) bool {
	base := name[strings.LastIndexByte(name, '/')+1:]
	return strings.HasPrefix(base, ".") || strings.HasPrefix(name, "__MACOSX/")
}

var errNoMembers = fmt.Errorf("%w: an archive without files", profile.ErrUnrecognized)

func (w *walk) zip(p packed) {
	at := p.at
	if at == nil {
		spooled, remove, err := w.spool(p.r)
		defer remove()
		if err != nil {
			w.fail(Decoded{Name: p.name}, err, 0)
			return
		}
		at = spooled
	}
	at.directory = maxDirectory
	zr, err := zip.NewReader(at, at.size)
	if at.directory = 0; err == nil && len(zr.File) > maxEntries {
		err = errDirectory
	}
	if err != nil {
		w.fail(Decoded{Name: p.name}, w.damage("zip", err), 0)
		return
	}
	zr.RegisterDecompressor(zip.Deflate, flate.NewReader)
	zr.RegisterDecompressor(zstd.ZipMethodWinZip, zstd.ZipDecompressor(zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow)))
	n := 0
	if slices.ContainsFunc(zr.File, func(f *zip.File) bool { return f.Name == "IPCounts.txt" }) {
		w.fail(Decoded{Name: p.name}, refusal("a recording of Very Sleepy", "export it as a callgrind profile (File, Export as Callgrind)"), 0)
		return
	}
	if err := w.overlap(zr.File); err != nil {
		w.fail(Decoded{Name: p.name}, err, 0)
		return
	}
	for _, f := range zr.File {
		if w.ended {
			return
		}
		if !f.Mode().IsRegular() || hidden(f.Name) {
			continue
		}
		n++
		w.zipMember(p.name+": "+f.Name, f, p.level+1)
	}
	if n == 0 {
		w.fail(Decoded{Name: p.name}, errNoMembers, 0)
	}
}

// The directory of a zip is in memory while its members are read: entryMemory bytes for each of
// its own, of which the shortest entry has 46.
const (
	maxEntries   = 100_000
	maxDirectory = 16 << 20
	entryMemory  = 10
)

var errDirectory = fmt.Errorf("%w: the directory of a zip has at most %d entries and %d MiB (make several archives, or unpack it)", profile.ErrTooLarge, maxEntries, maxDirectory>>20)

// overlap returns an error if members of an archive share bytes: a small file would stand for
// any number of large ones.
func (w *walk) overlap(members []*zip.File) error {
	type span struct {
		from, until int64
		name        string
	}
	var spans []span
	for _, f := range members {
		if err := w.spend(cost.Expanded, 0); err != nil {
			return err
		}
		from, err := f.DataOffset()
		if err != nil || f.CompressedSize64 == 0 {
			continue // reading it fails, or does not cost anything
		}
		spans = append(spans, span{from, from + int64(min(f.CompressedSize64, 1<<62)), f.Name})
	}
	slices.SortFunc(spans, func(a, b span) int { return cmp.Compare(a.from, b.from) })
	for i := 1; i < len(spans); i++ {
		if a, b := spans[i-1], spans[i]; b.from < a.until {
			return profile.Malformed("zip: the members %.100q and %.100q overlap", a.name, b.name)
		}
	}
	return nil
}

func (w *walk) zipMember(name string, f *zip.File, level int) {
	const encrypted = 1
	r, err := f.Open()
	switch {
	case f.Flags&encrypted != 0:
		err = fmt.Errorf("an encrypted member: %w", profile.ErrUnsupported)
	case errors.Is(err, zip.ErrAlgorithm):
		err = fmt.Errorf("zip method %d: %w", f.Method, profile.ErrUnsupported)
	case err != nil:
		err = w.damage("zip", err)
	}
	if err != nil {
		w.fail(Decoded{Name: name}, err, 0)
		return
	}
	defer r.Close()
	w.content(name, &meter{r, w, "zip"}, nil, level)
}

// spoolMemory is the size up to which an archive inside something else is kept
// in memory rather than in a file.
const spoolMemory = 4 << 20

// spool copies the rest of r to where it can be read anywhere. The function that
// it returns frees that again, and is never nil.
func (w *walk) spool(r io.Reader) (*access, func(), error) {
	var buf bytes.Buffer
	n, err := io.CopyN(&buf, r, spoolMemory)
	if err == io.EOF {
		return &access{r: bytes.NewReader(buf.Bytes()), size: n, walk: w, spooled: true}, func() {}, nil
	}
	if err != nil {
		return nil, func() {}, err
	}
	f, err := os.CreateTemp("", "dendro-*.zip")
	if err != nil {
		return nil, func() {}, err
	}
	remove := func() {
		f.Close()
		os.Remove(f.Name())
	}
	size, err := io.Copy(f, io.MultiReader(&buf, r))
	return &access{r: f, size: size, walk: w, spooled: true}, remove, err
}
