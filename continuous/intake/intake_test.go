package intake_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/dendroprof/dendro/continuous"
	"github.com/dendroprof/dendro/continuous/intake"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/store/mem"
)

// gate is a store whose commits can be held up or made to fail.
type gate struct {
	*mem.Store
	mu      sync.Mutex
	commits []int // windows of each
	entered chan struct{}
	pass    chan error // nil: nothing is held up
}

func (g *gate) PutWindows(ctx context.Context, list []*continuous.Window) ([]continuous.Outcome, error) {
	g.mu.Lock()
	g.commits = append(g.commits, len(list))
	g.mu.Unlock()
	if g.pass != nil {
		g.entered <- struct{}{}
		if err := <-g.pass; err != nil {
			return nil, err
		}
	}
	return g.Store.PutWindows(ctx, list)
}

func open(t testing.TB, st continuous.Store, o intake.Options) *intake.Intake {
	in := intake.New(st, o)
	t.Cleanup(func() { in.Close(context.Background()) })
	return in
}

// stacks is a decoder of lines `a;b value key=label`.
type stacks struct{}

func (stacks) Decode(r io.Reader, s *profile.Symbols, _ profile.Limits) (*profile.Profile, error) {
	text, err := io.ReadAll(r)
	if err != nil {
		return nil, err
	}
	p := profile.New(s)
	facts := profile.NewInterner(p)
	table := profile.Samples{Type: profile.ValueType{Name: "cpu", Unit: "nanoseconds"}}
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		if fields[0] == "panic" {
			panic("a defect")
		}
		st := profile.NoStack
		for name := range strings.SplitSeq(fields[0], ";") {
			st = s.Stack(st, s.Frame(profile.Frame{Function: s.Function(profile.Function{Name: name})}))
		}
		var v int64
		fmt.Sscan(fields[1], &v)
		var labels []profile.Label
		for _, f := range fields[2:] {
			key, value, _ := strings.Cut(f, "=")
			labels = append(labels, profile.Label{Key: key, Text: value})
		}
		table.Append(st, v, 0, profile.Tags{Labels: facts.Labels(labels)})
	}
	p.Tables = []profile.Samples{table}
	return p.Checked()
}

var cpu = continuous.Type{Name: "process_cpu", SampleType: "cpu", SampleUnit: "nanoseconds", PeriodType: "cpu", PeriodUnit: "nanoseconds"}

// push pushes stacks of a service with labels, at a second of an hour.
func push(in *intake.Intake, service, content string, second int, labels ...continuous.Label) error {
	return in.Push(context.Background(), "", func(w *intake.Worker) error { return addAt(w, service, content, second, labels...) })
}

// add adds stacks of a service to a push.
func add(w *intake.Worker, service, content string) error { return addAt(w, service, content, 0) }

func addAt(w *intake.Worker, service, content string, second int, labels ...continuous.Label) error {
	p, err := w.Decode("stacks", []byte(content), func() profile.Decoder { return stacks{} })
	if err != nil {
		return err
	}
	return w.Add(&intake.Profile{Profile: p, Service: service, Labels: intake.Labels(labels), Start: time.Unix(1795622400+int64(second), 0),
		Length: time.Second,
		Type:   func(int) (continuous.Type, bool) { return cpu, true }, Bytes: int64(len(content))})
}

// stored draws series with their sums and paths.
func stored(t testing.TB, st continuous.Store) string {
	t.Helper()
	totals, err := st.Totals(t.Context(), continuous.Query{}, 0)
	if err != nil {
		t.Fatal(err)
	}
	sums, parts := make([]int64, len(totals.Series)), make([]int64, len(totals.Series))
	for _, w := range totals.Totals {
		sums[w.Series] += w.Sum
		parts[w.Series] += w.Parts
	}
	var b strings.Builder
	for i := range totals.Series {
		s := &totals.Series[i]
		fmt.Fprintf(&b, "%s", s.Service)
		for _, l := range s.Labels {
			fmt.Fprintf(&b, " %s=%s", l.Name, l.Value)
		}
		fmt.Fprintf(&b, ": %d in %d\n", sums[i], parts[i])
	}
	return b.String()
}

func same(t testing.TB, got, want string) {
	t.Helper()
	if got, want := strings.TrimSpace(got), strings.TrimSpace(want); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}

func TestLabels(t *testing.T) {
	st := mem.New()
	in := open(t, st, intake.Options{MaxLabels: 3, MaxLabelBytes: 20})
	l := func(name, value string) continuous.Label { return continuous.Label{Name: name, Value: value} }
	for _, err := range []error{
		push(in, "a", "f;g 1 endpoint=/x span_id=1\nf;g 2 endpoint=/x span_id=2 thread_name=t\nf 4\nf 8 region=sample", 0, l("region", "eu"), l("process.pid", "7")),
		push(in, "a", "f 16 one=1 two=2 three=3 four=4\nf 32 k="+strings.Repeat("x", 21), 1, l("region", "eu"), l("region", "us"), l("", "x"),
			l("x", "")),
		push(in, "a", "f -5\nf 64", 2, l("__session_id__", "1"), l("__other__", "2")),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	same(t, stored(t, st), `
a: 64 in 1
a endpoint=/x region=eu: 3 in 1
a region=eu: 12 in 1
a region=us: 48 in 1`)
	if m := in.Metrics(); m.FoldedSamples != 2 || m.NegativeSamples != 1 || m.Series != 4 {
		t.Errorf("%+v", m)
	}
	for _, c := range []struct {
		labels []continuous.Label
		want   string
	}{
		{[]continuous.Label{l("a", "1"), l("b", "1"), l("c", "1"), l("d", "1")}, "labels of a series: 4, the maximum is 3 (raise it with --continuous-max-labels); refused: a"},
		{[]continuous.Label{l("a", strings.Repeat("x", 21))}, "bytes of the label a: 21, the maximum is 20 (raise it with --continuous-max-label-bytes); refused: a"},
		{[]continuous.Label{l("a", "\xff")}, "the label a is not UTF-8"},
	} {
		if err := push(in, "a", "f 1", 3, c.labels...); err == nil || err.Error() != c.want {
			t.Errorf("%v, want %s", err, c.want)
		}
	}
}

// TestManyLabelSets: samples with more label sets than there may be series lose their labels
// and keep their values.
func TestManyLabelSets(t *testing.T) {
	st := mem.New()
	in := open(t, st, intake.Options{MaxSeries: 10})
	var b strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&b, "f;g%d 1 user=%d\n", i%7, i)
	}
	if err := push(in, "a", b.String(), 0); err != nil {
		t.Fatal(err)
	}
	sum := int64(0)
	totals, err := st.Totals(t.Context(), continuous.Query{}, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range totals.Totals {
		sum += w.Sum
	}
	if m := in.Metrics(); sum != 1000 || m.Series > 10 || m.FoldedSamples < 990 {
		t.Errorf("a sum of %d in %d series, %d folded", sum, m.Series, m.FoldedSamples)
	}
}

// TestDefaultService: samples name the service if nobody else does. Those that name the
// default are of the same window as those that name none.
func TestDefaultService(t *testing.T) {
	st := mem.New()
	in := open(t, st, intake.Options{})
	err := in.Push(t.Context(), "", func(w *intake.Worker) error {
		p, err := w.Decode("stacks", []byte("f 1\nf 2 service.name=unknown\nf 4 service.name=shop a=b"),
			func() profile.Decoder { return stacks{} })
		if err != nil {
			return err
		}
		return w.Add(&intake.Profile{Profile: p, Service: "unknown", Default: true, Start: time.Unix(1795622400, 0), Length: time.Second,
			Type: func(int) (continuous.Type, bool) { return cpu, true }})
	})
	if err != nil {
		t.Fatal(err)
	}
	same(t, stored(t, st), "shop a=b: 4 in 1\nunknown: 3 in 1")
}

// TestDepth: a deep stack keeps its innermost frames.
func TestDepth(t *testing.T) {
	st := mem.New()
	in := open(t, st, intake.Options{MaxDepth: 3})
	if err := push(in, "a", "a;b;c 1\na;b;c;d;e 2\nx;c;d;e 4", 0); err != nil {
		t.Fatal(err)
	}
	merged, err := st.Tree(t.Context(), continuous.Query{})
	if err != nil {
		t.Fatal(err)
	}
	tree := merged.Tree
	var b strings.Builder
	for n, self := range tree.Self {
		var path []string
		for x := int32(n); self != 0 && x >= 0; x = tree.Parent[x] {
			path = append([]string{tree.Functions[tree.Func[x]].Name}, path...)
		}
		if self != 0 {
			fmt.Fprintf(&b, "%s %d\n", strings.Join(path, ";"), self)
		}
	}
	same(t, b.String(), "(truncated);c;d;e 6\na;b;c 1")
	if m := in.Metrics(); m.CutStacks != 2 {
		t.Errorf("%d stacks were cut", m.CutStacks)
	}
}

// TestDeepStacks: what cutting of deep stacks makes of few bytes is counted: callers of which each is
// the innermost frame of a sample, and the same callers of many frames, which cost little.
func TestDeepStacks(t *testing.T) {
	st := mem.New()
	in := open(t, st, intake.Options{})
	var chain, tree strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&chain, "f%d;", i)
		if i >= 2048 && i < 3100 {
			fmt.Fprintf(&tree, "%s 1\n", strings.TrimSuffix(chain.String(), ";"))
		}
	}
	err := push(in, "a", tree.String(), 0)
	if err == nil || !strings.Contains(err.Error(), "call paths of the stacks of a push that are too deep: ") {
		t.Errorf("%v", err)
	}
	tree.Reset()
	for i := range 1000 {
		fmt.Fprintf(&tree, "%sleaf%d 1\n", chain.String()[:14000], i)
	}
	if err := push(in, "a", tree.String(), 0); err != nil {
		t.Error(err)
	}
	if m := in.Metrics(); m.CutStacks < 1000 {
		t.Errorf("%d stacks were cut", m.CutStacks)
	}
}

// TestGroupCommit: pushes that arrive during a commit share the next one, and none is
// acknowledged before its own.
func TestGroupCommit(t *testing.T) {
	g := &gate{Store: mem.New(), entered: make(chan struct{}, 100), pass: make(chan error)}
	in := open(t, g, intake.Options{MaxDelay: 10 * time.Millisecond})
	answers := make(chan error, 100)
	go func() { answers <- push(in, "a", "f 1", 0) }()
	<-g.entered
	const n = 20
	for i := range n {
		go func() { answers <- push(in, "a", "f 1", 1+i) }()
	}
	for in.Metrics().PendingBytes < 20*400 {
		time.Sleep(time.Millisecond)
	}
	select {
	case err := <-answers:
		t.Fatalf("acknowledged before the commit: %v", err)
	default:
	}
	g.pass <- nil
	if err := <-answers; err != nil {
		t.Fatal(err)
	}
	broken := errors.New("the disk is full")
	<-g.entered
	g.pass <- broken
	failed := 0
	for got := 0; got < n; got++ {
		select {
		case err := <-answers:
			if err != nil {
				failed++
				if !errors.Is(err, intake.ErrUnavailable) || !errors.Is(err, broken) || intake.RetryAfter(err) <= 0 {
					t.Errorf("%v", err)
				}
			}
		case <-g.entered: // the rest came too late for that commit
			g.pass <- nil
			got--
		}
	}
	if m := in.Metrics(); failed < 1 || m.Failed != int64(failed) || m.Batches > 4 || in.Err() == nil && m.Batches == 2 {
		t.Errorf("%d of %d failed, %d commits", failed, n, m.Batches)
	}
}

// TestQueue: beyond the limit of pending bytes a push is refused at once, and may be sent
// again.
func TestQueue(t *testing.T) {
	g := &gate{Store: mem.New(), entered: make(chan struct{}, 100), pass: make(chan error)}
	in := open(t, g, intake.Options{MaxBytes: 2000, MaxDelay: time.Millisecond})
	answers := make(chan error, 10)
	go func() { answers <- push(in, "a", "f 1", 0) }()
	<-g.entered
	share := push(in, "a", "f 1", 1)
	if !errors.Is(share, intake.ErrUnavailable) || intake.RetryAfter(share) <= 0 ||
		!strings.Contains(share.Error(), "--continuous-max-share") {
		t.Errorf("another push of the service: %v", share)
	}
	for _, service := range []string{"b", "d", "e"} {
		go func() { answers <- push(in, service, "f 1", 1) }()
	}
	for in.Metrics().PendingBytes < 1600 {
		time.Sleep(time.Millisecond)
	}
	err := push(in, "c", "f 1", 2)
	if !errors.Is(err, intake.ErrUnavailable) || intake.RetryAfter(err) <= 0 || !strings.Contains(err.Error(), "--continuous-max-pending") {
		t.Errorf("%v", err)
	}
	g.pass <- nil
	<-g.entered
	g.pass <- nil
	for range 4 {
		if err := <-answers; err != nil {
			t.Error(err)
		}
	}
	if m := in.Metrics(); m.Refused["queue"] != 2 || m.Stored != 4 || m.PendingBytes != 0 {
		t.Errorf("%+v", m)
	}
}

func TestRate(t *testing.T) {
	now := time.Unix(1795622400, 0)
	in := open(t, mem.New(), intake.Options{MaxRate: 10, Now: func() time.Time { return now }})
	content := "f;" + strings.Repeat("g", 88) + " 1" // 92 bytes; ten seconds are 100
	if err := push(in, "a", content, 0); err != nil {
		t.Fatal(err)
	}
	err := push(in, "a", content, 1)
	if !errors.Is(err, intake.ErrUnavailable) || intake.RetryAfter(err) < 8*time.Second ||
		!strings.Contains(err.Error(), "--continuous-max-rate") {
		t.Errorf("%v, again after %s", err, intake.RetryAfter(err))
	}
	if err := push(in, "b", content, 1); err != nil {
		t.Errorf("another service: %v", err)
	}
	now = now.Add(intake.RetryAfter(err))
	if err := push(in, "a", content, 1); err != nil {
		t.Errorf("after the pause: %v", err)
	}
}

// TestPanic: a reader that panics fails one push.
func TestPanic(t *testing.T) {
	st := mem.New()
	in := open(t, st, intake.Options{Workers: 1})
	if err := push(in, "a", "f 1\npanic 1", 0); !errors.Is(err, profile.ErrMalformed) {
		t.Errorf("%v", err)
	}
	if err := push(in, "a", "f 1", 0); err != nil {
		t.Error(err)
	}
	same(t, stored(t, st), "a: 1 in 1")
}

// TestSameWorker pushes one profile after the other: they share the tables of one worker.
func TestSameWorker(t *testing.T) {
	in := open(t, accepting{}, intake.Options{Workers: 4})
	var first *intake.Worker
	for range 8 {
		if err := in.Push(t.Context(), "", func(w *intake.Worker) error {
			if first == nil {
				first = w
			}
			if w != first {
				t.Error("another worker")
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
}

// TestConcurrent pushes from many programs while the forest is replaced again and again.
func TestConcurrent(t *testing.T) {
	st := mem.New()
	in := open(t, st, intake.Options{MaxPaths: 50, MaxDelay: time.Millisecond, Workers: 4})
	const programs, each = 8, 30
	var wg sync.WaitGroup
	for who := range programs {
		wg.Go(func() {
			for i := range each {
				if err := push(in, fmt.Sprint("s", who), fmt.Sprintf("f;g%d;h%d 1\nf 2 e=%d", i, who, i%3), i); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if err := in.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := push(in, "a", "f 1", 0); !errors.Is(err, intake.ErrClosed) {
		t.Errorf("after the end: %v", err)
	}
	var want strings.Builder
	for who := range programs {
		fmt.Fprintf(&want, "s%d: 30 in 30\n", who)
		for e := range 3 {
			fmt.Fprintf(&want, "s%d e=%d: 20 in 10\n", who, e)
		}
	}
	same(t, stored(t, st), want.String())
}

// narrow is a store that a window with more than two paths does not reach.
type narrow struct{ *gate }

func (n narrow) PutWindows(ctx context.Context, list []*continuous.Window) ([]continuous.Outcome, error) {
	outcomes, err := n.gate.PutWindows(ctx, list)
	for i, w := range list {
		if err == nil && w.Self.Len() > 2 {
			outcomes[i] = continuous.TooLarge
		}
	}
	return outcomes, err
}

// TestTooLargeAlone: of pushes that share a commit, those whose windows found no room in it fail.
func TestTooLargeAlone(t *testing.T) {
	g := &gate{Store: mem.New(), entered: make(chan struct{}, 100), pass: make(chan error)}
	in := open(t, narrow{g}, intake.Options{MaxDelay: 10 * time.Millisecond})
	answers := make(chan error, 1)
	go func() { answers <- push(in, "a", "f 1", 0) }()
	<-g.entered
	const n = 5
	each := make([]chan error, n)
	for i := range n {
		each[i] = make(chan error, 1)
		content := "f 1"
		if i == 2 {
			content = "f 1\ng 1\nh 1"
		}
		go func() { each[i] <- push(in, "a", content, 1+i) }()
	}
	for in.Metrics().PendingBytes < (n+1)*400 {
		time.Sleep(time.Millisecond)
	}
	close(g.pass)
	for i := range n {
		if err := <-each[i]; (i == 2) != errors.Is(err, profile.ErrTooLarge) || i != 2 && err != nil {
			t.Errorf("push %d: %v", i, err)
		}
	}
	if m := in.Metrics(); <-answers != nil || m.Refused["size"] != 1 || m.Stored != n || m.Failed != 1 || in.Err() != nil {
		t.Errorf("%+v", m)
	}
}

// timed is a decoder of stacks whose values are nanoseconds, of samples every so often.
type timed struct{ period int64 }

func (d timed) Decode(r io.Reader, s *profile.Symbols, l profile.Limits) (*profile.Profile, error) {
	p, err := stacks{}.Decode(r, s, l)
	if err == nil {
		p.Tables[0].Type = profile.ValueType{Name: "cpu", Unit: "nanoseconds", Period: d.period, PeriodUnit: "nanoseconds", PeriodName: "cpu"}
	}
	return p, err
}

// TestPeriod: what a sample stands for is kept, until series with another are added to it.
func TestPeriod(t *testing.T) {
	st := mem.New()
	in := open(t, st, intake.Options{})
	for i, want := range []int64{10_000_000, 10_000_000, 0} {
		period := []int64{10_000_000, 10_000_000, 5_000_000}[i]
		err := in.Push(t.Context(), "", func(w *intake.Worker) error {
			p, err := w.Decode(fmt.Sprint("every ", period), []byte("f 7"), func() profile.Decoder { return timed{period} })
			if err != nil {
				return err
			}
			return w.Add(&intake.Profile{Profile: p, Service: fmt.Sprint("s", i), Start: time.Unix(1795622400, 0), Length: time.Second,
				Type: func(int) (continuous.Type, bool) { return cpu, true }, Bytes: 3})
		})
		if err != nil {
			t.Fatal(err)
		}
		merged, err := st.Tree(t.Context(), continuous.Query{})
		if err != nil || merged.Tree.Type.Period != want || merged.Tree.RootTotal() != int64(7*(i+1)) {
			t.Errorf("after push %d: period %d, total %d, %v", i, merged.Tree.Type.Period, merged.Tree.RootTotal(), err)
		}
	}
}
