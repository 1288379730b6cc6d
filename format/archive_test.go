package format

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/dendroprof/dendro/internal/cost"
	"github.com/dendroprof/dendro/profile"
)

// overlapping returns a zip archive with n entries of its directory for one member.
func overlapping(n int, content string) string {
	archive := zipped(zip.Deflate, "a", content)
	end := strings.LastIndex(archive, "PK\x05\x06")
	directory := int(binary.LittleEndian.Uint32([]byte(archive[end+16:])))
	entries := strings.Repeat(archive[directory:end], n)
	tail := []byte(archive[end:])
	binary.LittleEndian.PutUint16(tail[8:], uint16(n))
	binary.LittleEndian.PutUint16(tail[10:], uint16(n))
	binary.LittleEndian.PutUint32(tail[12:], uint32(len(entries)))
	return archive[:directory] + entries + string(tail)
}

// spentOn reads content and returns what unpacking it cost, and the last error.
func spentOn(t testing.TB, content string, most int64) (spent int64, last error) {
	ctx, end := cost.Begin(t.Context(), cost.Limits{Expanded: cost.Limit{Max: most, What: "bytes unpacked", Flag: "--max-view"}})
	defer end()
	r := NewReader(profile.Limits{})
	r.Context = ctx
	for _, err := range r.Read("x", strings.NewReader(content)) {
		if err != nil {
			last = err
		}
	}
	return cost.Of(ctx).Spent(cost.Expanded), last
}

// TestOverlappingMembers: an archive whose members share bytes is refused before any is read.
func TestOverlappingMembers(t *testing.T) {
	content := foldedText + strings.Repeat("main;f 1\n", 10_000)
	for n, overlap := range map[int]bool{1: false, 2: true, 3000: true} {
		archive := overlapping(n, content)
		spent, err := spentOn(t, archive, 0)
		if overlap != (err != nil) || overlap && (!errors.Is(err, profile.ErrMalformed) ||
			!strings.Contains(err.Error(), `"a" and "a" overlap`)) {
			t.Errorf("%d entries: %v", n, err)
		}
		if overlap && spent > int64(len(archive)) {
			t.Errorf("%d entries: %d bytes were read", n, spent)
		}
	}
	if _, err := spentOn(t, zipped(zip.Store, "a", foldedText, "empty", "", "b", foldedText), 0); err != nil &&
		!errors.Is(err, profile.ErrUnrecognized) {
		t.Errorf("members side by side: %v", err)
	}
}

// TestLargeDirectory: the number of entries of a zip has a limit, and their memory is counted
// before they are read: they may be far more than it says, and need no members.
func TestLargeDirectory(t *testing.T) {
	for _, n := range []int{maxEntries + 1, 400_000} {
		ctx, end := cost.Begin(t.Context(), cost.Limits{})
		defer end()
		r := NewReader(profile.Limits{})
		r.Context = ctx
		for _, err := range r.Read("x", strings.NewReader(overlapping(n, foldedText))) {
			if !errors.Is(err, profile.ErrTooLarge) || !strings.Contains(err.Error(), "at most 100000 entries") {
				t.Errorf("%d entries: %v", n, err)
			}
		}
		if spent := cost.Of(ctx).Spent(cost.Memory); spent < maxEntries*46 || spent > maxDirectory*entryMemory {
			t.Errorf("%d entries: %d bytes were counted", n, spent)
		}
	}
	ctx, end := cost.Begin(t.Context(), cost.Limits{Memory: cost.Limit{Max: 1 << 20, What: "bytes in memory", Flag: "--max-work"}})
	defer end()
	r := NewReader(profile.Limits{})
	r.Context = ctx
	for _, err := range r.Read("x", strings.NewReader(overlapping(60_000, foldedText))) {
		if !errors.As(err, new(*cost.Exceeded)) || !strings.Contains(err.Error(), "--max-work") {
			t.Errorf("without memory: %v", err)
		}
	}
}

// TestNestedBomb: the ratio is of the file, however often it is packed.
func TestNestedBomb(t *testing.T) {
	zeros := strings.Repeat("main;f 1\n", 1<<20/9)
	members := make([]string, 0, 200)
	for i := range 100 {
		members = append(members, fmt.Sprint(i), zeros)
	}
	inner := zipped(zip.Deflate, members...) // each member is within a ratio of its own
	bomb := zipped(zip.Deflate, "a.zip", inner)
	spent, err := spentOn(t, bomb, 0)
	if !errors.Is(err, profile.ErrTooLarge) || !strings.Contains(err.Error(), "200 times its size") {
		t.Errorf("%v", err)
	}
	if most := int64(guardFree + guardRatio*len(bomb) + 4<<20); spent > most {
		t.Errorf("%d bytes unpacked of %d, at most %d", spent, len(bomb), most)
	}
}

// TestReadEndsWithContext: reading ends inside a member and between members, and with the
// account.
func TestReadEndsWithContext(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	r := NewReader(profile.Limits{})
	r.Context = ctx
	archive := zipped(zip.Store, "a", foldedText, "b", foldedText, "c", foldedText)
	profiles := 0
	var last error
	for _, err := range r.Read("x", strings.NewReader(archive)) {
		if err != nil {
			last = err
			continue
		}
		profiles++
		stop()
	}
	if profiles != 1 || !errors.Is(last, context.Canceled) {
		t.Errorf("%d profiles after the end, %v", profiles-1, last)
	}
	ctx, stop = context.WithCancel(t.Context())
	r.Context = ctx
	endless := io.MultiReader(strings.NewReader(foldedText), reading(func(b []byte) (int, error) {
		stop()
		return copy(b, "main;f 1\n"), nil
	}))
	for _, last = range r.Read("x", endless) {
	}
	if !errors.Is(last, context.Canceled) {
		t.Errorf("inside: %v", last)
	}
	for _, content := range []string{gz(strings.Repeat(foldedText, 10_000)), strings.Repeat(foldedText, 10_000), archive} {
		if spent, err := spentOn(t, content, 100); !errors.As(err, new(*cost.Exceeded)) || spent > 100 ||
			!strings.Contains(err.Error(), "--max-view") {
			t.Errorf("%.10q: %d spent, %v", content, spent, err)
		}
	}
}

// reading is a function as a reader.
type reading func(b []byte) (int, error)

func (f reading) Read(b []byte) (int, error) { return f(b) }

// FuzzArchives counts the work of archives: no more is unpacked than the size of the file
// allows, and there are no more members than bytes.
func FuzzArchives(f *testing.F) {
	for _, seed := range []string{overlapping(9, foldedText), gz(tarred("a.zip", zipped(zip.Store, "b", foldedText))),
		zipped(zip.Deflate, "a.gz", gz(foldedText), "b", strings.Repeat("main 1\n", 1<<10)), zst(foldedText), lz4ed(foldedText)} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		const most = 1 << 20
		ctx, end := cost.Begin(t.Context(), cost.Limits{Expanded: cost.Limit{Max: most}})
		defer end()
		r, n := NewReader(profile.Limits{}), 0
		r.Context = ctx
		for range r.Read("x", bytes.NewReader(content)) {
			n++
		}
		if spent := cost.Of(ctx).Spent(cost.Expanded); spent > most || n > len(content)+1 {
			t.Fatalf("%d bytes unpacked, %d members of %d bytes", spent, n, len(content))
		}
	})
}
