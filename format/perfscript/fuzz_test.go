package perfscript

import (
	"strings"
	"testing"

	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/test/readtest"
)

// checkDecode checks what must hold for whatever text.
func checkDecode(t *testing.T, text string) {
	t.Helper()
	p, err := NewDecoder().Decode(strings.NewReader(text), nil, profile.Limits{Depth: 1000})
	if !readtest.Sound(t, len(text), p, err) {
		return
	}
	if len(p.Warnings) > 10 || len(p.Tables) == 0 {
		t.Fatalf("%d warnings, %d tables", len(p.Warnings), len(p.Tables))
	}
	for i := range p.Tables {
		p.Hash(i)
	}
}

func FuzzDecode(f *testing.F) {
	for _, name := range recorded {
		f.Add(text(f, name)[:2000])
	}
	f.Add("app 7/8 [003] 10.000001:  5 cycles:u: \n\t10 c (inlined)\n  a.c:1\n\t10 a->b+0x5 (/tmp/perf-1.map)\n\n")
	f.Add("  dd 8 1.0: 5 cycles: ff a (/x)\n  dd 8 1.0: 5 cycles: ff a (/x)\n")
	f.Fuzz(func(t *testing.T, text string) {
		Sniff([]byte(text))
		checkDecode(t, text)
	})
}

// TestMutations damages parts of recorded texts.
func TestMutations(t *testing.T) {
	const parts, size = 15, 5000
	for _, name := range recorded {
		whole := []byte(text(t, name))
		for from := 0; from < len(whole); from += len(whole)/parts + 1 {
			for m := range readtest.Damaged(whole[from:min(len(whole), from+size)], 20) {
				checkDecode(t, string(m))
			}
		}
	}
}
