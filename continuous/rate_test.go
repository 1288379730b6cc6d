package continuous

import (
	"testing"
	"time"
)

// TestCovered is of the time that a rate divides by: of overlapping windows once, of gaps nothing.
func TestCovered(t *testing.T) {
	at := time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC)
	cpu := Type{Name: "process_cpu", SampleType: "cpu", SampleUnit: "nanoseconds", PeriodType: "cpu", PeriodUnit: "nanoseconds"}
	window := func(series int32, after, length time.Duration) Total {
		return Total{Series: series, Start: at.Add(after), Length: length, Covered: length, Parts: 1, Sum: int64(length)}
	}
	pod := func(name string) Series { return Series{Service: "a", Type: cpu, Labels: Labels{{"pod", name}}} }
	const long = 15 * time.Second
	totals := &Totals{Series: []Series{pod("1"), pod("2")},
		Totals: []Total{window(0, time.Second, long), window(0, 31*time.Second, long), window(1, 5*time.Second, long)}}
	c := &Chart{Start: at.Add(time.Minute), End: at.Add(time.Minute), Step: time.Minute}
	lines := c.Lines(totals)
	if len(lines) != 1 || len(lines[0].Points) != 1 {
		t.Fatalf("lines %+v", lines)
	}
	if p := lines[0].Points[0]; p.Value != 45e9 || p.Covered != 34*time.Second {
		t.Errorf("value %v in %v, not 45 s in 34 s", p.Value, p.Covered)
	}
}

// TestCoveredOfSums is of hours and days, which have the times of all their instances together: they count up to the length
// of the sum, also where instances ran at once in a part of it.
func TestCoveredOfSums(t *testing.T) {
	at := time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		level         Level
		covered, want time.Duration
	}{{Hour, 10 * time.Minute, 10 * time.Minute}, {Hour, 10 * 10 * time.Minute, time.Hour}, {Day, 10 * time.Hour, 10 * time.Hour}} {
		length := c.level.Length()
		start := at.Truncate(length)
		totals := &Totals{Series: []Series{{Service: "a", Type: Type{SampleType: "cpu"}}},
			Totals: []Total{{Level: c.level, Start: start, Length: length, Covered: c.covered, Parts: 60, Instances: 10, Sum: 1}}}
		chart := &Chart{Start: start, End: start, Step: length}
		if p := chart.Lines(totals)[0].Points[0]; p.Covered != c.want {
			t.Errorf("a sum of %s with %s of profiles covers %s, want %s", length, c.covered, p.Covered, c.want)
		}
	}
}
