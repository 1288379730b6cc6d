package format

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/dendroprof/dendro/profile"
)

// differentFrames is folded text of n frames, all different, 16 to a stack.
func differentFrames(prefix string, n int) string {
	var b strings.Builder
	for i := range n {
		end := ";"
		if i%16 == 15 {
			end = " 1\n"
		}
		fmt.Fprintf(&b, "%s%07d%s", prefix, i, end)
	}
	return b.String()
}

// TestMaxFrames reads files with more different frames than the limit. The same reader reads
// what comes next.
func TestMaxFrames(t *testing.T) {
	reader := NewReader(profile.Limits{Frames: 100})
	for i, c := range []struct {
		text string
		full bool
	}{
		{differentFrames("f", 96), false}, {differentFrames("g", 112), true}, {differentFrames("h", 160_000), true},
		{differentFrames("f", 96), false}, {strings.Repeat(differentFrames("f", 96), 50), false},
	} {
		for _, packed := range []string{c.text, gz(c.text)} {
			for _, err := range reader.Read("x.folded", strings.NewReader(packed)) {
				says := err != nil && errors.Is(err, profile.ErrTooLarge) && strings.Contains(err.Error(), "more different frames than 100: too large (raise it with --max-frames)")
				if c.full != says || !c.full && err != nil {
					t.Errorf("%d: %v", i, err)
				}
			}
		}
	}
	var b bytes.Buffer // in memory, without a guard
	b.WriteString(differentFrames("g", 112))
	for _, err := range reader.Read("x.folded", &b) {
		if !errors.Is(err, profile.ErrTooLarge) {
			t.Error(err)
		}
	}
}

// TestManyMembers reads an archive whose members are each below what one may inflate to.
func TestManyMembers(t *testing.T) {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	text := strings.Repeat("main;handle;find 1\n", 9<<20/19)
	for i := range 30 {
		w, _ := z.Create(fmt.Sprintf("%d.folded", i))
		w.Write([]byte(text))
	}
	z.Close()
	read, failed := 0, 0
	for _, err := range NewReader(profile.Limits{}).Read("x.zip", bytes.NewReader(b.Bytes())) {
		switch {
		case err == nil:
			read++
		case errors.Is(err, profile.ErrTooLarge) && strings.Contains(err.Error(), "decompress it first"):
			failed++
		default:
			t.Error(err)
		}
	}
	if read > 20 || failed != 1 {
		t.Errorf("%d members were read, %d errors", read, failed)
	}
}

// BenchmarkDifferentFrames measures what each further frame of a file costs in time and in
// memory that stays: its name, its place in the tables of functions and frames, its stack.
func BenchmarkDifferentFrames(b *testing.B) {
	const frames = 1_600_000
	text := differentFrames("fn", frames)
	b.SetBytes(int64(len(text)))
	var before, after runtime.MemStats
	var kept *profile.Profile
	runtime.GC()
	runtime.ReadMemStats(&before)
	for b.Loop() {
		kept = nil
		for d, err := range NewReader(profile.Limits{}).Read("x.folded", strings.NewReader(text)) {
			if err != nil {
				b.Fatal(err)
			}
			kept = d.Profile
		}
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/frames, "ns/frame")
	b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/frames, "B/frame")
	runtime.KeepAlive(kept)
}
