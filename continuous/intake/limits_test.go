package intake_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/dendroprof/dendro/continuous"
	"github.com/dendroprof/dendro/continuous/intake"
	"github.com/dendroprof/dendro/store/mem"
)

// samples returns n samples, each with labels of its own.
func samples(n int, label string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "f 1 %s=%d\n", label, i)
	}
	return b.String()
}

// allocated returns the bytes that f allocates.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// TestLabelsTimesSets: long labels of a request times many sets of labels of its samples are
// counted before a series is made of each.
func TestLabelsTimesSets(t *testing.T) {
	st := mem.New()
	in := open(t, st, intake.Options{MaxBytes: 1 << 20})
	label := func(bytes int) continuous.Label {
		return continuous.Label{Name: "l", Value: strings.Repeat("x", bytes)}
	}
	many := samples(8000, "id")
	var err error
	n := allocated(func() { err = push(in, "a", many, 0, label(4000)) })
	if err == nil || !strings.Contains(err.Error(), "bytes of the windows of a push, with labels") ||
		!strings.Contains(err.Error(), "--continuous-max-pending") {
		t.Errorf("%v", err)
	}
	if n > 40<<20 {
		t.Errorf("%d MB were allocated", n>>20)
	}
	err = push(in, "a", "f 1", 0, label(4000), continuous.Label{Name: "m", Value: strings.Repeat("x", 4000)},
		continuous.Label{Name: "n", Value: strings.Repeat("x", 4000)},
		continuous.Label{Name: "o", Value: strings.Repeat("x", 4000)}, continuous.Label{Name: "p", Value: strings.Repeat("x", 4000)})
	if err == nil || !strings.Contains(err.Error(), "--continuous-max-series-bytes") || !strings.Contains(err.Error(), "refused: a") {
		t.Errorf("%v", err)
	}
	same(t, stored(t, st), "")
	if m := in.Metrics(); m.Series != 0 || m.PendingBytes != 0 {
		t.Errorf("%+v", m)
	}
}

// TestPendingCountsTexts: labels, facts and names count in what waits for a commit.
func TestPendingCountsTexts(t *testing.T) {
	g := &gate{Store: mem.New(), entered: make(chan struct{}, 1), pass: make(chan error, 1)}
	in := open(t, g, intake.Options{})
	done := make(chan error)
	fact := continuous.Label{Name: "process.command", Value: strings.Repeat("c", 1000)}
	go func() {
		done <- push(in, strings.Repeat("s", 1000), "f 1", 0, fact, continuous.Label{Name: "l", Value: strings.Repeat("x", 1000)})
	}()
	<-g.entered
	if n := in.Metrics().PendingBytes; n < 3400 || n > 3700 {
		t.Errorf("%d bytes wait", n)
	}
	g.pass <- nil
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// TestRefusedTakesNoPlace: series of pushes that are refused or not stored count for nobody.
func TestRefusedTakesNoPlace(t *testing.T) {
	g := &gate{Store: mem.New(), entered: make(chan struct{}, 100), pass: make(chan error, 10)}
	in := open(t, g, intake.Options{MaxSeries: 10, MaxDelay: time.Millisecond})
	wrong := errors.New("the rest is damaged")
	err := in.Push(context.Background(), "attacker", func(w *intake.Worker) error {
		for i := range 5 {
			if err := add(w, fmt.Sprint("s", i), "f 1 a=1"); err != nil {
				t.Fatal(err)
			}
		}
		if err := add(w, "s5", "f 1 a=1"); err == nil || !strings.Contains(err.Error(), "--continuous-max-series") {
			t.Errorf("a client has half of the types: %v", err)
		}
		return wrong
	})
	if !errors.Is(err, wrong) {
		t.Fatal(err)
	}
	g.pass <- errors.New("no space")
	if err := push(in, "t", "f 1 a=1", 0); err == nil {
		t.Fatal("stored")
	}
	if m := in.Metrics(); m.Series != 0 {
		t.Errorf("%d series count", m.Series)
	}
	for i := range 10 {
		g.pass <- nil
		if err := push(in, fmt.Sprint("t", i), "f 1 a=1", 0); err != nil {
			t.Errorf("service %d: %v", i, err)
		}
	}
}

// TestShares: a service has a share of the series. Its further ones are added to the one of the
// request or to the bare one, and other services have theirs.
func TestShares(t *testing.T) {
	st := mem.New()
	in := open(t, st, intake.Options{MaxSeries: 20, MaxShare: 20})
	if err := push(in, "a", samples(10, "user"), 0); err != nil {
		t.Fatal(err)
	}
	pod := func(n int) continuous.Label { return continuous.Label{Name: "pod", Value: fmt.Sprint(n)} }
	for i := range 3 {
		if err := push(in, "b", "f 1 user=1\nf 1", 1, pod(i)); err != nil {
			t.Error(err)
		}
	}
	same(t, stored(t, st), `
a: 6 in 1
a user=0: 1 in 1
a user=1: 1 in 1
a user=2: 1 in 1
a user=3: 1 in 1
b: 2 in 1
b pod=0: 1 in 1
b pod=0 user=1: 1 in 1
b pod=1: 1 in 1
b pod=1 user=1: 1 in 1`)
	if m := in.Metrics(); m.FoldedSamples != 8 || len(m.Refused) > 0 {
		t.Errorf("%+v", m)
	}
}

// TestOldWindows: what the raw level would not keep is refused.
func TestOldWindows(t *testing.T) {
	in := open(t, mem.New(), intake.Options{MaxAge: time.Hour, Now: func() time.Time { return time.Unix(1795622400+3600, 0) }})
	if err := push(in, "a", "f 1", 0); err != nil {
		t.Error(err)
	}
	err := push(in, "a", "f 1", -2)
	if err == nil || intake.RetryAfter(err) != 0 || !strings.Contains(err.Error(), "--continuous-max-age") {
		t.Errorf("%v", err)
	}
	if m := in.Metrics(); m.Refused["age"] != 1 {
		t.Errorf("%+v", m)
	}
}

// FuzzLabels counts the work of a push: what it allocates is bounded by its limit and by what was
// sent, whatever labels a request and its samples have, and what is refused leaves nothing.
func FuzzLabels(f *testing.F) {
	f.Add(uint16(60), uint16(4000), uint16(2000))
	f.Add(uint16(3), uint16(4000), uint16(2000))
	f.Add(uint16(0), uint16(1), uint16(3000))
	f.Fuzz(func(t *testing.T, labels, length, sets uint16) {
		labels, length, sets = labels%100, length%5000, sets%3000
		in := open(t, mem.New(), intake.Options{MaxBytes: 1 << 20})
		var list []continuous.Label
		for i := range labels {
			list = append(list, continuous.Label{Name: fmt.Sprint("l", i), Value: strings.Repeat("x", int(length))})
		}
		content := "f 1\n" + samples(int(sets), "id")
		var err error
		n := allocated(func() { err = push(in, "a", content, 0, list...) })
		if most := uint64(16<<20) + 8192*uint64(sets) + 4*uint64(labels)*uint64(length); n > most {
			t.Errorf("%d labels of %d bytes, %d sets: %d bytes were allocated, the maximum is %d", labels, length, sets, n, most)
		}
		if m := in.Metrics(); m.PendingBytes != 0 || err != nil && m.Series != 0 {
			t.Errorf("%v: %+v", err, m)
		}
	})
}

// TestSeriesWithoutRoom: series for which the store has no room are added to that of the request,
// those of one push before any of them is stored.
func TestSeriesWithoutRoom(t *testing.T) {
	in := open(t, mem.New(), intake.Options{HasRoom: func(_ continuous.Key, _ string, bytes int64) bool { return bytes <= 3000 }})
	var text strings.Builder
	for i := range 10 {
		fmt.Fprintf(&text, "f 1 id=%d%s\n", i, strings.Repeat("x", 900))
	}
	if err := push(in, "a", text.String(), 0); err != nil {
		t.Fatal(err)
	}
	if m := in.Metrics(); m.FoldedSamples != 7 || m.Series != 4 {
		t.Errorf("%d samples folded, %d series", m.FoldedSamples, m.Series)
	}
	if err := push(in, "a", "f 1 id=new\n", 0); err != nil {
		t.Fatal(err)
	}
	if m := in.Metrics(); m.FoldedSamples != 7 || m.Series != 5 {
		t.Errorf("what waits counts after it is stored: %d samples folded, %d series", m.FoldedSamples, m.Series)
	}
}
