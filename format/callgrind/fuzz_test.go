package callgrind

import (
	"bytes"
	"testing"

	"github.com/dendroprof/dendro/test/readtest"
)

// checkDecode checks what must hold for whatever text.
func checkDecode(t *testing.T, text string) {
	t.Helper()
	p, err := decode(text)
	if !readtest.Sound(t, len(text), p, err) {
		return
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

// TestMutations damages the beginnings of recorded files.
func TestMutations(t *testing.T) {
	for _, name := range recorded {
		whole := text(t, name)
		for _, size := range []int{2000, 8000, 22_000} {
			for m := range readtest.Damaged([]byte(whole[:size]), 40) {
				checkDecode(t, string(m))
			}
		}
	}
}
