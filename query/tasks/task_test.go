package tasks

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/query"
	"github.com/dendroprof/dendro/query/param"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/store/mem"
	"github.com/dendroprof/dendro/test/tracetest"
	"github.com/dendroprof/dendro/traceprof"
)

// taskStart is when the tasks of the tests start, in ms.
const taskStart = 1_700_000_000_000

func createTask(t *testing.T, st traceprof.Store, created int64) traceprof.Task {
	t.Helper()
	task, err := st.CreateTask(t.Context(), traceprof.Task{Kind: traceprof.TraceKind, Service: "shop", ServiceID: "shop", Endpoint: "/",
		Created: created, Start: created,
		Duration: traceprof.Minute, Period: tracetest.Period, MaxSegments: 5})
	if err != nil {
		t.Fatal(err)
	}
	return task
}

func TestFindTask(t *testing.T) {
	st := mem.New()
	if _, err := findTask(t.Context(), st, "last"); !errors.Is(err, traceprof.ErrNoTask) || !strings.Contains(err.Error(), "task create") {
		t.Errorf("of an empty store: %v", err)
	}
	createTask(t, st, taskStart)
	createTask(t, st, taskStart+100_000)
	for _, tt := range []struct{ name, want, fails string }{
		{"1700000000000_shop", "1700000000000_shop", ""},
		{"17000001", "1700000100000_shop", ""},
		{"last", "1700000100000_shop", ""},
		{"17", "", "the ids of 2 tasks begin with 17"},
		{"x", "", "there is no such task (dendro task list prints all 2)"},
		{"", "", "there is no such task"},
	} {
		got, err := findTask(t.Context(), st, tt.name)
		if tt.fails == "" && (err != nil || got.ID != tt.want) || tt.fails != "" && (err == nil || !strings.Contains(err.Error(), tt.fails)) {
			t.Errorf("%q: %q, %v", tt.name, got.ID, err)
		}
	}
}

// TestOwnRows is of a request of a framework: the code that it calls is the user's own.
func TestOwnRows(t *testing.T) {
	for _, stack := range [][]string{
		{"java.lang.Thread.run:840", "org.apache.tomcat.util.net.NioEndpoint.doRun:1791", "com.acme.shop.Cart.total:12",
			"java.util.HashMap.get:556"},
		{"/usr/lib/python3.12/threading.py.run: 1012", "/usr/lib/python3/dist-packages/flask/app.py.wsgi_app: 9",
			"/app/shop.py.load_prices: 7", "/usr/lib/python3.12/re.py.sub: 1"},
		{"net/http.(*conn).serve:1934", "net/http.HandlerFunc.ServeHTTP:2294", "main.computeTax:40", "regexp.MustCompile:310"},
	} {
		a := &traceprof.Analysis{}
		for _, name := range stack {
			a.Functions = append(a.Functions, profile.Function{Name: name})
		}
		a.Trees = []traceprof.StackTree{{Parent: []int32{0, 1, 2, 3}, Function: []int32{0, 1, 2, 3}, Duration: []int32{4, 4, 4, 2},
			Self: []int32{0, 0, 2, 2}, Count: []int32{4, 4, 4, 2}}}
		var got []bool
		for _, r := range rowsOfStacks(a, 0, endingDumps(a), ownFunctions(a)) {
			got = append(got, r.Own)
		}
		if want := []bool{false, false, true, false}; !slices.Equal(got, want) {
			t.Errorf("%s: own %v, want %v", stack[2], got, want)
		}
	}
}

func TestStackRows(t *testing.T) {
	a := &traceprof.Analysis{Functions: []profile.Function{{Name: "A"}, {Name: "B"}, {Name: "C"}, {Name: "D"}}}
	a.Trees = []traceprof.StackTree{{
		Parent: []int32{0, 1, 1, 2, 4}, Function: []int32{0, 1, 2, 3, 1},
		Duration: []int32{100, 10, 80, 10, 5}, Self: []int32{10, 0, 80, 5, 5}, Count: []int32{9, 2, 7, 2, 1},
	}}
	a.Dumps = []traceprof.Dump{{ID: 5}, {ID: 3}, {ID: 4}, {ID: 3}}
	rows := rowsOfStacks(a, 0, endingDumps(a), make([]bool, 4))
	var got []string
	for _, r := range rows {
		got = append(got, strings.Repeat(" ", int(r.Depth))+r.Function+strings.Repeat("·", int(r.Branches)))
	}
	want := []string{"A", " C·", " B·", "  D·", "   B·"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for row, want := range [][]int32{{0, 1, 2, 3}, {1, 3}, {0, 2}, {0, 2}, {0}} {
		if got := rows.dumps(row); !slices.Equal(got, want) {
			t.Errorf("dumps of %s: %v, want %v", rows[row].Function, got, want)
		}
	}
	deep := &traceprof.StackTree{}
	for i := range int32(100_000) {
		deep.Parent, deep.Function = append(deep.Parent, i), append(deep.Function, 0)
		deep.Duration, deep.Self, deep.Count = append(deep.Duration, 1), append(deep.Self, 0), append(deep.Count, 1)
	}
	a.Trees = []traceprof.StackTree{*deep}
	if rows := rowsOfStacks(a, 0, nil, make([]bool, 4)); len(rows) != 100_000 || rows[99_999].Depth != 99_999 || rows[99_999].Branches != 0 {
		t.Errorf("%d rows of a deep tree", len(rows))
	}
}

func TestNested(t *testing.T) {
	s := func(id, parent int32, start int64) traceprof.Span {
		return traceprof.Span{ID: id, Parent: parent, Start: start}
	}
	for _, tt := range []struct {
		name string
		all  []traceprof.Span
		want []int32
	}{
		{"by start", []traceprof.Span{s(0, -1, 0), s(1, 0, 9), s(2, 0, 5), s(3, 2, 6)}, []int32{0, 2, 3, 1}},
		{"parents that are not there, and a circle", []traceprof.Span{s(1, 7, 2), s(2, 3, 0), s(3, 2, 1)}, []int32{2, 3, 1}},
		{"an id twice", []traceprof.Span{s(0, -1, 0), s(0, -1, 1), s(1, 0, 2)}, []int32{0, 1, 0}},
		{"none", nil, nil},
	} {
		var got []int32
		for _, n := range nested(tt.all) {
			got = append(got, tt.all[n.Index].ID)
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s: %v", tt.name, got)
		}
	}
}

// watching answers a watcher from a store.
func watching(st traceprof.Store) Watched {
	return Watched{
		Task: func(ctx context.Context, r *TaskRequest) (*TaskResult, error) { return DescribeTask(ctx, st, r) },
		Log: func(ctx context.Context, r *TaskLogRequest) (*TaskLogResult, error) {
			return TaskLog(ctx, st, r)
		},
		Instances: func(ctx context.Context, r *InstancesRequest) (*query.List[traceprof.Instance], error) {
			return Instances(ctx, st, r)
		},
	}
}

// TestWatchEnds wants a watch to end when nobody reads its events.
func TestWatchEnds(t *testing.T) {
	st := mem.New()
	task := createTask(t, st, taskStart)
	broken := errors.New("broken")
	r := &WatchTaskRequest{TaskRequest: TaskRequest{task.ID}, Every: 100}
	n := 0
	err := WatchTask(t.Context(), watching(st), r, func(TaskEvent) error { n++; return broken })
	if n != 1 || !errors.Is(err, broken) {
		t.Errorf("%d events, %v", n, err)
	}
	r.Every = 99
	if err := WatchTask(t.Context(), watching(st), r, nil); !errors.As(err, new(*param.Error)) {
		t.Errorf("checks every 99 ms: %v", err)
	}
}

// TestOverlapping wants the name of the task that a new one overlaps, and of no other.
func TestOverlapping(t *testing.T) {
	st := mem.New()
	d := traceprof.NewDispatcher(st, traceprof.DispatcherOptions{Now: func() int64 { return taskStart }})
	async := traceprof.Task{Kind: traceprof.AsyncKind, Service: "s", ServiceID: "s", Start: taskStart, Duration: traceprof.Minute,
		Instances: []string{"i"}, Events: []string{"CPU"}}
	there, err := d.Create(t.Context(), async)
	if err != nil {
		t.Fatal(err)
	}
	for start := int64(taskStart + 1000); start < taskStart+10*traceprof.Minute; start += 5 * traceprof.Minute {
		other := traceprof.Task{Kind: traceprof.TraceKind, Service: "s", ServiceID: "s", Endpoint: "/e", Start: start,
			Duration: traceprof.Minute, Period: 10, MaxSegments: 1}
		if _, err := d.Create(t.Context(), other); err != nil {
			t.Fatal(err)
		}
	}
	async.Start = 0 // now
	_, err = d.Create(t.Context(), async)
	var refused *traceprof.RefusedError
	if !errors.As(err, &refused) {
		t.Fatal(err)
	}
	var overlap *OverlapError
	if err := overlapping(t.Context(), st, refused, &async, taskStart+500); !errors.As(err, &overlap) || overlap.Task != there.ID ||
		!strings.Contains(err.Error(), ": task "+there.ID+" runs until") {
		t.Errorf("%v, want %s", err, there.ID)
	}
	if err := overlapping(t.Context(), st, &traceprof.RefusedError{Code: traceprof.BadArgument}, &async, taskStart); errors.As(err, &overlap) {
		t.Errorf("%v for another refusal", err)
	}
}

// TestCreateTask wants tasks of the other kinds for all instances that reported lately.
func TestCreateTask(t *testing.T) {
	st := mem.New()
	r := &CreateTaskRequest{Kind: "async-profiler", Service: "shop", Duration: 30_000, Events: []string{"cpu"}}
	if _, err := CreateTask(t.Context(), st, r); !errors.As(err, new(*param.Error)) ||
		!strings.Contains(err.Error(), "no instance of service shop") {
		t.Errorf("without instances: %v", err)
	}
	now := time.Now().UnixMilli()
	if err := st.PutInstances(t.Context(), traceprof.Instance{Service: "shop", Name: "old", LastSeen: now - 11*traceprof.Minute},
		traceprof.Instance{Service: "shop", Name: "new", LastSeen: now}); err != nil {
		t.Fatal(err)
	}
	task, err := CreateTask(t.Context(), st, r)
	if err != nil || !slices.Equal(task.Instances, []string{"new"}) || !slices.Equal(task.Events, []string{"CPU"}) ||
		task.End != task.Start+30_000 || task.State != "running" {
		t.Errorf("%+v, %v", task, err)
	}
	var refused *traceprof.RefusedError
	if _, err := CreateTask(t.Context(), st, r); !errors.As(err, &refused) || !strings.Contains(err.Error(), "task "+task.ID+" runs until") {
		t.Errorf("a second: %v", err)
	}
	if _, err := CreateTask(t.Context(), st, &CreateTaskRequest{}); !errors.As(err, new(*param.Error)) {
		t.Errorf("without a service: %v", err)
	}
}

// TestCreateTaskRefusesIgnored refuses the parameters that a kind of task does not have.
func TestCreateTaskRefusesIgnored(t *testing.T) {
	for _, c := range []struct {
		r    CreateTaskRequest
		flag string
	}{
		{CreateTaskRequest{Kind: "trace", Instances: []string{"shop-1"}}, "--instance"},
		{CreateTaskRequest{Kind: "trace", Events: []string{"cpu"}}, "--event"},
		{CreateTaskRequest{Kind: "trace", Arguments: "x"}, "--args"},
		{CreateTaskRequest{Kind: "pprof", Arguments: "x"}, "--args"},
		{CreateTaskRequest{Kind: "pprof", Endpoint: "/x"}, "--endpoint"},
		{CreateTaskRequest{Kind: "async-profiler", MinDuration: 1}, "--min-duration"},
	} {
		st := mem.New()
		r := c.r
		r.Service, r.Duration, r.Period, r.MaxSegments = "shop", traceprof.Minute, 10, 5
		if traceprof.Kind(r.Kind) == traceprof.TraceKind {
			r.Endpoint = "/x"
		} else {
			r.Events = []string{"cpu"}
		}
		_, err := CreateTask(t.Context(), st, &r)
		if !errors.As(err, new(*param.Error)) || !strings.HasPrefix(err.Error(), c.flag+" does not apply") {
			t.Errorf("%+v: %v", c.r, err)
		}
		if list, err := st.Tasks(t.Context(), traceprof.TaskQuery{}); err != nil || len(list) > 0 {
			t.Errorf("%+v: created %v, %v", c.r, list, err)
		}
	}
}

func TestTimesOfRequests(t *testing.T) {
	for text, want := range map[string]int64{"1m30s": 90_000, "20ms": 20, "500": 500, "": -1, "5": 5, "x": -1, "1e3": -1, "1.5s": 1500,
		"10500us": -1, "1.5ms": -1} {
		m := Millis(-1)
		if err := m.UnmarshalText([]byte(text)); int64(m) != want || (err == nil) != (want >= 0) {
			t.Errorf("%q is %d ms, %v", text, m, err)
		}
	}
	for text, want := range map[string]int64{`60000`: 60_000, `"1m"`: 60_000, `null`: 7, `1.5`: -1, `"x"`: -1, `{}`: -1} {
		m := Millis(7)
		if err := m.UnmarshalJSON([]byte(text)); (err == nil) != (want >= 0) || err == nil && int64(m) != want {
			t.Errorf("JSON %s is %d ms, %v", text, m, err)
		}
	}
	for text, want := range map[string]int64{`1700000000000`: taskStart, `"2023-11-14T22:13:20Z"`: taskStart, `"tomorrow"`: -1} {
		var m Moment
		if err := m.UnmarshalJSON([]byte(text)); (err == nil) != (want >= 0) || err == nil && int64(m) != want {
			t.Errorf("JSON %s is %d, %v", text, m, err)
		}
	}
}

// TestSnapshotRows wants every snapshot, in any order of reading.
func TestSnapshotRows(t *testing.T) {
	st := mem.New()
	err := st.PutSnapshots(t.Context(), tracetest.Picture("t", "a", "A-B . A"), tracetest.Picture("t", "b", "C"),
		tracetest.Picture("u", "a", "D"))
	if err != nil {
		t.Fatal(err)
	}
	r, err := Snapshots(t.Context(), st, &SnapshotsRequest{Segments: []string{"a", "b"}})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for s := range r.Rows.All() {
		got = append(got, fmt.Sprint(s.Task, s.Segment, s.Sequence, s.Stack))
	}
	if want := []string{"ta0 [A B]", "ta1 []", "ta2 [A]", "tb0 [C]", "ua0 [D]"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if _, err := Snapshots(t.Context(), st, &SnapshotsRequest{}); !errors.As(err, new(*param.Error)) {
		t.Errorf("without a selection: %v", err)
	}
}

// TestFileNames wants a name that leads nowhere else.
func TestFileNames(t *testing.T) {
	if got := fileName("../\x00etc/passwd\""); got != "..__etc_passwd_" {
		t.Error(got)
	}
}

// flaky is a store whose server is down for some calls after the first.
type flaky struct {
	*mem.Store
	down  int // calls that fail
	began bool
}

func (s *flaky) Logs(ctx context.Context, tasks ...string) ([]traceprof.Log, error) {
	if s.began && s.down > 0 {
		s.down--
		return nil, fmt.Errorf("%w: connection refused", store.ErrUnavailable)
	}
	s.began = true
	return s.Store.Logs(ctx, tasks...)
}

// TestWatchReconnects wants a watch to wait for a server that restarts, and to say so,
// but not for ever.
func TestWatchReconnects(t *testing.T) {
	for _, tt := range []struct {
		down  int
		retry Millis
		want  string
	}{{3, 60_000, "task connection connection why end"}, {1000, 300, "task connection"}} {
		st := &flaky{Store: mem.New(), down: tt.down}
		createTask(t, st.Store, taskStart)
		var got []string
		err := WatchTask(t.Context(), watching(st), &WatchTaskRequest{TaskRequest: TaskRequest{Task: "last"}, Every: 100, Retry: tt.retry},
			func(e TaskEvent) error { got = append(got, e.What); return nil })
		if errors.Is(err, store.ErrUnavailable) != (tt.down == 1000) || strings.Join(got, " ") != tt.want {
			t.Errorf("%d calls fail: %q, %v", tt.down, got, err)
		}
	}
}

// TestFewer: dumps that were expected and are neither received nor lost are explained.
func TestFewer(t *testing.T) {
	for _, c := range []struct {
		coverage traceprof.Coverage
		want     string
	}{
		{traceprof.Coverage{Expected: 25, Received: 20, Span: 250, Period: 12}, "5 of 25 expected snapshots were not made: the agent made one every 12 ms"},
		{traceprof.Coverage{Expected: 25, Received: 20, Span: 250, Period: 10, Holes: 1, Hole: 60}, "5 of 25 expected snapshots were not made: it made none for 60 ms"},
		{traceprof.Coverage{Expected: 25, Received: 20, Span: 250, Period: 10}, "5 of 25 expected snapshots were not made: it made none before the first and after the last one"},
		{traceprof.Coverage{Expected: 25, Received: 25, Late: 20, Span: 250, Period: 10},
			"20 of 25 expected snapshots were not made: 20 of the received ones were made after the segment's end"},
		{traceprof.Coverage{Expected: 25, Received: 20, Lost: 5, Span: 250, Period: 10}, ""},
		{traceprof.Coverage{Expected: 25, Received: 24, Span: 250, Period: 10}, ""},
		{traceprof.Coverage{Received: 24}, ""},
	} {
		if got := fewer(&c.coverage); got != c.want {
			t.Errorf("%+v: %q", c.coverage, got)
		}
	}
	r := TaskSegmentsResult{Rows: make([]TaskSegment, 9)}
	for i := range r.Rows {
		r.Rows[i].Coverage = traceprof.Coverage{Segment: fmt.Sprint("s", i), Expected: 25, Received: 20, Span: 250, Period: 12, Known: true}
	}
	if remarks := r.Table(true).Remarks; len(remarks) != maxRemarks+1 ||
		remarks[maxRemarks] != "4 more segments have fewer snapshots than expected" {
		t.Errorf("%q", remarks)
	}
}

// TestWatchIsQuiet: numbers that rise with every check are not reported with every check.
func TestWatchIsQuiet(t *testing.T) {
	var got []string
	w := taskWatcher{seen: map[string]bool{}, emit: func(ev TaskEvent) error { got = append(got, ev.Text); return nil }}
	cover := func(requests int, received int64) *traceprof.TaskCoverage {
		return &traceprof.TaskCoverage{Coverage: traceprof.Coverage{Received: received}, Requests: requests,
			Segments: make([]traceprof.Coverage, requests)}
	}
	for second := range int64(60) {
		w.covered(cover(1, second+1), second*1000)
		w.causes([]traceprof.Cause{{Code: traceprof.RequestInProgress, Text: fmt.Sprintf("the longest took %d ms", second)}}, false)
	}
	if len(got) != 7 || got[0] != "1 request, 1 snapshot" || got[2] != "1 request, 11 snapshots" {
		t.Errorf("%d lines in a minute: %q", len(got), got)
	}
	w.covered(cover(2, 61), 60_001)
	if len(got) != 8 {
		t.Errorf("a new request: %q", got[7:])
	}
}

// TestCreatePastTask: a task whose time is over says so, and why it will show nothing.
func TestCreatePastTask(t *testing.T) {
	st := mem.New()
	if err := st.PutInstances(t.Context(), traceprof.Instance{Service: "shop", Name: "one", LastSeen: time.Now().UnixMilli()}); err != nil {
		t.Fatal(err)
	}
	r := CreateTaskRequest{Kind: "trace", Service: "shop", Endpoint: "/x", Start: taskStart, Duration: 60_000, Period: 10, MaxSegments: 5}
	task, err := CreateTask(t.Context(), st, &r)
	if err != nil || len(task.Notes) != 1 || !strings.Contains(task.Notes[0], "before it was created, so no agent received it: create it with a start") {
		t.Fatalf("%+v, %v", task, err)
	}
	described, err := DescribeTask(t.Context(), st, &TaskRequest{Task: task.ID})
	if err != nil || len(described.Causes) != 1 || described.Causes[0].Code != traceprof.OverWhenCreated {
		t.Errorf("%+v, %v", described, err)
	}
}

// TestUnseen: a task for a name that nothing has reported yet says so.
func TestUnseen(t *testing.T) {
	st := mem.New()
	if err := st.PutInstances(t.Context(), traceprof.Instance{Service: "shop", Name: "one", LastSeen: taskStart}); err != nil {
		t.Fatal(err)
	}
	for service, want := range map[string]string{
		"shp":  `No instance of the service "shp" has ever reported; what was seen is ["shop"].`,
		"shop": `No request with the name "/x" was ever seen, and agents compare names exactly.`,
	} {
		task, err := CreateTask(t.Context(), st, &CreateTaskRequest{Kind: "trace", Service: service, Endpoint: "/x", Duration: 60_000,
			Period: 10, MaxSegments: 5})
		if err != nil || len(task.Notes) != 1 || task.Notes[0] != want {
			t.Errorf("%s: %+v, %v", service, task, err)
		}
	}
}

// counting counts what is read of a store.
type counting struct {
	*mem.Store
	readings int // of snapshots
	spans    int // bytes of segments with their spans
}

func (c *counting) Snapshots(ctx context.Context, q traceprof.SnapshotQuery) iter.Seq2[traceprof.Snapshots, error] {
	c.readings++
	return c.Store.Snapshots(ctx, q)
}

func (c *counting) Segments(ctx context.Context, q traceprof.SegmentQuery) ([]traceprof.Segment, error) {
	list, err := c.Store.Segments(ctx, q)
	for i := range list {
		c.spans += len(list[i].Raw)
	}
	return list, err
}

// TestOneReading: a watcher and the page describe a task again and again. Each time its
// snapshots are read once, and spans only where they are listed.
func TestOneReading(t *testing.T) {
	st, ids := sampledStore(t)
	for _, tt := range []struct {
		name  string
		ask   func(st traceprof.Store) (any, error)
		spans bool
	}{
		{"task", func(st traceprof.Store) (any, error) { return DescribeTask(t.Context(), st, &TaskRequest{ids[0]}) }, false},
		{"segments", func(st traceprof.Store) (any, error) {
			return TaskSegments(t.Context(), st, &TaskSegmentsRequest{TaskRequest: TaskRequest{ids[0]}})
		}, false},
		{"spans", func(st traceprof.Store) (any, error) {
			return TaskSpans(t.Context(), st, &TaskSegmentsRequest{TaskRequest: TaskRequest{ids[0]}})
		}, true},
		{"analysis", func(st traceprof.Store) (any, error) {
			return Analyze(t.Context(), st, &AnalyzeRequest{SampleSelection: SampleSelection{Task: ids[0]}})
		}, false},
	} {
		c := &counting{Store: st}
		if _, err := tt.ask(c); err != nil || c.readings != 1 || (c.spans > 0) != tt.spans {
			t.Errorf("%s: %d readings of snapshots, %d bytes of spans, %v", tt.name, c.readings, c.spans, err)
		}
	}
}

// TestSegmentsOfPlannedTask: the list of sampled requests knows that a task has not begun.
func TestSegmentsOfPlannedTask(t *testing.T) {
	st := mem.New()
	task := createTask(t, st, time.Now().Add(time.Hour).UnixMilli())
	for range 2 {
		r, err := TaskSegments(t.Context(), st, &TaskSegmentsRequest{TaskRequest: TaskRequest{task.ID}})
		if err != nil || len(r.Causes) != 1 || r.Causes[0].Code != traceprof.NotBegun {
			t.Errorf("%+v, %v", r, err)
		}
		if err := st.PutSegments(t.Context(), traceprof.Segment{ID: "s", Service: "shop", Operation: "/", Start: taskStart}); err != nil {
			t.Fatal(err)
		}
	}
}

// TestRecordedTask: an analysis of a task of another kind says where its functions are.
func TestRecordedTask(t *testing.T) {
	st := mem.New()
	task, err := st.CreateTask(t.Context(), traceprof.Task{Kind: traceprof.AsyncKind, Service: "shop", ServiceID: "shop", Created: taskStart})
	if err != nil {
		t.Fatal(err)
	}
	_, analysis := Analyze(t.Context(), st, &AnalyzeRequest{SampleSelection: SampleSelection{Task: "last"}})
	_, segments := TaskSegments(t.Context(), st, &TaskSegmentsRequest{TaskRequest: TaskRequest{"last"}})
	_, archive := ArchiveTrace(t.Context(), st, &TraceArchiveRequest{TaskRequest: TaskRequest{"last"}, Trace: "t"})
	_, _, input := NamedSnapshots(t.Context(), st, "last")
	for what, err := range map[string]error{"analysis": analysis, "segments": segments, "archive": archive, "trace:last": input} {
		if !errors.As(err, new(*param.Error)) || !strings.Contains(err.Error(), "of kind async-profiler: what it recorded is a run of the store (dendro top --run "+task.ID+")") {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// TestWholeMinutes: a task for a part of a minute says how long agents run it.
func TestWholeMinutes(t *testing.T) {
	for duration, want := range map[Millis]string{60_000: "", 90_000: "agents run a task for whole minutes: this one for 1 min"} {
		st := mem.New()
		err := errors.Join(st.PutInstances(t.Context(), traceprof.Instance{Service: "shop", Name: "one", LastSeen: taskStart}),
			st.PutSegments(t.Context(), traceprof.Segment{ID: "s", Service: "shop", Endpoint: "/x", Operation: "/x"}))
		if err != nil {
			t.Fatal(err)
		}
		task, err := CreateTask(t.Context(), st, &CreateTaskRequest{Kind: "trace", Service: "shop", Endpoint: "/x", Duration: duration,
			Period: 10, MaxSegments: 5})
		if err != nil || strings.Join(task.Notes, "; ") != want {
			t.Errorf("%d ms: %+v, %v", duration, task, err)
		}
	}
}
