package callgrind

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/dendroprof/dendro/profile"
)

// checkDecode checks what must hold for whatever text.
func checkDecode(t *testing.T, text string) {
	t.Helper()
	p, err := decode(text)
	if err != nil {
		var pe *profile.ParseError
		if !errors.As(err, &pe) || pe.Offset > int64(len(text)) ||
			!errors.Is(err, profile.ErrMalformed) && !errors.Is(err, profile.ErrTooLarge) && !errors.Is(err, profile.ErrUnsupported) {
			t.Fatalf("error %#v", err)
		}
		return
	}
	if err := p.Check(); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := Encode(&out, p, -1); err != nil {
		t.Fatal(err)
	}
	again, err := decode(out.String())
	if err != nil {
		t.Fatalf("what was written does not read: %v\n%s", err, out.String())
	}
	for i := range p.Tables {
		if i == p.Default && p.Tables[i].Total() != again.Tables[0].Total() {
			t.Fatalf("total %d, was %d", again.Tables[0].Total(), p.Tables[i].Total())
		}
	}
}

func FuzzDecode(f *testing.F) {
	for _, name := range recorded {
		f.Add(text(f, name)[:3000])
	}
	f.Add("events: Ir\nfn=main\n1 1\ncfn=f\ncalls=1 2\n1 100\nfn=f\n2 100\ncfn=f\ncalls=9 2\n3 80\n")
	f.Add("positions: instr line\nevents: Ir Dr\nob=x\nfl=(1) a\nfn=(1) f\n0x10 5 1 1\n+4 * 2\njump=3 0x10 5\n+1 1\n")
	f.Fuzz(func(t *testing.T, text string) {
		Sniff([]byte(text))
		checkDecode(t, text)
	})
}

// TestMutations damages recorded files: bytes changed, cut out, repeated.
func TestMutations(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, name := range recorded {
		whole := text(t, name)
		for range 100 {
			m := []byte(whole[:2000+r.IntN(20_000)])
			for range 1 + r.IntN(3) {
				if len(m) == 0 {
					break
				}
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
			}
			checkDecode(t, string(m))
		}
	}
}
