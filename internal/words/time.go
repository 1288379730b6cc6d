package words

import (
	"fmt"
	"time"
)

const minute = 60_000 // ms

// Instant formats a time in ms since 1970: "2026-11-22 07:00:07.690Z"; 0 is empty.
func Instant(ms int64) string {
	if ms == 0 {
		return ""
	}
	return time.UnixMilli(ms).UTC().Format("2006-01-02 15:04:05.000Z")
}

// Millis formats a length of time in ms: "1,541 ms", whole minutes as "5 min".
func Millis(ms int64) string {
	if ms >= minute && ms%minute == 0 {
		return fmt.Sprintf("%d min", ms/minute)
	}
	return Count(ms) + " ms"
}
