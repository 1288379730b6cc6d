package words

import (
	"fmt"
	"math"
	"strconv"
	"strings"
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

// ParseDate parses a date as RFC 3339, or a day (`2026-11-21`, midnight UTC), and
// returns it in UTC.
func ParseDate(text string) (time.Time, error) {
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05", "2006-01-02 15:04:05", "2006-01-02T15:04", time.DateOnly} {
		if t, err := time.Parse(layout, text); err == nil {
			return t.UTC(), nil
		}
	}
	return time.Time{}, fmt.Errorf("%q is not a date (RFC 3339, like 2026-11-21T10:00:00Z, or 2026-11-21)", text)
}

// ParseInstant parses a date like ParseDate; a day by its name (today, yesterday, or the
// newest Monday, today included: midnight UTC); or an age before now: 12h, 30d, 1.5w, 1y (of
// 365 days) or any Go duration.
func ParseInstant(text string, now time.Time) (time.Time, error) {
	now = now.UTC()
	if age, ok := parseAge(text); ok {
		return now.Add(-age), nil
	}
	if days, ok := daysBefore(text, now.Weekday()); ok {
		return time.Date(now.Year(), now.Month(), now.Day()-days, 0, 0, 0, 0, time.UTC), nil
	}
	at, err := ParseDate(text)
	if err != nil {
		err = fmt.Errorf("%q is not a date (2026-11-21, 2026-11-21T10:00:00Z), a day (Monday, yesterday) or an age with its unit (30d, 12h)", text)
	}
	return at, err
}

// daysBefore returns how many days before today the day of a name was last.
func daysBefore(name string, today time.Weekday) (int, bool) {
	switch name = strings.ToLower(name); name {
	case "today":
		return 0, true
	case "yesterday":
		return 1, true
	}
	for days := range 7 {
		if strings.ToLower(((today + 7 - time.Weekday(days)) % 7).String()) == name {
			return days, true
		}
	}
	return 0, false
}

func parseAge(text string) (time.Duration, bool) {
	for unit, length := range map[string]time.Duration{"d": 24 * time.Hour, "w": 7 * 24 * time.Hour, "y": 365 * 24 * time.Hour} {
		if number, ok := strings.CutSuffix(text, unit); ok {
			n, err := strconv.ParseFloat(number, 64)
			age := n * float64(length)
			return time.Duration(age), err == nil && age >= 0 && age < math.MaxInt64
		}
	}
	age, err := time.ParseDuration(text)
	return age, err == nil && age >= 0
}
