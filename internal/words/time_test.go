package words

import (
	"testing"
	"time"
)

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

func TestParseInstant(t *testing.T) {
	now := time.Date(2026, 3, 10, 12, 0, 0, 0, time.FixedZone("", 3600))
	for text, want := range map[string]string{
		"2026-02-03": "2026-02-03T00:00:00Z", "2026-02-03T04:05:06+01:00": "2026-02-03T03:05:06Z",
		"30d": "2026-02-08T11:00:00Z", "1.5d": "2026-03-08T23:00:00Z", "2w": "2026-02-24T11:00:00Z", "1y": "2025-03-10T11:00:00Z",
		"12h": "2026-03-09T23:00:00Z", "1h30m": "2026-03-10T09:30:00Z", "0s": "2026-03-10T11:00:00Z",
		"": "", "d": "", "-1d": "", "-1h": "", "NaNd": "", "infw": "", "1000y": "", "9999999d": "", "3x": "", "Mon": "", "tomorrow": "",
		"today": "2026-03-10T00:00:00Z", "Tuesday": "2026-03-10T00:00:00Z", "Yesterday": "2026-03-09T00:00:00Z", // 2026-03-10 is a Tuesday
		"monday": "2026-03-09T00:00:00Z", "Wednesday": "2026-03-04T00:00:00Z", "SUNDAY": "2026-03-08T00:00:00Z",
	} {
		got, err := ParseInstant(text, now)
		if want == "" && err == nil || want != "" && (err != nil || got.Format(time.RFC3339) != want) {
			t.Errorf("%q: %v, %v; want %q", text, got, err, want)
		}
	}
}
