package command

import (
	"runtime/debug"
	"testing"
)

func TestGCPercent(t *testing.T) {
	for _, c := range []struct {
		live uint64
		want int
	}{{0, 400}, {10, 400}, {100, 400}, {200, 150}, {250, 100}, {400, 40}, {500, 40}, {5000, 40}} {
		if got := gcPercent(c.live, 500); got != c.want {
			t.Errorf("%d of 500 live: %d %%, want %d", c.live, got, c.want)
		}
	}
}

func TestSpendMemoryRestores(t *testing.T) {
	t.Setenv("GOGC", "")
	t.Setenv("GOMEMLIMIT", "")
	before := debug.SetGCPercent(77)
	defer debug.SetGCPercent(before)
	SpendMemory(1 << 30)()
	if got := debug.SetGCPercent(77); got != 77 {
		t.Errorf("afterwards the percentage is %d, want 77", got)
	}
}
