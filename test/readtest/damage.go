package readtest

import (
	"bytes"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dendroprof/dendro/profile"
)

// Damage decodes n damaged copies of a file and demands of each what Sound demands.
func Damage(t testing.TB, content []byte, n int, decode func([]byte) (*profile.Profile, error)) {
	t.Helper()
	for bad := range Damaged(content, n) {
		p, err := decode(bad)
		Sound(t, len(bad), p, err)
	}
}

// Damaged returns n copies of a file, each damaged in one to three places: bytes
// changed, cut out, repeated or written elsewhere, the end cut off. The damage is
// the same each time.
func Damaged(content []byte, n int) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		r := rand.New(rand.NewPCG(uint64(len(content)), 1))
		for range n {
			bad := bytes.Clone(content)
			for places := 1 + r.IntN(3); places > 0 && len(bad) > 0; places-- {
				bad = damage(r, bad)
			}
			if !yield(bad) {
				return
			}
		}
	}
}

func damage(r *rand.Rand, b []byte) []byte {
	from := r.IntN(len(b))
	to := min(len(b), from+1+r.IntN(100))
	switch r.IntN(6) {
	case 0:
		b[from] ^= 1 << r.IntN(8)
	case 1:
		b[from] = byte(r.Uint32())
	case 2:
		b = slices.Delete(b, from, to)
	case 3:
		b = slices.Insert(b, to, b[from:to]...)
	case 4:
		copy(b[r.IntN(len(b)):], b[from:to])
	case 5:
		b = b[:from]
	}
	return b
}

// Sound reports whether a reader made a profile of size bytes, whatever these were.
// It fails the test unless the profile passes its check, or the error is as
// WrongError wants it.
func Sound(t testing.TB, size int, p *profile.Profile, err error) bool {
	t.Helper()
	if err != nil {
		if what := WrongError(err, int64(size)); what != "" {
			t.Fatalf("%s: %v", what, err)
		}
		return false
	}
	if err := p.Check(); err != nil {
		t.Fatalf("a profile that fails its check: %v", err)
	}
	return true
}

// Same fails the test unless two profiles have the same tables.
func Same(t testing.TB, want, got *profile.Profile) {
	t.Helper()
	if len(want.Tables) != len(got.Tables) {
		t.Fatalf("%d tables, want %d", len(got.Tables), len(want.Tables))
	}
	for i := range want.Tables {
		if want.Hash(i) != got.Hash(i) {
			t.Fatalf("table %d has another hash (-want +got):\n%s", i, cmp.Diff(Describe(want), Describe(got)))
		}
	}
}

// Refused fails the test unless a reader refused a file with the *profile.ParseError
// that wraps is and says a text.
func Refused(t testing.TB, name string, err, is error, says string) {
	t.Helper()
	var pe *profile.ParseError
	if !errors.As(err, &pe) || !errors.Is(err, is) || !strings.Contains(err.Error(), says) {
		t.Errorf("%s: %v, want %v that says %q", name, err, is, says)
	}
}

// WrongError says what is wrong with the error of a reader of size bytes, or "": it
// must be a *profile.ParseError that wraps exactly one of the four errors of package
// profile and whose place, if it has one, is in the file.
func WrongError(err error, size int64) string {
	var pe *profile.ParseError
	if !errors.As(err, &pe) {
		return "an error that is no ParseError"
	}
	if pe.Offset < -1 || pe.Offset > size {
		return fmt.Sprintf("offset %d in a file of %d bytes", pe.Offset, size)
	}
	kinds := 0
	for _, kind := range []error{profile.ErrUnrecognized, profile.ErrMalformed, profile.ErrUnsupported, profile.ErrTooLarge} {
		if errors.Is(err, kind) {
			kinds++
		}
	}
	if kinds != 1 {
		return fmt.Sprintf("an error of %d kinds", kinds)
	}
	return ""
}
