package pyroscope

import (
	"strconv"
	"strings"
	"time"
)

// ParseTime parses a time: digits are a day (8 of them), milliseconds (13), microseconds (16),
// nanoseconds (19) or else seconds since 1970; anything else is an offset from now, such as
// `now-1h`. A text that is none of these is now, as in Pyroscope.
func ParseTime(text string, now time.Time) time.Time {
	text = strings.NewReplacer(" ", "", "_", "", ",", "").Replace(text)
	if text == "" {
		return now
	}
	if strings.Trim(text, "0123456789") == "" {
		return parseDigits(text, now)
	}
	at := strings.IndexAny(text, "+-")
	if at < 0 {
		return now
	}
	offset := parseOffset(text[at+1:])
	if text[at] == '-' {
		offset = -offset
	}
	return now.Add(offset)
}

func parseDigits(text string, now time.Time) time.Time {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return now
	}
	switch len(text) {
	case 8:
		if day, err := time.Parse("20060102", text); err == nil {
			return day
		}
	case 13:
		return time.UnixMilli(n)
	case 16:
		return time.UnixMicro(n)
	case 19:
		return time.Unix(0, n)
	}
	return time.Unix(min(n, 1<<40), 0) // a later year than any that is stored
}

// offsetUnits are the units of offsets by how they begin.
var offsetUnits = []struct {
	prefix string
	unit   time.Duration
}{
	{"s", time.Second}, {"mon", 30 * 24 * time.Hour}, {"M", 30 * 24 * time.Hour}, {"m", time.Minute},
	{"h", time.Hour}, {"d", 24 * time.Hour}, {"w", 7 * 24 * time.Hour}, {"y", 365 * 24 * time.Hour},
}

// parseOffset parses numbers with units, `1h30m`; what has no known unit is 0.
func parseOffset(text string) (sum time.Duration) {
	for text != "" {
		digits := len(text) - len(strings.TrimLeft(text, "0123456789"))
		n, err := strconv.ParseInt(text[:digits], 10, 32)
		rest := text[digits:]
		letters := len(rest) - len(strings.TrimLeftFunc(rest, func(c rune) bool { return wordy(c, "") && (c < '0' || c > '9') }))
		if err != nil || letters == 0 {
			return sum
		}
		for _, u := range offsetUnits {
			if strings.HasPrefix(rest, u.prefix) {
				sum += time.Duration(n) * u.unit
				break
			}
		}
		text = rest[letters:]
	}
	return sum
}
