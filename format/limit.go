package format

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/klauspost/compress/zstd"
	"github.com/xi2/xz"

	"github.com/dendroprof/dendro/internal/cost"
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
	r       io.ReaderAt
	size    int64
	walk    *walk
	spooled bool // content of the file, whose bytes were counted when it was unpacked

	directory int64 // bytes that may still be read of the directory of an archive; 0: none is read
}

// ReadAt reads from the file. A damaged archive may ask for any place.
func (a *access) ReadAt(b []byte, off int64) (int, error) {
	if off < 0 || off >= a.size {
		return 0, io.EOF
	}
	if a.directory > 0 {
		if a.directory -= int64(len(b)); a.directory <= 0 {
			return 0, errDirectory
		}
		if err := a.walk.spend(cost.Memory, int64(len(b))*entryMemory); err != nil {
			return 0, err
		}
	}
	n, err := a.r.ReadAt(b, off)
	if a.spooled {
		return n, err
	}
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
			return &access{r: at, size: info.Size(), walk: w}
		}
	case interface{ Size() int64 }:
		return &access{r: at, size: in.Size(), walk: w}
	}
	return nil
}

// meter counts what goes through a level of unpacking against the limits of the file and of
// the request, and says of a decompressor's errors what they are.
type meter struct {
	r    io.Reader
	walk *walk
	kind string // of the decompressor; empty for the file itself
}

func (m *meter) Read(b []byte) (int, error) {
	n, err := m.r.Read(b)
	w := m.walk
	if w.left -= int64(n); w.left < 0 {
		return 0, w.tooLarge()
	}
	if m.kind != "tar" { // which does not expand
		if err := w.spend(cost.Expanded, int64(n)); err != nil {
			return 0, err
		}
		if m.kind != "" {
			w.inflated += int64(n)
		}
		if w.bomb() {
			return 0, errBomb
		}
	}
	if err != nil && err != io.EOF {
		err = w.damage(m.kind, err)
	}
	return n, err
}

// spend counts what reading costs. Its error ends the walk.
func (w *walk) spend(u cost.Unit, n int64) error {
	if w.stopped == nil && w.Context != nil {
		if w.Context.Err() != nil {
			w.stopped = context.Cause(w.Context)
		} else {
			w.stopped = cost.Of(w.Context).Spend(u, n)
		}
	}
	return w.stopped
}

// Content may inflate to this many times the size of its file, all members and levels of
// packing together, and guardFree more. Profiles shrink to a fifth or a tenth; what shrinks to
// less than a two-hundredth was made to do harm.
const (
	guardFree  = 64 << 20
	guardRatio = 200
)

var errBomb = fmt.Errorf("inflates to more than %d times its size: %w (decompress it first if that is right)", guardRatio, profile.ErrTooLarge)

// bomb reports whether more was inflated than the bytes that were read of the file allow.
func (w *walk) bomb() bool { return w.inflated > guardFree+guardRatio*w.raw }

// A profile may take this many times the bytes of its content in memory besides functions, frames,
// stacks and samples, and roomFree more: its entries say something, each of which has a length.
const (
	roomFree  = 256 << 20
	roomRatio = 16
)

// Take counts the bytes of memory that a decoder asks for. It implements the Room of profile.Limits.
func (w *walk) Take(n int64) error {
	if w.taken += n; w.taken > roomFree+roomRatio*(w.limits.Inflated-w.left) {
		return profile.OutOfRoom(roomRatio)
	}
	if w.StackBytes == 0 { // it is not kept
		return nil
	}
	return w.spend(cost.Memory, n)
}

func (w *walk) tooLarge() error {
	return profile.TooLarge("content longer", w.limits.Inflated, "--max-size")
}

// damage returns what an error of a decompressor means.
func (w *walk) damage(kind string, err error) error {
	end := w.limit()
	switch {
	case end != nil:
		return end
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
	list := []error{profile.ErrUnrecognized, profile.ErrMalformed, profile.ErrUnsupported, profile.ErrTooLarge}
	return slices.ContainsFunc(list, func(e error) bool { return errors.Is(err, e) })
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

// moreStacks counts the memory of further stacks, and returns for how many there is room.
func (w *walk) moreStacks() int {
	const step = 256
	if w.spend(cost.Memory, step*w.StackBytes) != nil {
		return 0
	}
	w.stacks = w.symbols.Stacks.Len() + step
	return step
}

// frameGuard ends the reading of content that has too many different frames or stacks.
type frameGuard struct {
	r    io.Reader
	walk *walk
}

func (g *frameGuard) Read(b []byte) (int, error) {
	if g.walk.symbols.Full() {
		return 0, g.walk.noRoom()
	}
	return g.r.Read(b)
}

// noRoom returns why the symbols have no room for more.
func (w *walk) noRoom() error {
	if w.stopped != nil {
		return w.stopped
	}
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
