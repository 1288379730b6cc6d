package releases_test

import (
	"errors"
	"fmt"
	"maps"
	"math"
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

// TestConditions names other machines.
func TestConditions(t *testing.T) {
	p := &pusher{t, mem.New(), new(calltree.Forest), 0, nil}
	for minute := range 150 {
		at := noon.Add(time.Duration(minute) * time.Minute)
		p.labels = continuous.Labels{{Name: "instance_type", Value: "m5.large"}}
		p.push(cpu, "1.0", "a", at, map[string]int64{"main": 100})
		if minute < 30 {
			continue
		}
		p.labels = continuous.Labels{{Name: "instance_type", Value: "m7.large"}}
		p.push(cpu, "1.1", "b", at, map[string]int64{"main": 100})
	}
	if c := open(t, p.st, releases.Options{Service: "shop"}); !strings.Contains(c.String(), `instance_type "m7.large", not "m5.large"`) {
		t.Errorf("%q", c)
	}
}

// TestAges compares windows of instances of one age. Instances of release 1.1 start one after the other, 10
// minutes apart from minute 100 on, and those of 1.0 from minute 10; the first 30 minutes of each cost 900 a minute,
// the rest 100. Release 0.9 is all there is before.
func TestAges(t *testing.T) {
	const pods = 4
	p := &pusher{t, mem.New(), new(calltree.Forest), 0, nil}
	hour, none, short := time.Hour, time.Duration(0), 20*time.Minute
	for minute := range 250 {
		at := noon.Add(time.Duration(minute) * time.Minute)
		if minute < 12 {
			p.push(cpu, "0.9", "a", at, map[string]int64{"main": 100})
		}
		for i, version := range []string{"1.0", "1.1"} {
			for pod := range pods {
				if age := minute - 10 - 90*i - 10*pod; age >= 0 {
					cost := int64(100)
					if age < 30 {
						cost = 900
					}
					p.push(cpu, version, fmt.Sprintf("%s-%d", version, pod), at, map[string]int64{"main": cost})
				}
			}
		}
	}
	for _, x := range []struct {
		name  string
		until int
		skip  *time.Duration
		warm  bool // warm-up of the head is compared
		words string
	}{
		{"warm", 249, nil, false, "; the first 30 min of each instance are not compared"},
		{"young", 150, nil, true, `; "1.1" is younger than 1 h: instances of the same age are compared, less what changed in the base since`},
		{"skip an hour", 249, &hour, false, "; the first 1 h of each instance are not compared"},
		{"skip too little", 249, &short, true, "; the first 20 min of each instance are not compared"},
		{"skip nothing", 249, &none, true, "an operation a second of one instance"},
	} {
		c := open(t, p.st, releases.Options{Service: "shop", Base: "1.0", Head: "1.1", Skip: x.skip,
			Until: noon.Add(time.Duration(x.until) * time.Minute)})
		if !strings.HasSuffix(c.String(), x.words) {
			t.Errorf("%s: %q, want %q", x.name, c, x.words)
		}
		list, err := c.Profiles(t.Context(), store.Query{})
		if err != nil || c.Instance != "pod" || len(list) != 2*pods {
			t.Fatalf("%s: %d runs by %q, %v", x.name, len(list), c.Instance, err)
		}
		minutes := map[string][]int64{} // of instances, by side
		for _, r := range list {
			n, _ := r.Operations()
			warm := (r.Sum - 100*int64(n/60)) / 800
			side := r.Run.Attributes[releases.SideAttribute]
			minutes[side] = append(minutes[side], warm)
			if x.name == "young" {
				minutes[side+" all"] = append(minutes[side+" all"], int64(n/60))
			}
		}
		if slices.Max(minutes[releases.Head]) > 0 != x.warm {
			t.Errorf("%s: minutes of warm-up that are compared: %v", x.name, minutes)
		}
		if x.name == "young" && (!slices.Equal(minutes[releases.Head], minutes[releases.Base]) ||
			!slices.Equal(minutes[releases.Head+" all"], minutes[releases.Base+" all"])) {
			t.Errorf("the sides are of other ages: %v", minutes)
		}
	}
	young := noon.Add(150 * time.Minute)
	_, err := releases.Open(t.Context(), p.st, releases.Options{Service: "shop", Head: "1.1", Skip: &hour, Until: young})
	if err == nil || !errors.Is(err, store.ErrNothing) || err.Error() != `service "shop": version "1.1" has run for 50m0s, and the first 1h0m0s `+
		`of each instance are not compared (--skip); it has a verdict from 2026-11-20 14:50 UTC on` {
		t.Errorf("a young release: %v", err)
	}
	c := open(t, p.st, releases.Options{Service: "shop", Head: "1.1", Skip: &hour, Until: noon.Add(170 * time.Minute)}) // 14:50
	if c.Pending != nil {
		t.Errorf("after the time that was said: %v", c.Pending)
	}
	c = open(t, p.st, releases.Options{Service: "shop", Base: "0.9", Head: "1.0", Until: noon.Add(40 * time.Minute)})
	if !strings.HasSuffix(c.String(), `; "1.0" is younger than 1 h: what is found may be its warm-up`) {
		t.Errorf("%q", c)
	}
}

// TestDrift compares young instances with those of the base at the same age, as these would be now: other requests
// treble what day costs and halve what night does.
func TestDrift(t *testing.T) {
	p := &pusher{t, mem.New(), new(calltree.Forest), 0, nil}
	p.push(cpu, "0.9", "a", noon, map[string]int64{"main": 100})
	for minute := range 340 {
		for pod := range 4 {
			at := noon.Add(time.Duration(minute+1) * time.Minute)
			values := map[string]int64{"main;day": 2_000_000, "main;night": 6_000_000}
			if minute >= 300 {
				values = map[string]int64{"main;day": 6_000_000, "main;night": 3_000_000}
				young := maps.Clone(values)
				young["main;compile"] = 1_000_000
				p.push(cpu, "1.1", fmt.Sprintf("new-%d", pod), at, young)
			} else if minute < 30 {
				values["main;compile"] = 1_000_000
			}
			p.push(cpu, "1.0", fmt.Sprintf("old-%d", pod), at, values)
		}
	}
	c := open(t, p.st, releases.Options{Service: "shop", Head: "1.1"})
	for _, side := range []string{releases.Base, releases.Head} {
		tree, list, err := store.MergeTrees(t.Context(), c, store.Query{Attributes: map[string]string{releases.SideAttribute: side}})
		if err != nil || len(list) != 4 {
			t.Fatal(len(list), err)
		}
		self := map[string]float64{}
		for _, r := range tree.FunctionRows() {
			self[tree.Functions[r.Func].Name] = float64(r.Self)
		}
		if day := self["day"] / self["night"]; math.Abs(day-2) > 0.01 || self["compile"] == 0 {
			t.Errorf("%s: day costs %g times what night does, compile %g", side, day, self["compile"])
		}
	}
}

// TestAgesOfBlocks leaves the warm-up of each instance out of blocks of time, unless no instance lives so long.
func TestAgesOfBlocks(t *testing.T) {
	for _, lives := range []int{1000, 20} { // minutes
		p := &pusher{t, mem.New(), new(calltree.Forest), 0, nil}
		for minute := range 360 {
			for pod := range 2 { // the second starts 60 minutes later, or instances follow each other
				age, name := minute%180-60*pod, fmt.Sprintf("pod-%d", pod)
				if lives < 60 {
					age, name = minute%lives, fmt.Sprintf("pod-%d-%d", pod, minute/lives)
				}
				cost := int64(100)
				if age < 20 {
					cost = 900
				}
				if age >= 0 {
					p.push(cpu, []string{"1.0", "1.1"}[minute/180], name, noon.Add(time.Duration(minute)*time.Minute), map[string]int64{"main": cost})
				}
			}
		}
		c := open(t, p.st, releases.Options{Service: "shop"})
		words, highest := "; the first 30 min of each instance are not compared", int64(100)
		if lives < 60 {
			words, highest = `; the first 30 min of "1.1" are not compared`, 900
		}
		if !strings.HasSuffix(c.String(), words) || c.Instance != "" {
			t.Errorf("%q, want %q", c, words)
		}
		list, err := c.Profiles(t.Context(), store.Query{})
		if err != nil || len(list) < 6 {
			t.Fatal(len(list), err)
		}
		for _, r := range list {
			if n, _ := r.Operations(); r.Sum*60 > highest*int64(n) {
				t.Errorf("instances of %d minutes: run %s has warm-up: %d in %g s", lives, r.Run.Key, r.Sum, n)
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
	check := func(operation string, perMinute float64, unit string) {
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
			if r.PerOperation() != unit {
				t.Errorf("run %s is in %s, want %s", r.Run.Key, r.PerOperation(), unit)
			}
		}
	}
	check("a request", 30, "ns/request")
	push(10, "1.2", false)
	check("a second of one instance (the number of requests of run 1.2@", 60, "ns/s")
}

// TestPending: where a block has both releases, the one before has none of its own.
func TestPending(t *testing.T) {
	p := &pusher{t, mem.New(), new(calltree.Forest), 0, nil}
	for minute := range 40 {
		version := map[bool]string{true: "1.0", false: "1.1"}[minute < 2]
		p.push(cpu, version, "a", noon.Add(time.Duration(minute)*time.Minute), map[string]int64{"main": 1})
	}
	c := open(t, p.st, releases.Options{Service: "shop"})
	const want = `version "1.1" has nothing to be compared with: too little of "1.0" ran before; the release after it has a verdict`
	if !errors.Is(c.Pending, store.ErrNothing) || c.Pending.Error() != want {
		t.Errorf("%v", c.Pending)
	}
}

// TestFirstBlock: a release is followed from its first whole block on. Before, each window would have it judged anew.
func TestFirstBlock(t *testing.T) {
	p := &pusher{t, mem.New(), new(calltree.Forest), 0, nil}
	for minute := range 14 {
		version := map[bool]string{true: "1.0", false: "1.1"}[minute < 10]
		p.push(cpu, version, "a", noon.Add(time.Duration(minute)*time.Minute+30*time.Second), map[string]int64{"main": 1})
		plans, err := releases.Plans(t.Context(), p.st, func(string) bool { return true }, time.Time{})
		if err != nil || (len(plans) == 1) != (minute > 10) {
			t.Errorf("minute %d: %d services with releases, %v", minute, len(plans), err)
		}
	}
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
