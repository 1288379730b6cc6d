package receiver

import (
	"bytes"
	"testing"

	"github.com/dendroprof/dendro/test/readtest"
)

// TestPlain: whatever the last bytes of a packed content say of its length, it is read whole or
// refused, and a damaged one does no harm to the next.
func TestPlain(t *testing.T) {
	content := bytes.Repeat([]byte("main;checkout;price 300\n"), 1000)
	packed := readtest.Gzip(content)
	lying := bytes.Clone(packed)
	lying[len(lying)-1] = 0x7f
	for range 3 {
		if got, err := Plain(packed, 1<<20); err != nil || !bytes.Equal(got, content) {
			t.Fatalf("%d bytes, %v", len(got), err)
		}
		if got, err := Plain(content, 1); err != nil || !bytes.Equal(got, content) {
			t.Errorf("not packed: %d bytes, %v", len(got), err)
		}
		if _, err := Plain(packed, int64(len(content)-1)); err == nil {
			t.Error("beyond the limit: no error")
		}
		for _, damaged := range [][]byte{lying, packed[:len(packed)-9], packed[:11], packed[:3], packed[:2]} {
			if _, err := Plain(damaged, 1<<20); err == nil {
				t.Errorf("%d damaged bytes: no error", len(damaged))
			}
		}
	}
	// Without a pool there are more than 40; the race detector's pools forget a quarter.
	if n := testing.AllocsPerRun(100, func() { Plain(packed, 1<<20) }); n > 16 {
		t.Errorf("%.0f allocations", n)
	}
}
