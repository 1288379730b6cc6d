//go:build linux

package soak

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/google/pprof/profile"

	"github.com/dendroprof/dendro/continuous"
	"github.com/dendroprof/dendro/store/engines"
)

// pushedServices is the number of services that push windows.
const pushedServices = 200

// pushes sends windows of a minute, as SDKs of Pyroscope do, over the last days: some of
// them are late for the sums that the server has made.
type pushes struct {
	mu    sync.Mutex
	acked map[string]int64 // windows by service
}

func newPushes() *pushes { return &pushes{acked: map[string]int64{}} }

func (*pushes) name() string    { return "pushes of a window" }
func (*pushes) workers() int    { return 8 }
func (*pushes) needsDisk() bool { return true }

func (l *pushes) step(ctx context.Context, s *soak, worker, n int) error {
	// Each window of a worker is of another service and minute.
	service := fmt.Sprintf("service-%d", (worker+n*l.workers())%pushedServices)
	from := s.began.Add(-time.Duration(n%(40*60)) * time.Minute).Truncate(time.Minute)
	var body bytes.Buffer
	if err := window(worker, n).Write(&body); err != nil {
		return err
	}
	address := fmt.Sprintf("%s/ingest?name=%s&from=%d&until=%d&format=pprof", s.http,
		url.QueryEscape(fmt.Sprintf("%s{pod=%d}", service, worker)), from.Unix(), from.Add(time.Minute).Unix())
	if _, err := call(ctx, http.MethodPost, address, "application/octet-stream", body.String()); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.acked[service]++
	return nil
}

// window returns a profile of the processor of 200 stacks; no two are equal.
func window(worker, n int) *profile.Profile {
	p := &profile.Profile{SampleType: []*profile.ValueType{{Type: "cpu", Unit: "nanoseconds"}},
		PeriodType: &profile.ValueType{Type: "cpu", Unit: "nanoseconds"}, Period: 10_000_000}
	locations := map[string]*profile.Location{}
	location := func(name string) *profile.Location {
		if locations[name] == nil {
			id := uint64(len(locations) + 1)
			f := &profile.Function{ID: id, Name: name}
			locations[name] = &profile.Location{ID: id, Line: []profile.Line{{Function: f}}}
			p.Function, p.Location = append(p.Function, f), append(p.Location, locations[name])
		}
		return locations[name]
	}
	for i := range 200 {
		count := int64(1 + (i*n)%9)
		if i == worker {
			count += int64(n)
		}
		p.Sample = append(p.Sample, &profile.Sample{Value: []int64{count * p.Period}, Location: []*profile.Location{
			location(fmt.Sprint("h", i)), location(fmt.Sprint("g", i%37)), location(fmt.Sprint("f", i%11)), location("serve"), location("main")}})
	}
	return p
}

func (l *pushes) missing(t *testing.T, dir string) (lost, all int) {
	st, err := engines.Open(t.Context(), filepath.Join(dir, "s.duckdb"), engines.Read)
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	totals, err := st.(continuous.Store).Totals(t.Context(), continuous.Query{}, 24*time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	stored := map[string]int64{}
	for _, w := range totals.Totals {
		stored[totals.Series[w.Series].Service] += w.Parts
	}
	for service, n := range l.acked {
		all += int(n)
		lost += int(max(0, n-stored[service]))
	}
	return lost, all
}
