package calltree_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/test/proftest"
)

// TestChartOfIdleTime leaves time without samples empty, and joins samples that come late.
func TestChartOfIdleTime(t *testing.T) {
	p := proftest.Columns("a  a  a  b  b")
	const ms = int64(time.Millisecond)
	p.Interval = 10 * time.Millisecond
	p.Tables[0].Time = []int64{0, 10 * ms, 45 * ms, 55 * ms, 10_000 * ms}
	s, err := calltree.NewViewer(p).Show(calltree.View{})
	if err != nil {
		t.Fatal(err)
	}
	boxes, err := s.StackChart(false)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, b := range boxes {
		got = append(got, fmt.Sprintf("%s %g..%g", s.Functions[b.Func].Name, b.Start, b.End))
	}
	if got, want := strings.Join(got, ", "), "a 0..55, b 55..65, b 10000..10010"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
