package format

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/klauspost/compress/zstd"
	"github.com/xi2/xz"

	"github.com/dendroprof/dendro/profile"
)

// rawReader counts what is read of the file itself and remembers its errors, so
// that a disk that fails is told from content that is damaged.
type rawReader struct {
	r    io.Reader
	walk *walk
}

func (r *rawReader) Read(b []byte) (int, error) {
	n, err := r.r.Read(b)
	return n, r.walk.took(n, err)
}

func (w *walk) took(n int, err error) error {
	w.raw += int64(n)
	if err != nil && err != io.EOF {
		w.rawErr = err
	}
	return err
}

// access is a file that can be read anywhere.
type access struct {
	r    io.ReaderAt
	size int64
	walk *walk
}

// ReadAt reads from the file. A damaged archive may ask for any place.
func (a *access) ReadAt(b []byte, off int64) (int, error) {
	if off < 0 || off >= a.size {
		return 0, io.EOF
	}
	n, err := a.r.ReadAt(b, off)
	return n, a.walk.took(n, err)
}

// randomAccess returns in as a file that can be read anywhere, or nil.
func (w *walk) randomAccess(in io.Reader) *access {
	at, ok := in.(io.ReaderAt)
	seeker, _ := in.(io.Seeker)
	if !ok || seeker == nil {
		return nil
	}
	if pos, err := seeker.Seek(0, io.SeekCurrent); err != nil || pos != 0 {
		return nil
	}
	switch in := in.(type) {
	case *os.File:
		if info, err := in.Stat(); err == nil && info.Mode().IsRegular() {
			return &access{at, info.Size(), w}
		}
	case interface{ Size() int64 }:
		return &access{at, in.Size(), w}
	}
	return nil
}

// meter counts what goes through a level of unpacking against the limit of the
// file, and says of a decompressor's errors what they are.
type meter struct {
	r    io.Reader
	walk *walk
	kind string // of the decompressor; empty for the file itself
}

func (m *meter) Read(b []byte) (int, error) {
	n, err := m.r.Read(b)
	if m.walk.left -= int64(n); m.walk.left < 0 {
		return 0, m.walk.tooLarge()
	}
	if err != nil && err != io.EOF {
		err = m.walk.damage(m.kind, err)
	}
	return n, err
}

func (w *walk) tooLarge() error {
	return profile.TooLarge("content longer", w.limits.Inflated, "--max-size")
}

// damage returns what an error of a decompressor means.
func (w *walk) damage(kind string, err error) error {
	switch {
	case w.left < 0:
		return w.tooLarge()
	case w.rawErr != nil:
		return w.rawErr
	case kind == "" || classified(err):
		return err
	case errors.Is(err, xz.ErrMemlimit) || errors.Is(err, zstd.ErrWindowSizeExceeded) || errors.Is(err, zstd.ErrDecoderSizeExceeded):
		return fmt.Errorf("%s: %w: %v", kind, profile.ErrTooLarge, err)
	}
	return profile.Malformed("%s: %v", kind, err)
}

// classified reports whether err says already what it is.
func classified(err error) bool {
	for _, e := range []error{profile.ErrUnrecognized, profile.ErrMalformed, profile.ErrUnsupported, profile.ErrTooLarge} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// gzipSize returns the size of the content of a gzip file as its last bytes tell it,
// or 0 if that cannot be.
func (a *access) gzipSize() int64 {
	var trailer [4]byte
	if n, _ := a.r.ReadAt(trailer[:], a.size-int64(len(trailer))); n < len(trailer) {
		return 0
	}
	size := int64(binary.LittleEndian.Uint32(trailer[:]))
	if size > guardFree+guardRatio*a.size {
		return 0
	}
	return size
}

// sized is a reader of content whose size is known.
type sized struct {
	io.Reader
	size int
}

// Len returns the size of the content.
func (s sized) Len() int { return s.size }

// Compressed content may be larger than this only if it was not compressed to less
// than one guardRatio-th. Profiles shrink to a fifth or a tenth; what shrinks to less
// than a two-hundredth was made to do harm. guardFree is for all members of an archive.
const (
	guardFree  = 64 << 20
	guardRatio = 200
)

// ratioGuard stops a decompression bomb before it fills the memory.
type ratioGuard struct {
	r      io.Reader
	walk   *walk
	start  int64 // walk.raw when the content began
	out    int64
	excess int64 // this content's part of walk.excess
}

func (g *ratioGuard) Read(b []byte) (int, error) {
	n, err := g.r.Read(b)
	g.out += int64(n)
	excess := max(0, g.out-guardRatio*(g.walk.raw-g.start))
	g.walk.excess += excess - g.excess
	g.excess = excess
	if g.walk.excess > guardFree {
		return 0, fmt.Errorf("inflates to more than %d times its size: %w (decompress it first if that is right)", guardRatio, profile.ErrTooLarge)
	}
	return n, err
}

// frameGuard ends the reading of content that has too many different frames.
type frameGuard struct {
	r    io.Reader
	walk *walk
}

func (g *frameGuard) Read(b []byte) (int, error) {
	if g.walk.symbols.Full() {
		return 0, g.walk.tooManyFrames()
	}
	return g.r.Read(b)
}

func (w *walk) tooManyFrames() error {
	return profile.TooLarge("more different frames", int64(w.limits.Frames), "--max-frames")
}

// memoryGuard checks Limits.Memory while the content is read.
type memoryGuard struct {
	r      io.Reader
	limits profile.Limits
	n      int // bytes read since the last check
}

func (g *memoryGuard) Read(b []byte) (int, error) {
	const step = 1 << 20
	n, err := g.r.Read(b)
	if g.n += n; g.n >= step {
		g.n = 0
		if err := g.limits.CheckMemory(); err != nil {
			return 0, err
		}
	}
	return n, err
}
