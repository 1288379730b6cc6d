package releases_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/continuous"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/store/mem"
	"github.com/dendroprof/dendro/store/releases"
)

var (
	cpu      = continuous.Type{Name: "process_cpu", SampleType: "cpu", SampleUnit: "nanoseconds", PeriodType: "cpu", PeriodUnit: "nanoseconds"}
	heap     = continuous.Type{Name: "memory", SampleType: "inuse_space", SampleUnit: "bytes", PeriodType: "space", PeriodUnit: "bytes"}
	requests = continuous.Type{Name: "requests", SampleType: "requests", SampleUnit: "count"}
	noon     = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
)

// pusher pushes windows of a minute.
type pusher struct {
	t      *testing.T
	st     *mem.Store
	forest *calltree.Forest
	n      byte
	labels continuous.Labels // of the next window, beside pod and version
}

func (p *pusher) push(t continuous.Type, version, pod string, start time.Time, values map[string]int64) {
	p.t.Helper()
	p.n++
	valueType := profile.NamedType("cpu")
	if t == heap {
		valueType = profile.NamedType("live")
	}
	w := &continuous.Window{
		Series: continuous.Series{Service: "shop", Type: t,
			Labels: append(slices.Clone(p.labels), continuous.Label{Name: "pod", Value: pod}, continuous.Label{Name: "version", Value: version})},
		Start: start, Length: time.Minute, Type: valueType, Forest: p.forest,
		Hash: profile.Hash{p.n, byte(start.Unix()), byte(start.Unix() >> 8), byte(start.Unix() >> 16)},
	}
	for path, value := range values {
		at := calltree.NoNode
		for name := range strings.SplitSeq(path, ";") {
			at = p.forest.Path(at, p.forest.Function(profile.Function{Name: name}))
		}
		w.Self.Nodes, w.Self.Self = append(w.Self.Nodes, at), append(w.Self.Self, value)
	}
	w.Self = calltree.AddVectors(w.Self)
	out, err := p.st.PutWindows(p.t.Context(), []*continuous.Window{w})
	if err != nil || out[0] != continuous.Stored {
		p.t.Fatal(out, err)
	}
}

func open(t *testing.T, st *mem.Store, o releases.Options) *releases.Compared {
	t.Helper()
	c, err := releases.Open(t.Context(), st, o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// sides returns the sums of the runs of each side and benchmark.
func sides(t *testing.T, c *releases.Compared) map[string][]int64 {
	t.Helper()
	list, err := c.Profiles(t.Context(), store.Query{})
	if err != nil {
		t.Fatal(err)
	}
	sums := map[string][]int64{}
	for _, p := range list {
		key := p.Run.Attributes[releases.SideAttribute] + " " + p.Benchmark.Name
		sums[key] = append(sums[key], p.Sum)
	}
	return sums
}

// TestBefore compares the newest release with the one before it, not with older ones.
func TestBefore(t *testing.T) {
	p := &pusher{t, mem.New(), new(calltree.Forest), 0, nil}
	for minute := range 30 {
		at := noon.Add(time.Duration(minute) * time.Minute)
		version := []string{"1.0", "1.1", "1.2"}[minute/10]
		p.push(cpu, version, "a", at, map[string]int64{"main;work": int64(100 + minute/10)})
		p.push(cpu, version, "b", at, map[string]int64{"main": 5})
		p.push(heap, version, "a", at, map[string]int64{"main;cache": 1000})
		p.push(heap, version, "b", at, map[string]int64{"main;cache": 2000})
	}
	c := open(t, p.st, releases.Options{Service: "shop"})
	if c.Head != "1.2" || fmt.Sprint(c.Base) != "[1.1]" || c.Beside || c.Label != "version" {
		t.Fatalf("compared %+v", c)
	}
	got := sides(t, c)
	for _, side := range []string{"head process_cpu", "base process_cpu"} {
		want, n := map[string]int64{"head process_cpu": 107, "base process_cpu": 106}[side], len(got[side])
		if n < 4 || got[side][1] != want*int64(c.Block/time.Minute) {
			t.Errorf("%s: %v, want each minute %d", side, got[side], want)
		}
	}
	if mean := got["head memory"]; len(mean) < 4 || mean[0] != 1500 {
		t.Errorf("a gauge is not the mean of its windows: %v", mean)
	}
	list, err := c.Profiles(t.Context(), store.Query{Benchmarks: []string{"process_cpu"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range list {
		if n, _ := p.Operations(); n != 2*c.Block.Seconds() {
			t.Errorf("%s: %g seconds of instances, want %g", p.Run.Key, n, 2*c.Block.Seconds())
		}
	}
	if c := open(t, p.st, releases.Options{Service: "shop", Base: "1.0", Head: "1.1"}); c.Head != "1.1" || c.Base[0] != "1.0" {
		t.Errorf("named releases: %+v", c)
	}
}

// TestBeside compares a canary with the rest at the same time, not with the time before.
func TestBeside(t *testing.T) {
	p := &pusher{t, mem.New(), new(calltree.Forest), 0, nil}
	for minute := range 60 {
		at := noon.Add(time.Duration(minute) * time.Minute)
		cost := int64(100)
		if minute < 40 {
			cost = 900 // of the past
		}
		p.push(cpu, "1.1", "a", at, map[string]int64{"main": cost})
		p.push(cpu, "1.0 (old)", "b", at, map[string]int64{"main": cost})
		if minute >= 40 {
			p.push(cpu, "1.2", "c", at, map[string]int64{"main": 110})
		}
	}
	c := open(t, p.st, releases.Options{Service: "shop"})
	if c.Head != "1.2" || len(c.Base) != 2 || !c.Beside {
		t.Fatalf("compared %+v", c)
	}
	for _, sum := range sides(t, c)["base process_cpu"] {
		if sum > 200*int64(c.Block/time.Minute) {
			t.Errorf("a run of the base has %d: windows of before the canary", sum)
		}
	}
}

// TestConditions leaves the warm-up of a release out once it has run for an hour, says that a younger one
// has it, and names other machines.
func TestConditions(t *testing.T) {
	p := &pusher{t, mem.New(), new(calltree.Forest), 0, nil}
	for minute := range 150 {
		at, cost := noon.Add(time.Duration(minute)*time.Minute), int64(100)
		p.labels = continuous.Labels{{Name: "instance_type", Value: "m5.large"}}
		p.push(cpu, "1.0", "a", at, map[string]int64{"main": cost})
		if minute < 30 {
			continue
		}
		if minute < 60 {
			cost = 900 // not compiled
		}
		p.labels = continuous.Labels{{Name: "instance_type", Value: "m7.large"}}
		p.push(cpu, "1.1", "b", at, map[string]int64{"main": cost})
	}
	for until, want := range map[int]struct {
		warm  bool
		least int64 // cost a minute
	}{80: {false, 900}, 149: {true, 100}} {
		c := open(t, p.st, releases.Options{Service: "shop", Until: noon.Add(time.Duration(until) * time.Minute)})
		highest := int64(0)
		for _, sum := range sides(t, c)["head process_cpu"] {
			highest = max(highest, sum/int64(c.Block/time.Minute))
		}
		if c.Warm != want.warm || highest < want.least || want.warm && highest > want.least {
			t.Errorf("after %d minutes: warm %v, up to %d a minute, want %+v", until, c.Warm, highest, want)
		}
		for words, said := range map[string]bool{`instance_type "m7.large", not "m5.large"`: true,
			`the first 30 min of "1.1" are left out`: want.warm, `"1.1" is younger than 1 h: what is found may be its warm-up`: !want.warm} {
			if strings.Contains(c.String(), words) != said {
				t.Errorf("after %d minutes: %q, says %s: want %v", until, c, words, said)
			}
		}
	}
}

// TestInstances spreads the instances of releases that ran beside each other over runs.
func TestInstances(t *testing.T) {
	p := &pusher{t, mem.New(), new(calltree.Forest), 0, nil}
	for pod := range 200 {
		version := "1.0"
		if pod%5 == 0 { // 40: 13 runs of 3 or 4
			version = "1.1"
		}
		for minute := range 4 {
			p.n = byte(pod)
			p.push(cpu, version, fmt.Sprintf("pod+%d", pod), noon.Add(time.Duration(minute)*time.Minute), map[string]int64{"main": 10})
		}
	}
	c := open(t, p.st, releases.Options{Service: "shop"})
	got := sides(t, c)
	head, base := got["head process_cpu"], got["base process_cpu"]
	sum := func(list []int64) (n int64) {
		for _, x := range list {
			n += x
		}
		return n
	}
	if c.Instance != "pod" || len(head) != 13 || len(base) != 53 || sum(head) != 40*4*10 || sum(base) != 160*4*10 {
		t.Errorf("instances %q, head %v, base %v", c.Instance, head, base)
	}
	// What is summed up has no instances any more: runs are blocks of time.
	for hour := range 9 {
		for pod := range 10 {
			p.push(cpu, fmt.Sprint("1.", pod%2), fmt.Sprintf("pod+%d", pod), noon.Add(time.Duration(hour+1)*time.Hour), map[string]int64{"main": 10})
		}
	}
	policy := continuous.Policy{Keep: [3]time.Duration{continuous.Raw: time.Hour}, Instance: continuous.InstanceLabels}
	if _, err := p.st.RollUp(t.Context(), noon.Add(24*time.Hour), policy); err != nil {
		t.Fatal(err)
	}
	p.push(cpu, "1.2", "other", noon.Add(48*time.Hour), map[string]int64{"main": 10})
	c = open(t, p.st, releases.Options{Service: "shop", Head: "1.1"})
	if got := sides(t, c); c.Instance != "" || len(got["head process_cpu"]) < 4 || sum(got["head process_cpu"])%50 != 0 {
		t.Errorf("after the roll-up: instances %q, head %v", c.Instance, got["head process_cpu"])
	}
}

// TestRequests compares per request where every run has some, and per second else.
func TestRequests(t *testing.T) {
	p := &pusher{t, mem.New(), new(calltree.Forest), 0, nil}
	minute := 0
	push := func(minutes int, version string, counted bool) {
		for range minutes {
			at := noon.Add(time.Duration(minute) * time.Minute)
			p.push(cpu, version, "a", at, map[string]int64{"main": 600})
			if counted {
				p.push(requests, version, "a", at, map[string]int64{"requests": 30})
			}
			minute++
		}
	}
	push(10, "1.0", true)
	push(10, "1.1", true)
	check := func(operation string, perMinute float64) {
		t.Helper()
		c := open(t, p.st, releases.Options{Service: "shop"})
		if !strings.Contains(c.String(), "an operation "+operation) {
			t.Errorf("%s: want an operation to be %s", c, operation)
		}
		list, err := c.Profiles(t.Context(), store.Query{})
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range list {
			if n, _ := r.Operations(); r.Benchmark.Name != cpu.Name || n != perMinute*c.Block.Minutes() {
				t.Errorf("run %s of %s: %g operations, want %g a minute", r.Run.Key, r.Benchmark, n, perMinute)
			}
		}
	}
	check("a request", 30)
	push(10, "1.2", false)
	check("a second of one instance (the number of requests of run 1.2@", 60)
}

func TestNothingToCompare(t *testing.T) {
	p := &pusher{t, mem.New(), new(calltree.Forest), 0, nil}
	for _, want := range []string{"no service has pushed", "these services have", "no release before", `version="9"`} {
		_, err := releases.Open(t.Context(), p.st, map[string]releases.Options{
			"no service has pushed": {Service: "shop"}, "these services have": {Service: "nosuch"},
			"no release before": {Service: "shop"}, `version="9"`: {Service: "shop", Head: "9"},
		}[want])
		if err == nil || !strings.Contains(err.Error(), want) || !errors.Is(err, store.ErrNothing) {
			t.Errorf("%s: error %v", want, err)
		}
		p.push(cpu, "1.0", "a", noon.Add(time.Duration(p.n)*time.Minute), map[string]int64{"main": 1})
	}
}
