package calltree_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/test/proftest"
)

// TestChartOfIdleTime draws samples that are far apart in proportion to the interval: up to
// the next sample, as Firefox Profiler does, or with gaps in place of the time without
// samples, in which samples that come a little late are joined.
func TestChartOfIdleTime(t *testing.T) {
	const ms = int64(time.Millisecond)
	for _, c := range []struct {
		samples  string
		interval time.Duration
		times    []int64
		gaps     bool
		want     string
	}{
		{"a  a  a  a  a  a  a  a  a  a", time.Millisecond, []int64{0, 10, 20, 30, 40, 50, 60, 70, 80, 90}, false, "a 0..91"},
		{"a  a  b", time.Millisecond, []int64{0, 10, 20}, true, "a 0..1, a 10..11, b 20..21"},
		{"a  a  a  b  b", 10 * time.Millisecond, []int64{0, 10, 45, 55, 10_000}, false, "a 0..55, b 55..10010"},
		{"a  a  a  b  b", 10 * time.Millisecond, []int64{0, 10, 45, 55, 10_000}, true, "a 0..55, b 55..65, b 10000..10010"},
	} {
		p := proftest.Columns(c.samples)
		p.Interval = c.interval
		p.Tables[0].Time = nil
		for _, at := range c.times {
			p.Tables[0].Time = append(p.Tables[0].Time, at*ms)
		}
		s, err := calltree.NewViewer(p).Show(calltree.View{})
		if err != nil {
			t.Fatal(err)
		}
		boxes, err := s.StackChart(calltree.ChartOptions{Gaps: c.gaps})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, b := range boxes {
			got = append(got, fmt.Sprintf("%s %g..%g", s.Functions[b.Func].Name, b.Start, b.End))
		}
		if got := strings.Join(got, ", "); got != c.want {
			t.Errorf("gaps %v: %s, want %s", c.gaps, got, c.want)
		}
	}
}
