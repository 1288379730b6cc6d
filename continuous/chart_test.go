package continuous_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/continuous"
	"github.com/dendroprof/dendro/profile"
)

// TestLines: a window belongs to the first point at or after its start.
func TestLines(t *testing.T) {
	cpu := continuous.Type{Name: "process_cpu", SampleType: "cpu"}
	heap := continuous.Type{Name: "memory", SampleType: "inuse_space"}
	label := func(v string) continuous.Labels { return continuous.Labels{{Name: "version", Value: v}} }
	series := []continuous.Series{{Service: "a", Type: cpu, Labels: label("1")}, {Service: "a", Type: cpu, Labels: label("2")},
		{Service: "b", Type: cpu}}
	start := time.UnixMilli(1_000_000)
	at := func(of int32, after int, sum int64) continuous.Total {
		return continuous.Total{Series: of, Start: start.Add(time.Duration(after) * time.Millisecond), Parts: 2, Sum: sum}
	}
	totals := []continuous.Total{at(0, -1000, 1<<40), at(0, -999, 1), at(0, 0, 2), at(0, 1, 4), at(0, 1000, 8), at(1, 1001, 16),
		at(1, 2500, 1<<41), at(2, 2000, 32)}
	for _, c := range []struct {
		chart continuous.Chart
		gauge bool
		want  string
	}{
		{continuous.Chart{}, false, " 0:3 1000:12 2000:48"},
		{continuous.Chart{By: []string{"version", "missing"}}, false, " 2000:32|version=1 0:3 1000:12|version=2 2000:16"},
		{continuous.Chart{By: []string{"service_name"}}, false, "service_name=a 0:3 1000:12 2000:16|service_name=b 2000:32"},
		{continuous.Chart{By: []string{"version"}, Limit: 2}, false, " 2000:32|version=2 2000:16"},
		{continuous.Chart{Mean: true}, false, " 0:0.75 1000:3 2000:12"},
		{continuous.Chart{}, true, " 0:0.75 1000:3 2000:24"}, // the mean of each series, added up
		{continuous.Chart{Mean: true}, true, " 0:0.75 1000:3 2000:12"},
	} {
		c.chart.Start, c.chart.End, c.chart.Step = start, start.Add(2400*time.Millisecond), time.Second
		of := append([]continuous.Series{}, series...)
		for i := range of {
			if c.gauge {
				of[i].Type = heap
			}
		}
		var lines []string
		for _, l := range c.chart.Lines(&continuous.Totals{Series: of, Totals: totals}) {
			var b strings.Builder
			for _, l := range l.Labels {
				fmt.Fprintf(&b, "%s=%s", l.Name, l.Value)
			}
			for _, p := range l.Points {
				fmt.Fprintf(&b, " %d:%v", p.Time.Sub(start).Milliseconds(), p.Value)
			}
			lines = append(lines, b.String())
		}
		if got := strings.Join(lines, "|"); got != c.want {
			t.Errorf("%+v gauge %t: %q, want %q", c.chart, c.gauge, got, c.want)
		}
	}
	q := (&continuous.Chart{Start: start, End: start.Add(time.Second), Step: 15 * time.Second}).Query(continuous.Query{})
	if got := q.Range(); got != (continuous.Range{From: 985_001, Until: 1_001_001}) {
		t.Errorf("the chart reads %v", got)
	}
}

// TestOverTime: a gauge is as large over an hour as in one window.
func TestOverTime(t *testing.T) {
	var forest calltree.Forest
	forest.Path(calltree.NoNode, forest.Function(profile.Function{Name: "cache"}))
	tree := func(v int64) *calltree.Tree { return forest.Tree(profile.ValueType{Unit: "bytes"}, []int64{v}) }
	for _, c := range []struct {
		sampleType    string
		series        int
		parts         int64
		stored, shown int64
	}{{"inuse_space", 2, 4, 2001, 1001}, {"inuse_space", 1, 3, 1000, 333}, {"alloc_space", 2, 4, 2000, 2000}, {"inuse_space", 0, 0, 0, 0}} {
		m := continuous.Merged{Tree: tree(c.stored), Parts: c.parts, Series: make([]continuous.Series, c.series),
			Instances: int64(c.series)}
		for i := range m.Series {
			m.Series[i].Type.SampleType = c.sampleType
		}
		for range 2 {
			if got := m.OverTime().RootTotal(); got != c.shown {
				t.Errorf("%+v, %d instances: %d", c, m.Instances, got)
			}
			m.Instances = 0 // not counted
		}
	}
}
