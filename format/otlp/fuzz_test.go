package otlp

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/dendroprof/dendro/profile"
)

// checkDecode checks what must hold for whatever bytes.
func checkDecode(t *testing.T, b []byte) {
	t.Helper()
	p, err := decode(b)
	if err != nil {
		var pe *profile.ParseError
		if !errors.As(err, &pe) || pe.Offset > int64(len(b)) || !errors.Is(err, profile.ErrMalformed) && !errors.Is(err, profile.ErrTooLarge) {
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
	var out bytes.Buffer
	if err := Encode(&out, p, -1); err != nil {
		t.Fatal(err)
	}
	again, err := decode(out.Bytes())
	if err != nil {
		t.Fatalf("what was written does not read: %v", err)
	}
	for i := range again.Tables {
		again.Hash(i)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(content(f, recorded[1]))
	f.Add([]byte(full))
	f.Add(encode(f, mustDecode(f, []byte(full)), -1))
	f.Fuzz(func(t *testing.T, b []byte) {
		Sniff(b)
		checkDecode(t, b)
	})
}

func TestMutations(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	seeds := [][]byte{[]byte(full), encode(t, mustDecode(t, []byte(full)), -1)}
	for _, name := range recorded {
		seeds = append(seeds, content(t, name))
	}
	for _, seed := range seeds {
		for range 20_000_000 / (100_000 + 10*len(seed)) {
			m := bytes.Clone(seed)
			for range 1 + r.IntN(3) {
				if len(m) == 0 {
					break
				}
				i := r.IntN(len(m))
				j := min(len(m), i+1+r.IntN(100))
				switch r.IntN(5) {
				case 0:
					m[i] ^= 1 << r.IntN(8)
				case 1:
					m[i] = byte(r.Uint32())
				case 2:
					m = append(m[:i:i], m[j:]...)
				case 3:
					m = append(m[:j:j], m[i:]...)
				case 4:
					m = m[:i+1]
				}
			}
			checkDecode(t, m)
		}
	}
}
