package fleet

import "testing"

// TestMissing: a partition whose services are not known is named itself, also if it had none when
// its worker was asked last.
func TestMissing(t *testing.T) {
	r := NewReader(ReaderOptions{})
	r.total, r.services = 3, map[int32][]string{0: {"shop", "cart"}, 1: {}}
	r.say(nil)
	if got := r.Missing(); got != "services cart, shop are missing; partitions 1, 2 are missing" {
		t.Error(got)
	}
}
