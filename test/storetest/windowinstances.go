package storetest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/dendroprof/dendro/continuous"
	"github.com/dendroprof/dendro/profile"
)

// podPolicy keeps raw windows for a day, and sums away labels of instances.
var podPolicy = continuous.Policy{Keep: [3]time.Duration{24 * time.Hour}, Instance: []string{"instance", "pod"}}

// testSummedInstances expects the labels of instances to end at the hour, and the rest to stay as it is.
func testSummedInstances(l *windowLab) {
	var list []*continuous.Window
	for hour := range 72 {
		for pod := range 3 {
			list = append(list, l.make.Window("shop", at(hour, 5*pod, 0), []string{"pod", fmt.Sprint("p", pod, "-", hour/24), "version", "1"},
				stack("main;work", int64(pod)+1)))
		}
		list = append(list, l.make.Window("shop", at(hour, 30, 0), []string{"zone", "eu"}, stack("main", 100)))
	}
	l.put(list...)
	all := continuous.Query{}
	before := l.tree(all)
	hourly := func() (values []float64) { // by whole hours, of three days and of a time between them
		for _, c := range []continuous.Chart{{Start: at(0, 0, 0), End: at(71, 59, 0)}, {Start: at(20, 17, 0), End: at(60, 30, 0)}} {
			c.Step = time.Hour
			for _, p := range c.Lines(l.totals(c.Query(all), c.Step))[0].Points {
				values = append(values, p.Value)
			}
		}
		return values
	}
	l.same("a chart of hours", hourly(), slices.Repeat([]float64{106}, 72+41))
	l.same("series before", l.stats().Series, int64(3*3+1))
	rolled := l.rollUp(at(72, 10, 0), podPolicy)
	l.same("sums", rolled.Made, int64(2*72+2*3))
	l.reopen()
	l.same("series", l.stats().Series, int64(3+1+1)) // the pods of the last day, what they are summed up to, zone
	after := l.tree(all)
	l.same("all", valuesOf(after.Tree), valuesOf(before.Tree))
	l.same("a chart of hours, of sums", hourly(), slices.Repeat([]float64{106}, 72+41))
	l.same("parts", after.Parts, before.Parts)
	l.same("covered time", after.Covered, before.Covered)
	l.same("instances", []int64{before.Instances, after.Instances}, []int64{3*3 + 1, 3 + 1})

	name := func(list []continuous.Series) (names []string) {
		for _, s := range list {
			names = append(names, fmt.Sprint(s.Labels, " ", s.Summed))
		}
		return names
	}
	l.same("series of the last day", name(l.series(continuous.Query{From: at(48, 0, 0)})),
		[]string{"[{pod p0-2} {version 1}] []", "[{pod p1-2} {version 1}] []", "[{pod p2-2} {version 1}] []", "[{zone eu}] []"})
	l.same("series of the first day", name(l.series(continuous.Query{Until: at(24, 0, 0)})), []string{"[{version 1}] [pod]", "[{zone eu}] []"})
	sums := l.totals(continuous.Query{Until: at(1, 0, 0)}, time.Hour)
	l.same("an hour", sums.Totals, []continuous.Total{
		{Level: continuous.Hour, Start: at(0, 0, 0), Length: time.Hour, Parts: 3, Covered: 45 * time.Second, Sum: 6, Instances: 3},
		{Series: 1, Level: continuous.Hour, Start: at(0, 0, 0), Length: time.Hour, Parts: 1, Covered: 15 * time.Second, Sum: 100, Instances: 1}})

	pod := continuous.Query{Matchers: []continuous.Matcher{{Name: "pod", Op: continuous.Equal, Value: "p1-2"}}, From: at(48, 0, 0),
		Until: at(72, 0, 0)}
	l.checkAll("a pod where raw windows are kept, also of hours that have sums", pod)
	pod.From = at(47, 0, 0)
	_, err := l.s.Tree(l.ctx, pod)
	var summed *continuous.SummedError
	if !errors.As(err, &summed) || summed.Label != "pod" || !summed.Since.Equal(at(48, 0, 0)) {
		l.t.Errorf("a pod where sums are left: %v", err)
	}
	pod.Matchers = append(pod.Matchers, continuous.Matcher{Name: "zone", Op: continuous.Equal, Value: "eu"})
	l.same("what has no pods", len(l.series(pod)), 0)
	pod.Matchers[0] = continuous.Matcher{Name: "pod", Op: continuous.NotEqual, Value: "p1-2"}
	l.checkAll("other labels are as before", pod)

	by := continuous.Chart{Start: at(24, 0, 0), End: at(72, 0, 0), Step: 24 * time.Hour, By: []string{"pod"}}
	q := by.Query(continuous.Query{Matchers: []continuous.Matcher{{Name: "version", Op: continuous.Equal, Value: "1"}}})
	lines := map[string][]float64{}
	for _, line := range by.Lines(l.totals(q, by.Step)) {
		for _, p := range line.Points {
			lines[line.Labels.Get("pod")] = append(lines[line.Labels.Get("pod")], p.Value)
		}
	}
	l.same("lines by pod", lines, map[string][]float64{"": {24 * 6}, "p0-2": {24}, "p1-2": {48}, "p2-2": {72}})

	l.put(l.make.Window("shop", at(49, 50, 0), []string{"pod", "late", "version", "1"}, stack("late", 7)),
		l.make.Window("shop", at(49, 51, 0), []string{"pod", "p0-2", "version", "1"}, stack("late", 9)))
	late := l.tree(all)
	l.rollUp(at(72, 20, 0), podPolicy)
	l.same("late windows", valuesOf(l.tree(all).Tree), valuesOf(late.Tree))
	l.same("their sum", l.totals(continuous.Query{From: at(49, 0, 0), Until: at(50, 0, 0)}, time.Hour).Totals[0],
		continuous.Total{Level: continuous.Hour, Start: at(49, 0, 0), Length: time.Hour, Parts: 5, Covered: 75 * time.Second, Sum: 22,
			Instances: 3})
	l.rollUp(at(100, 0, 0), podPolicy)
	l.same("series in the end", l.stats().Series, int64(2))
	l.same("all in the end", valuesOf(l.tree(all).Tree), valuesOf(late.Tree))

	list = nil
	for pod := range 4 { // live heaps of 1000, 1100, 1200 and 1300 bytes
		for i := range 4 {
			w := l.make.Window("heap", at(200, 10*i+1, pod), []string{"pod", fmt.Sprint(pod)}, stack("main", int64(1000+100*pod)))
			w.Series.Type, w.Type = HeapWindows, TypeOf(profile.Live)
			list = append(list, w)
		}
	}
	l.put(list...)
	heap := continuous.Query{Type: HeapWindows, From: at(200, 0, 0), Until: at(201, 0, 0)}
	l.same("heap of all", l.tree(heap).OverTime().RootTotal(), int64(4600))
	chart := continuous.Chart{Start: at(200, 0, 0), End: at(201, 0, 0), Step: time.Hour}
	value := func() float64 { return chart.Lines(l.totals(chart.Query(heap), chart.Step))[0].Points[0].Value }
	l.same("heap over time", value(), 4600.0)
	l.rollUp(at(210, 0, 0), podPolicy)
	l.same("windows of the heap", l.tree(heap).Windows, int64(1))
	l.same("heap of all, from its sum", l.tree(heap).OverTime().RootTotal(), int64(4600))
	l.rollUp(at(240, 0, 0), podPolicy)
	l.same("heap over time, from its sum", value(), 4600.0)
}

// testSummedInstancesOfEveryPath compares random selections with the windows themselves, of which sums
// lack the pods.
func testSummedInstancesOfEveryPath(l *windowLab) {
	answered := 0
	for seed := range uint64(1) {
		r := rand.New(rand.NewPCG(seed, 41))
		l := newWindowLab(l.t, l.engine)
		for step := range 8 {
			var list []*continuous.Window
			for range 1 + r.IntN(20) {
				list = append(list, randomWindow(r, l.make, 96))
			}
			l.put(list...)
			if r.IntN(3) > 0 {
				l.rollUp(at(r.IntN(120), r.IntN(60), 0), continuous.Policy{Instance: podPolicy.Instance})
			}
			for range 3 {
				q := randomSelection(r, 100)
				what := fmt.Sprint("seed ", seed, ", step ", step, " ", q)
				merged := l.tree(q) // raw windows are kept: every pod can be selected
				want, parts := pathValues{}, int64(0)
				for _, w := range l.selected(q) {
					want.add(w)
					parts++
				}
				l.same(what, valuesOf(merged.Tree), want)
				l.same(what+": parts", merged.Parts, parts)
				if len(q.Matchers) > 0 && parts > 0 {
					answered++
				}
			}
		}
	}
	if answered == 0 {
		l.t.Error("no pod was selected")
	}
}
