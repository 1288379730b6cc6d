package agent

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	commonv3 "skywalking.apache.org/repo/goapi/collect/common/v3"
	agentv3 "skywalking.apache.org/repo/goapi/collect/language/agent/v3"
	profilev3 "skywalking.apache.org/repo/goapi/collect/language/profile/v3"
)

// offline is an agent without a connection and with short minutes, which logs to
// the text that it returns.
func offline(t *testing.T, minute time.Duration) (*agent, *strings.Builder) {
	var log strings.Builder
	a := &agent{Options: Options{Budget: 1, Logger: slog.New(slog.NewTextHandler(&log, nil))}, process: "p"}
	a.out = newReporter(a)
	a.tasks = newSchedule(a)
	a.tasks.minute = minute
	t.Cleanup(func() { a.tasks.close(); a.loops.Wait() })
	return a, &log
}

// order returns the arguments of a valid task that starts now, changed.
func order(id string, changes ...string) map[string]string {
	args := map[string]string{"SerialNumber": id, "TaskId": id, "EndpointName": "e", "Duration": "1", "MinDurationThreshold": "0",
		"DumpPeriod": "10", "MaxSamplingCount": "5", "StartTime": fmt.Sprint(time.Now().UnixMilli()), "CreateTime": "7"}
	for i := 0; i+1 < len(changes); i += 2 {
		args[changes[i]] = changes[i+1]
	}
	return args
}

func command(args map[string]string) *commonv3.Commands {
	c := &commonv3.Command{Command: "ProfileTaskQuery"}
	for k, v := range args {
		c.Args = append(c.Args, pair(k, v))
	}
	return &commonv3.Commands{Commands: []*commonv3.Command{{Command: "Unknown"}, c}}
}

func TestChecks(t *testing.T) {
	for _, c := range []struct{ key, value, want string }{
		{"TaskId", "", "task id cannot be empty"},
		{"EndpointName", "", "endpoint name cannot be empty"},
		{"Duration", "", "monitor duration must greater than 1 minutes"},
		{"Duration", "0", "monitor duration must greater than 1 minutes"},
		{"Duration", "16", "cannot be greater than 15 minutes"},
		{"MinDurationThreshold", "-1", "min duration threshold must greater than or equals zero"},
		{"DumpPeriod", "9", "dump period must be greater than or equals 10 milliseconds"},
		{"MaxSamplingCount", "0", "max sampling count must greater than zero"},
		{"MaxSamplingCount", "10", "max sampling count must less than 10"},
		{"DumpPeriod", "often", `DumpPeriod: \"often\" is no number`},
		{"StartTime", "99999999999999999999", "StartTime"},
	} {
		a, log := offline(t, time.Minute)
		a.tasks.receive(command(order("t", c.key, c.value)))
		if a.tasks.last != 7 || len(a.tasks.tasks) != 0 || !strings.Contains(log.String(), c.want) {
			t.Errorf("%s=%s: last %d, %d tasks, log %s", c.key, c.value, a.tasks.last, len(a.tasks.tasks), log)
		}
	}
}

func TestSerials(t *testing.T) {
	a, _ := offline(t, time.Minute)
	later := fmt.Sprint(time.Now().Add(time.Hour).UnixMilli())
	a.tasks.execute(order("t", "StartTime", later))
	if err := a.tasks.execute(order("t", "StartTime", later)); err != nil || len(a.tasks.tasks) != 1 {
		t.Errorf("the same serial number: %v, %d tasks", err, len(a.tasks.tasks))
	}
	if err := a.tasks.execute(order("t", "SerialNumber", "other", "StartTime", later)); err == nil {
		t.Error("the same time was accepted twice")
	}
	if a.tasks.busy() {
		t.Error("a task runs before its start")
	}
	if err := a.tasks.execute(order("now")); err != nil || !a.tasks.busy() {
		t.Errorf("a task that is due does not run at once: %v", err)
	}
	for i := range 100 {
		a.tasks.execute(map[string]string{"SerialNumber": fmt.Sprint(i)})
	}
	if len(a.tasks.serials) != serials {
		t.Errorf("%d serial numbers are remembered", len(a.tasks.serials))
	}
}

func TestOverlap(t *testing.T) {
	a, _ := offline(t, time.Minute)
	base := time.Now().Add(time.Hour)
	at := func(m int) string { return fmt.Sprint(base.Add(time.Duration(m) * time.Minute).UnixMilli()) }
	if err := a.tasks.execute(order("t", "StartTime", at(0), "Duration", "5")); err != nil {
		t.Fatal(err)
	}
	for i, c := range []struct {
		start   int
		minutes string
		ok      bool
	}{
		{1, "1", false}, {-1, "2", false}, {4, "10", false}, {-3, "15", false}, {5, "1", false}, {-1, "1", false}, {6, "1", true},
		{-2, "1", true},
	} {
		err := a.tasks.execute(order(fmt.Sprint("t", i), "StartTime", at(c.start), "Duration", c.minutes))
		if (err == nil) != c.ok {
			t.Errorf("from %d for %s: %v", c.start, c.minutes, err)
		}
	}
}

// TestEnds runs tasks for their time; each end is reported once.
func TestEnds(t *testing.T) {
	a, _ := offline(t, 30*time.Millisecond)
	for _, id := range []string{"t1", "t2"} {
		if err := a.tasks.execute(order(id)); err != nil {
			t.Fatal(err)
		}
		for end := time.Now().Add(5 * time.Second); len(a.out.list()) == 0 ||
			a.out.list()[len(a.out.list())-1] != id; time.Sleep(5 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("finished %v", a.out.list())
			}
		}
	}
	time.Sleep(50 * time.Millisecond)
	if got := a.out.list(); !slices.Equal(got, []string{"t1", "t2"}) || a.tasks.busy() || len(a.tasks.timers) > 0 {
		t.Errorf("finished %v, timers %d", got, len(a.tasks.timers))
	}
}

// list returns the ended tasks.
func (r *reporter) list() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.ended)
}

// TestFullQueue drops snapshots: they take no number, and one line is logged.
func TestFullQueue(t *testing.T) {
	a, log := offline(t, time.Minute)
	a.out.snapshots.queue = make(chan *profilev3.ThreadSnapshot, 3)
	p := newProfiling(task{id: "t", count: 1, period: minPeriod}, a.tasks)
	w := p.add(&segment{id: "s", start: time.Now()}, nil)
	for range 5 {
		p.sample(w, time.Now(), []string{"f:1"})
	}
	<-a.out.snapshots.queue
	p.sample(w, time.Now(), []string{"f:1"})
	var numbers []int32
	for len(a.out.snapshots.queue) > 0 {
		numbers = append(numbers, (<-a.out.snapshots.queue).Sequence)
	}
	if !slices.Equal(numbers, []int32{1, 2, 3}) || a.out.snapshots.dropped.Load() != 2 || strings.Count(log.String(), "\n") != 1 {
		t.Errorf("numbers %v, dropped %d, log %s", numbers, a.out.snapshots.dropped.Load(), log)
	}
}

// TestSlotLeaks takes and releases slots in all ways; none is lost.
func TestSlotLeaks(t *testing.T) {
	a, _ := offline(t, time.Minute)
	p := newProfiling(task{id: "t", count: 9, period: minPeriod}, a.tasks)
	add := func(root *watched) *watched { return p.add(&segment{start: time.Now()}, root) }
	for range 20 {
		var roots, children []*watched
		for range maxRoots {
			roots = append(roots, add(nil))
		}
		if add(nil) != nil {
			t.Fatal("a sixth root")
		}
		for range maxChildren {
			children = append(children, add(roots[0]))
		}
		if add(roots[0]) != nil {
			t.Fatal("a sixth child")
		}
		for _, w := range slices.Concat(roots, children, roots) { // twice is once
			w.release()
		}
	}
	if p.roots != 0 || len(p.slots) != 0 {
		t.Errorf("%d roots in %d slots", p.roots, len(p.slots))
	}
}

// TestLongSegment stops sampling after ten minutes.
func TestLongSegment(t *testing.T) {
	a, _ := offline(t, time.Minute)
	p := newProfiling(task{id: "t", count: 9, period: minPeriod}, a.tasks)
	now := time.Now()
	w := p.add(&segment{id: "s", start: now}, nil)
	p.sample(w, now, []string{"f:1"})
	if !p.due(now.Add(maxProfiled - 1))["s"] || p.due(now.Add(maxProfiled))["s"] || w.state != notSampled {
		t.Errorf("state %d", w.state)
	}
}

func TestPace(t *testing.T) {
	c := pace{budget: 0.05}
	if c.period() != 0 {
		t.Error("a period before the first pass")
	}
	c.add(time.Millisecond)
	if got := c.period(); got != 36*time.Millisecond {
		t.Errorf("after one pass of 1 ms: %v", got)
	}
	for range 5 {
		c.add(time.Millisecond)
	}
	c.add(time.Second) // interrupted
	if got := c.period(); got != 36*time.Millisecond {
		t.Errorf("after an interrupted pass: %v", got)
	}
	for range 9 {
		c.add(2 * time.Millisecond)
	}
	if got := c.period(); got != 68*time.Millisecond {
		t.Errorf("after passes of 2 ms: %v", got)
	}
}

func TestHeader(t *testing.T) {
	// The example of the protocol's page.
	ref := parseHeader("1-TRACEID-SEGMENTID-3-PARENT_SERVICE-PARENT_INSTANCE-PARENT_ENDPOINT-IPPORT")
	if ref != nil {
		t.Errorf("no base64, and %v", ref)
	}
	ref = parseHeader("1-dA==-cw==-3-c2hvcA==-aQ==-L2U=-MTI3LjAuMC4xOjgw")
	if ref == nil || ref.TraceId != "t" || ref.ParentTraceSegmentId != "s" || ref.ParentSpanId != 3 || ref.ParentService != "shop" ||
		ref.ParentServiceInstance != "i" || ref.ParentEndpoint != "/e" || ref.NetworkAddressUsedAtPeer != "127.0.0.1:80" {
		t.Errorf("%v", ref)
	}
	for _, bad := range []string{"", "1", "1-dA==-cw==-x-c2hvcA==-aQ==-L2U=-", "1-/w==-cw==-3-c2hvcA==-aQ==-L2U=-", "1---3----",
		strings.Repeat("-", 7),
		"1-dA==-cw==-3-c2hvcA==-aQ==-L2U=-" + strings.Repeat("A", maxHeader)} {
		if parseHeader(bad) != nil {
			t.Errorf("%q is a header", bad)
		}
	}
}

// TestLongTexts wants what clients choose cut, between two characters.
func TestLongTexts(t *testing.T) {
	o := &agentv3.SpanObject{OperationName: strings.Repeat("é", maxText),
		Tags: []*commonv3.KeyStringValuePair{pair("url", strings.Repeat("a", 1<<20))}}
	clean(o)
	if len(o.OperationName) != maxText || len(o.Tags[0].Value) != maxText || !utf8.ValidString(o.OperationName) {
		t.Errorf("texts of %d and %d bytes", len(o.OperationName), len(o.Tags[0].Value))
	}
	o.OperationName = "a" + strings.Repeat("é", maxText)
	if clean(o); !utf8.ValidString(o.OperationName) {
		t.Error("a text was cut within a character")
	}
}

// TestConcurrent runs requests, renames and children while tasks begin, end and
// replace each other. Every slot comes back.
func TestConcurrent(t *testing.T) {
	a, _ := offline(t, 40*time.Millisecond)
	if !running.CompareAndSwap(nil, a) {
		t.Fatal("an agent runs")
	}
	defer running.Store(nil)
	end := time.Now().Add(2 * time.Second)
	var wait sync.WaitGroup
	for i := range 8 {
		wait.Go(func() {
			for n := 0; time.Now().Before(end); n++ {
				Segment(t.Context(), []string{"e", "other"}[n%2], func(ctx context.Context) error {
					var children sync.WaitGroup
					for range i {
						children.Add(1)
						Go(ctx, func(context.Context) { defer children.Done(); time.Sleep(time.Millisecond) })
					}
					Name(ctx, "e")
					Segment(ctx, "inside", func(context.Context) error { time.Sleep(time.Millisecond); return nil })
					children.Wait()
					return nil
				})
			}
		})
	}
	var seen []*profiling
	for n := 0; time.Now().Before(end); n++ {
		a.tasks.execute(order(fmt.Sprint("t", n), "StartTime", fmt.Sprint(time.Now().Add(-time.Duration(n)*time.Hour).UnixMilli())))
		if p := a.tasks.profile.Load(); p != nil {
			seen = append(seen, p)
		}
		for len(a.out.segments.queue) > 0 {
			<-a.out.segments.queue
		}
		for len(a.out.snapshots.queue) > 0 {
			<-a.out.snapshots.queue
		}
		time.Sleep(15 * time.Millisecond)
	}
	wait.Wait()
	time.Sleep(20 * time.Millisecond) // children return their slots after they are done
	started := 0
	for _, p := range seen {
		p.mu.Lock()
		started += p.started
		if p.roots != 0 || len(p.slots) != 0 {
			t.Errorf("task %s has %d roots in %d slots", p.task.id, p.roots, len(p.slots))
		}
		p.mu.Unlock()
	}
	if len(seen) < 5 || started == 0 {
		t.Errorf("%d tasks, %d sampled segments", len(seen), started)
	}
}
