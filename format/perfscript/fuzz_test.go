package perfscript

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/dendroprof/dendro/profile"
)

// checkDecode checks what must hold for whatever text.
func checkDecode(t *testing.T, text string) {
	t.Helper()
	p, err := NewDecoder().Decode(strings.NewReader(text), nil, profile.Limits{Depth: 1000})
	if err != nil {
		var pe *profile.ParseError
		if !errors.As(err, &pe) || pe.Offset > int64(len(text)) || !errors.Is(err, profile.ErrMalformed) && !errors.Is(err, profile.ErrTooLarge) {
			t.Fatalf("error %#v", err)
		}
		return
	}
	if err := p.Check(); err != nil {
		t.Fatal(err)
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

// TestMutations damages recorded texts: bytes changed, cut out, repeated.
func TestMutations(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, name := range recorded {
		whole := []byte(text(t, name))
		for range 300 {
			from := r.IntN(len(whole))
			m := bytes.Clone(whole[from:min(len(whole), from+5000)])
			for range 1 + r.IntN(3) {
				i := r.IntN(len(m))
				j := min(len(m), i+1+r.IntN(100))
				switch r.IntN(4) {
				case 0:
					m[i] = byte(r.Uint32())
				case 1:
					m = append(m[:i:i], m[j:]...)
				case 2:
					m = append(m[:j:j], m[i:]...)
				case 3:
					m = m[:i+1]
				}
				if len(m) == 0 {
					break
				}
			}
			checkDecode(t, string(m))
		}
	}
}
