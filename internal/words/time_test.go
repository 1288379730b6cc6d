package words

import "testing"

func TestTimes(t *testing.T) {
	for got, want := range map[string]string{
		Instant(1_700_000_000_500): "2023-11-14 22:13:20.500Z", Instant(0): "",
		Millis(1541): "1,541 ms", Millis(0): "0 ms", Millis(300_000): "5 min", Millis(90_000): "90,000 ms",
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
