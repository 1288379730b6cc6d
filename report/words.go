package report

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/dendroprof/dendro/analysis/regression"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/testrun"
)

// clean makes a name harmless wherever text is shown: control and invisible
// formatting characters are written as Go writes them.
func clean(s string) string {
	bad := func(r rune) bool {
		return r == utf8.RuneError || unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Co, unicode.Zl, unicode.Zp)
	}
	if !strings.ContainsFunc(s, bad) {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if bad(r) {
			q := strconv.QuoteRuneToASCII(r)
			b.WriteString(q[1 : len(q)-1])
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

// short cuts a commit to what people read.
func short(commit string) string { return commit[:min(10, len(commit))] }

func plural(n int, one string) string {
	if n == 1 {
		return one
	}
	return one + "s"
}

// percent writes a share, signed a difference of shares.
func percent(v float64) string { return fmt.Sprintf("%.1f %%", 100*v) }
func signed(v float64) string  { return fmt.Sprintf("%+.1f %%", 100*v) }

// cost writes a change's time with its interval: +1.94 ms/op (1.49 … 2.39).
func cost(f *regression.Finding) string {
	t := f.Delta.Time
	if t == nil {
		return ""
	}
	scale, unit := step(math.Abs(t.Value), t.Unit)
	return fmt.Sprintf("%+.3g %s (%.3g … %.3g)", t.Value/scale, unit, t.Low/scale, t.High/scale)
}

// measured writes a metric.
func measured(v float64, unit string) string {
	scale, unit := step(math.Abs(v), unit)
	return fmt.Sprintf("%.3g %s", v/scale, unit)
}

// step returns the step of a unit in which a value reads well: what to divide by,
// and its name. Units that are not times stay.
func step(v float64, unit string) (scale float64, name string) {
	what, per, isRate := strings.Cut(unit, "/")
	seconds, ok := testrun.Seconds(what)
	if !ok {
		return 1, clean(unit)
	}
	if isRate {
		per = "/" + clean(per)
	}
	for _, s := range []struct {
		seconds float64
		name    string
	}{{1, "s"}, {1e-3, "ms"}, {1e-6, "µs"}, {1e-9, "ns"}} {
		if v*seconds >= s.seconds || s.name == "ns" {
			return s.seconds / seconds, s.name + per
		}
	}
	return 1, clean(unit)
}

// difference writes a change of a value with its sign, in a step that reads well.
func difference(v float64, t profile.ValueType) string {
	v /= math.Pow10(t.Scale)
	switch t.Unit {
	case "count":
		return fmt.Sprintf("%+.1f", v)
	case "bytes":
		units := []string{"B", "KiB", "MiB", "GiB", "TiB"}
		i := 0
		for ; math.Abs(v) >= 1024 && i+1 < len(units); i++ {
			v /= 1024
		}
		return fmt.Sprintf("%+.3g %s", v, units[i])
	}
	unit := map[string]string{"nanoseconds": "ns", "microseconds": "us", "milliseconds": "ms", "seconds": "s"}[t.Unit]
	if unit == "" {
		return fmt.Sprintf("%+.3g %s", v, clean(t.Unit))
	}
	scale, name := step(math.Abs(v), unit)
	return fmt.Sprintf("%+.3g %s", v/scale, name)
}

// score writes a score.
func score(v float64) string { return fmt.Sprintf("%.1f", v) }

// below returns the part of a path that is not the path above; its last frame at
// least.
func below(path, above []string) []string {
	n := 0
	for n < len(path)-1 && n < len(above) && path[n] == above[n] {
		n++
	}
	return path[n:]
}

// cleanAll cleans every name of a list.
func cleanAll(names []string) []string {
	out := make([]string, len(names))
	for i := range names {
		out[i] = clean(names[i])
	}
	return out
}
