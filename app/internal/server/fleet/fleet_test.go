package fleet_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/dendroprof/dendro/app/internal/server"
	"github.com/dendroprof/dendro/app/internal/server/brokers"
	"github.com/dendroprof/dendro/app/internal/server/fleet"
	"github.com/dendroprof/dendro/continuous"
	"github.com/dendroprof/dendro/continuous/intake"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/store/mem"
	"github.com/dendroprof/dendro/test/peer"
	"github.com/dendroprof/dendro/test/storetest"
)

// file is a store that stays when a worker ends, as a file does.
type file struct {
	continuous.HourStore
	mu   sync.Mutex
	at   continuous.Position
	kept *continuous.Position // when its first upkeep began
	fail error                // of the next PutRead
	open bool
	busy atomic.Pointer[sync.Mutex] // waited for before it says its position
}

func (f *file) PutRead(ctx context.Context, list []*continuous.Window, behind continuous.Position) ([]continuous.Outcome, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.fail; err != nil {
		f.fail = nil
		return nil, err
	}
	outcomes, err := f.PutWindows(ctx, list)
	if err == nil {
		f.at = behind
	}
	return outcomes, err
}

func (f *file) Position(context.Context) (continuous.Position, error) {
	if busy := f.busy.Load(); busy != nil {
		busy.Lock()
		defer busy.Unlock()
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.at, nil
}

func (f *file) Upkeep(ctx context.Context, rolled func(context.Context)) error {
	f.mu.Lock()
	if f.kept == nil {
		at := f.at
		f.kept = &at
	}
	f.mu.Unlock()
	for ctx.Err() == nil {
		rolled(ctx)
		select {
		case <-time.After(10 * time.Millisecond):
		case <-ctx.Done():
		}
	}
	return nil
}

func (f *file) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.open = false
	return nil
}

// disk has the files of a worker.
type disk struct {
	mu    sync.Mutex
	files map[int32]*file
}

func (d *disk) opened(_ context.Context, partition int32) (fleet.PartitionStore, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	f := d.files[partition]
	if f == nil {
		f = &file{HourStore: mem.New()}
		d.files[partition] = f
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.open {
		return nil, fmt.Errorf("partition %d is open", partition)
	}
	f.open = true
	return f, nil
}

// lab is a broker in memory with a topic of three partitions.
type lab struct {
	*testing.T
	log   fleet.Log
	hours *fleet.Late[fleet.Hours] // of workers
}

func newLab(t *testing.T) *lab {
	addresses := strings.Split(peer.Start(t, "kafka").Ready, ",")
	return &lab{t, fleet.Log{Log: brokers.Log{Addresses: addresses, Topic: "windows"}}, nil}
}

// gateway returns one that is connected.
func (l *lab) gateway() *fleet.Gateway {
	l.Helper()
	g := fleet.NewGateway(l.log, slog.New(slog.DiscardHandler))
	if err := g.Connect(l.Context()); err != nil {
		l.Fatal(err)
	}
	return g
}

// worker runs a worker over a disk until stop is called.
func (l *lab) worker(d *disk) (w *fleet.Worker, address string, stop func()) {
	l.Helper()
	w = fleet.NewWorker(fleet.WorkerOptions{Log: l.log, Group: "g", Session: 6 * time.Second, Open: d.opened, Hours: l.hours,
		Logger: slog.New(slog.DiscardHandler)})
	s, err := server.New(server.Options{HTTPToken: token}, w.Part())
	if err != nil {
		l.Fatal(err)
	}
	listening := httptest.NewServer(s.Handler())
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- w.Part().Run(ctx) }()
	stop = sync.OnceFunc(func() {
		listening.Close()
		cancel()
		if err := <-ended; err != nil {
			l.Error(err)
		}
	})
	l.Cleanup(stop)
	return w, listening.URL, stop
}

const token = "of the whole fleet"

func (l *lab) reader(addresses ...string) *fleet.Reader {
	r := fleet.NewReader(fleet.ReaderOptions{Workers: addresses, Token: token, Client: http.DefaultClient,
		Logger: slog.New(slog.DiscardHandler)})
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- r.Part().Run(ctx) }()
	l.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			l.Error(err)
		}
	})
	return r
}

func (l *lab) eventually(what string, holds func() bool) {
	l.Helper()
	for deadline := time.Now().Add(time.Minute); !holds(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			l.Fatal(what)
		}
	}
}

// parts returns how many pushed windows a store answers with.
func (l *lab) parts(st continuous.Store) int {
	l.Helper()
	merged, err := st.Tree(l.Context(), continuous.Query{})
	if err != nil {
		l.Fatal(err)
	}
	return int(merged.Parts)
}

// window is window n of a service.
func window(m *storetest.WindowMaker, service, n int) *continuous.Window {
	return m.Window(fmt.Sprint("s", service), time.Now().Truncate(time.Hour).Add(time.Duration(n)*time.Second), nil,
		storetest.Sample{Stack: []string{"main", fmt.Sprint("f", n%7)}, Value: int64(n + 1)})
}

// TestMoves: windows that a gateway acknowledged are there once, whichever workers come and go,
// whatever fails meanwhile, and a reader says which services are missing.
func TestMoves(t *testing.T) {
	l := newLab(t)
	g := l.gateway()
	defer func() { g.Close() }()
	m := storetest.NewWindowMaker()
	put := func(from int) {
		t.Helper()
		for n := from; n < from+10; n++ {
			var list []*continuous.Window
			for s := range 6 {
				list = append(list, window(m, s, n))
			}
			if outcomes, err := g.PutWindows(t.Context(), list); err != nil || len(outcomes) != len(list) {
				t.Fatal(outcomes, err)
			}
		}
	}
	put(0)
	put(0) // pushed again
	one := &disk{files: map[int32]*file{}}
	w1, address1, stop1 := l.worker(one)
	l.eventually("a worker does not read the log", func() bool { return l.parts(w1.Windows()) == 60 })

	one.mu.Lock()
	for _, f := range one.files {
		l.eventually("sums are made before the log was read", func() bool {
			f.mu.Lock()
			defer f.mu.Unlock()
			return f.kept != nil && f.kept.Next == f.at.Next
		})
		f.mu.Lock()
		f.fail = fmt.Errorf("the disk is full")
		f.mu.Unlock()
	}
	one.mu.Unlock()
	bad(t, l)
	put(10)
	l.eventually("a store that failed is not tried again", func() bool { return l.parts(w1.Windows()) == 120 })

	two := &disk{files: map[int32]*file{}}
	w2, address2, stop2 := l.worker(two)
	r := l.reader(address1, address2)
	l.eventually("a second worker gets no partition", func() bool {
		n := l.parts(w2.Windows())
		return n > 0 && n < 120 && n+l.parts(w1.Windows()) == 120 && l.parts(r.Windows()) == 120
	})
	l.eventually("something is missing", func() bool { return r.Missing() == "" })
	put(20)
	l.eventually("the reader does not see all", func() bool { return l.parts(r.Windows()) == 180 })

	stop1() // it leaves the group
	l.eventually("the worker that left answers", func() bool { return strings.HasPrefix(r.Missing(), "1 of 2 workers does not answer") })
	l.eventually("the second worker does not take over", func() bool {
		return l.parts(w2.Windows()) == 180 && l.parts(r.Windows()) == 180
	})
	put(30)
	w1, _, stop1 = l.worker(one) // on its files: some partitions were read by the other meanwhile
	l.eventually("a worker that comes back repeats or loses windows", func() bool {
		n := l.parts(w1.Windows())
		return n > 0 && n+l.parts(w2.Windows()) == 240
	})
	stop2()
	l.eventually("nothing is missing", func() bool { // the reader does not know the worker that came back
		missing := r.Missing()
		return strings.HasPrefix(missing, "2 of 2 workers do not answer; services") && strings.Contains(missing, "missing")
	})
	l.eventually("the last worker does not hold everything", func() bool { return l.parts(w1.Windows()) == 240 })
	stop1()
}

// TestBusyStore: a worker says what it holds while its stores are busy, so that no reader calls it silent.
func TestBusyStore(t *testing.T) {
	l := newLab(t)
	g := l.gateway()
	defer g.Close()
	if _, err := g.PutWindows(t.Context(), []*continuous.Window{window(storetest.NewWindowMaker(), 0, 0)}); err != nil {
		t.Fatal(err)
	}
	d := &disk{files: map[int32]*file{}}
	w, address, _ := l.worker(d)
	l.eventually("a worker does not read the log", func() bool { return l.parts(w.Windows()) == 1 })
	var busy sync.Mutex
	busy.Lock()
	defer busy.Unlock()
	d.mu.Lock()
	for _, f := range d.files {
		f.busy.Store(&busy)
	}
	d.mu.Unlock()
	r := l.reader(address)
	l.eventually("a busy worker is called silent", func() bool { return r.Missing() == "" && l.parts(r.Windows()) == 1 })
}

// bad writes a record that is none.
func bad(t *testing.T, l *lab) {
	t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(l.log.Addresses...))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	if err := client.ProduceSync(t.Context(), &kgo.Record{Topic: "windows", Value: []byte("poison")}).FirstErr(); err != nil {
		t.Fatal(err)
	}
}

// TestSmallMessages: a topic whose messages are too small for profiles is refused, in words.
func TestSmallMessages(t *testing.T) {
	l := newLab(t)
	client, err := kgo.NewClient(kgo.SeedBrokers(l.log.Addresses...))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	small := "1048588"
	settings := map[string]*string{"max.message.bytes": &small}
	if _, err := kadm.NewClient(client).CreateTopic(t.Context(), 1, 1, settings, "windows"); err != nil {
		t.Fatal(err)
	}
	err = fleet.NewGateway(l.log, slog.New(slog.DiscardHandler)).Connect(t.Context())
	if err == nil || !strings.Contains(err.Error(), "max.message.bytes") {
		t.Errorf("a topic of small messages: %v", err)
	}
}

// TestKafkaIsDown: a gateway that starts before Kafka refuses pushes and is not ready.
func TestKafkaIsDown(t *testing.T) {
	nowhere := fleet.Log{Log: brokers.Log{Addresses: []string{"127.0.0.1:1"}, Topic: "windows"}}
	g := fleet.NewGateway(nowhere, slog.New(slog.DiscardHandler))
	defer g.Close()
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- g.Part().Run(ctx) }()
	if _, err := g.PutWindows(ctx, []*continuous.Window{window(storetest.NewWindowMaker(), 0, 0)}); err == nil {
		t.Error("a window was acknowledged without Kafka")
	}
	if err := g.Part().Ready(ctx); err == nil {
		t.Error("it is ready without Kafka")
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// TestOldWindows: what a worker could not hand over any more, if it had to read the topic again, is
// refused at the push.
func TestOldWindows(t *testing.T) {
	l := newLab(t)
	for keep, want := range map[time.Duration]time.Duration{0: fleet.Latest, time.Hour: 30 * time.Minute, 2000 * time.Hour: fleet.Latest} {
		l.log.Topic, l.log.Keep = "windows-"+keep.String(), keep
		g := l.gateway()
		defer g.Close()
		in := intake.New(g, intake.Options{MaxAge: 1000 * time.Hour})
		defer in.Close(t.Context())
		for age, taken := range map[time.Duration]bool{want - time.Minute: true, want + time.Minute: false} {
			err := in.Push(t.Context(), "", func(w *intake.Worker) error {
				p := &profile.Profile{Symbols: profile.NewSymbols()}
				return w.Add(&intake.Profile{Profile: p, Service: "shop", Start: time.Now().Add(-age), Length: time.Second,
					Type: func(int) (continuous.Type, bool) { return continuous.Type{}, false }})
			})
			if (err == nil) != taken || !taken && strings.Contains(err.Error(), "retention.ms of topic") != (keep == time.Hour) {
				t.Errorf("%s, where records are kept for %s: %v", age, keep, err)
			}
		}
	}
}

// hours is a lake that does not answer at first.
type hours struct {
	up        atomic.Bool
	published [3]atomic.Int32 // by partition
	compacted atomic.Int32
}

func (h *hours) open(context.Context) (fleet.Hours, error) {
	if !h.up.Load() {
		return nil, fmt.Errorf("connection refused")
	}
	return h, nil
}

func (h *hours) Publish(_ context.Context, partition int32, _ continuous.HourStore, _ time.Time) (int, error) {
	h.published[partition].Add(1)
	return 0, nil
}

func (h *hours) Compact(context.Context) (continuous.Compaction, error) {
	h.compacted.Add(1)
	return continuous.Compaction{Merged: 40, Made: 5}, nil
}

func (h *hours) Close() error { return nil }

// TestLakeIsDown: a worker that starts before its lake reads the log, and is ready when the lake
// answers. Then it hands over the hours of each partition, and compacts the lake for all of them.
func TestLakeIsDown(t *testing.T) {
	l, h := newLab(t), &hours{}
	g := l.gateway()
	defer g.Close()
	if _, err := g.PutWindows(t.Context(), []*continuous.Window{window(storetest.NewWindowMaker(), 0, 0)}); err != nil {
		t.Fatal(err)
	}
	var err error
	if l.hours, err = fleet.OpenLate(t.Context(), func(error) bool { return true }, h.open); err != nil {
		t.Fatal(err)
	}
	w, _, _ := l.worker(&disk{files: map[int32]*file{}})
	l.eventually("the log is not read without a lake", func() bool { return l.parts(w.Windows()) == 1 })
	l.eventually("it is ready without its lake", func() bool { return w.Part().Ready(t.Context()) != nil })
	h.up.Store(true)
	l.eventually("it does not go on when the lake answers", func() bool { return w.Part().Ready(t.Context()) == nil })
	l.eventually("it hands no hours over", func() bool {
		return h.published[0].Load() > 2 && h.published[1].Load() > 2 && h.published[2].Load() > 2
	})
	if n := h.compacted.Load(); n != 1 {
		t.Errorf("the lake was compacted %d times in an hour", n)
	}
}

// TestKafkaEnds: what a worker has read stays in its answers while Kafka does not answer.
func TestKafkaEnds(t *testing.T) {
	kafka, err := peer.Open("kafka")
	if err != nil {
		t.Fatal(err)
	}
	l := &lab{t, fleet.Log{Log: brokers.Log{Addresses: strings.Split(kafka.Ready, ","), Topic: "windows"}}, nil}
	g := l.gateway()
	defer g.Close()
	m := storetest.NewWindowMaker()
	for n := range 5 {
		if _, err := g.PutWindows(t.Context(), []*continuous.Window{window(m, n, n)}); err != nil {
			t.Fatal(err)
		}
	}
	w, address, _ := l.worker(&disk{files: map[int32]*file{}})
	r := l.reader(address)
	l.eventually("the log is not read", func() bool { return l.parts(r.Windows()) == 5 })
	if err := kafka.Close(); err != nil {
		t.Fatal(err)
	}
	l.eventually("the worker is in its group without Kafka", func() bool {
		err := w.Part().Ready(t.Context())
		return err != nil && strings.Contains(err.Error(), "group session")
	})
	if n := l.parts(r.Windows()); n != 5 {
		t.Errorf("%d windows while Kafka does not answer; missing: %q", n, r.Missing())
	}
}

// TestTokens: what a worker tells readers needs the token.
func TestTokens(t *testing.T) {
	s, err := server.New(server.Options{HTTPToken: token}, fleet.NewWorker(fleet.WorkerOptions{}).Part())
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range []*http.Request{httptest.NewRequest("GET", "/fleet/v1/partitions", nil),
		httptest.NewRequest("POST", "/fleet/v1/partitions/0/series", strings.NewReader("{}"))} {
		for _, given := range []string{"", "another token of it", token} {
			w := httptest.NewRecorder()
			if r.Header.Del("Authorization"); given != "" {
				r.Header.Set("Authorization", "Bearer "+given)
			}
			s.Handler().ServeHTTP(w, r)
			if (w.Code == http.StatusUnauthorized) != (given != token) {
				t.Errorf("%s with the token %q: %d", r.URL, given, w.Code)
			}
		}
	}
}

// TestTooLarge: of pushes that share a commit, the one whose window no message can have fails alone.
func TestTooLarge(t *testing.T) {
	l := newLab(t)
	g := l.gateway()
	defer func() { g.Close() }()
	client, err := kgo.NewClient(kgo.SeedBrokers(l.log.Addresses...))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	g.Close()
	most := "8388608"
	if _, err := kadm.NewClient(client).AlterTopicConfigs(t.Context(), []kadm.AlterConfig{{Op: kadm.SetConfig, Name: "max.message.bytes",
		Value: &most}}, l.log.Topic); err != nil {
		t.Fatal(err)
	}
	g = l.gateway()
	m := storetest.NewWindowMaker()
	var samples []storetest.Sample
	for i := range 40_000 {
		samples = append(samples, storetest.Sample{Stack: []string{fmt.Sprintf("%0250d", i)}, Value: 1})
	}
	list := []*continuous.Window{window(m, 0, 0), m.Window("s0", time.Now(), nil, samples...), window(m, 0, 1), window(m, 1, 2)}
	outcomes, err := g.PutWindows(t.Context(), list)
	if want := []continuous.Outcome{0, continuous.TooLarge, 0, 0}; err != nil || !slices.Equal(outcomes, want) {
		t.Errorf("%v, %v", outcomes, err)
	}
	w, _, _ := l.worker(&disk{files: map[int32]*file{}})
	l.eventually("the other windows are not there", func() bool { return l.parts(w.Windows()) == 3 })
}
