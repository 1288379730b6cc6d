package folded

import (
	"bytes"
	"io"
	"runtime"
	"strings"
	"testing"

	"github.com/dendroprof/dendro/profile"
)

// TestAllocations reads files of 100 and of 2,000 known lines: their number
// must not matter.
func TestAllocations(t *testing.T) {
	w := newWorkload(3)
	for _, by := range []strategy{byPrefix, byHash} {
		lines := strings.SplitAfter(string(w.run(1, by == byHash)), "\n")
		for _, lead := range []string{"", "[worker 1 tid=7];"} {
			var counts [2]float64
			for i, n := range []int{100, 2000} {
				text := []byte(lead + strings.Join(lines[:n], lead))
				d := NewDecoder()
				d.strategy = by
				s := profile.NewSymbols()
				counts[i] = testing.AllocsPerRun(3, func() {
					if _, err := d.Decode(bytes.NewReader(text), s, profile.Limits{}); err != nil {
						t.Fatal(err)
					}
				})
			}
			if counts[1] > counts[0]+2 || counts[0] > 25 {
				t.Errorf("strategy %d, lead %q: %.0f and %.0f allocations", by, lead, counts[0], counts[1])
			}
		}
	}
}

// endless repeats a text up to a size.
type endless struct {
	text []byte
	at   int
	left int
}

func (e *endless) Read(b []byte) (int, error) {
	if e.left == 0 {
		return 0, io.EOF
	}
	n := copy(b[:min(len(b), e.left)], e.text[e.at:])
	e.at = (e.at + n) % len(e.text)
	e.left -= n
	return n, nil
}

// TestMemory reads a stream that is much larger than its tree.
func TestMemory(t *testing.T) {
	text := newWorkload(3).run(1, true)
	const times = 20
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	p, err := NewDecoder().Decode(&endless{text: text, left: times * len(text)}, nil, profile.Limits{})
	runtime.ReadMemStats(&after)
	if err != nil {
		t.Fatal(err)
	}
	lines := bytes.Count(text, []byte("\n"))
	if p.Tables[0].Len() != times*lines {
		t.Errorf("%d samples, want %d", p.Tables[0].Len(), times*lines)
	}
	// 12 bytes a sample, with growing; and the tree.
	if used := after.TotalAlloc - before.TotalAlloc; used > uint64(times*lines*12*6+10<<20) {
		t.Errorf("%d bytes allocated for %d bytes of text", used, times*len(text))
	}
}

// TestManySamples has so many samples that they are summed.
func TestManySamples(t *testing.T) {
	const n = profile.SumRows + 1000
	d := NewDecoder()
	p, err := d.Decode(&endless{text: []byte("[t tid=1];a;b 1\na 1\n"), left: n * 10}, nil, profile.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if table := &p.Tables[0]; table.Count() != n || table.Total() != n || table.Len() != 2 || table.Thread[0] != 1 || table.Thread[1] != 0 {
		t.Errorf("%d samples in %d rows, total %d", table.Count(), table.Len(), table.Total())
	}
	if cap(d.columns[0].Stack) > maxCached {
		t.Errorf("keeps columns of %d samples", cap(d.columns[0].Stack))
	}
}
