// Package fleet simulates the hours of pushed profiles that workers hand over to a lake.
package fleet

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/continuous"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/test/storetest"
)

// Hours are those of a partition of a simulated fleet: every hour of each service has five series of up
// to 300 call paths of its own.
type Hours struct {
	continuous.Store
	forest   *calltree.Forest
	series   []continuous.Series
	paths    [][]int32 // of each series
	Handover int       // hours that a worker has made
}

// SeriesOfService is how many series a service has.
const SeriesOfService = 5

// Begin is the first hour.
var Begin = time.Date(2026, 10, 1, 0, 0, 0, 0, time.UTC)

// New returns the hours of those of some services that are in a partition of as many as there are workers.
func New(partition, services, workers int) *Hours {
	f := &Hours{forest: &calltree.Forest{}}
	r := rand.New(rand.NewPCG(uint64(partition), 1))
	for n := partition; n < services; n += workers {
		var paths []int32
		functions := make([]int32, 100)
		for i := range functions {
			functions[i] = f.forest.Function(profile.Function{Name: fmt.Sprintf("com.example.service%d.Handler%d.method", n, i)})
		}
		for range 300 {
			up := calltree.NoNode
			if len(paths) > 0 {
				up = paths[r.IntN(len(paths))]
			}
			paths = append(paths, f.forest.Path(up, functions[r.IntN(len(functions))]))
		}
		for zone := range SeriesOfService {
			f.series = append(f.series, continuous.Series{Service: fmt.Sprintf("service-%05d", n), Type: storetest.CPUWindows,
				Labels: continuous.Labels{{Name: "zone", Value: fmt.Sprint("z", zone)}}, First: Begin, Last: Begin.Add(time.Hour)})
			f.paths = append(f.paths, paths)
		}
	}
	return f
}

// Count returns how many series there are.
func (f *Hours) Count() int { return len(f.series) }

// Made implements continuous.HourStore.
func (f *Hours) Made(context.Context) (time.Time, error) {
	return Begin.Add(time.Duration(f.Handover) * time.Hour), nil
}

// WindowStats implements continuous.HourStore.
func (f *Hours) WindowStats(context.Context) (s continuous.Stats, err error) {
	s.First = Begin
	return s, nil
}

// Totals implements continuous.HourStore.
func (f *Hours) Totals(_ context.Context, q continuous.Query, _ time.Duration) (*continuous.Totals, error) {
	totals := &continuous.Totals{Series: f.series}
	for i := range f.series {
		for hour := range f.Handover {
			at := Begin.Add(time.Duration(hour) * time.Hour)
			if !at.Before(q.From) && at.Before(q.Until) {
				totals.Totals = append(totals.Totals, continuous.Total{Series: int32(i), Level: continuous.Hour, Start: at, Length: time.Hour,
					Parts: 2400, Covered: time.Hour, Instances: 10})
			}
		}
	}
	return totals, nil
}

// Hours implements continuous.HourStore.
func (f *Hours) Hours(ctx context.Context, q continuous.Query) (*continuous.Hours, error) {
	totals, err := f.Totals(ctx, q, time.Hour)
	if err != nil {
		return nil, err
	}
	h := &continuous.Hours{Series: f.series, Types: make([]profile.ValueType, len(f.series)), Forest: f.forest.Snapshot(),
		Totals: totals.Totals}
	for i := range h.Types {
		h.Types[i] = profile.ValueType{Name: "cpu", Unit: "nanoseconds"}
	}
	for i := range h.Totals {
		t := &h.Totals[i]
		r := rand.New(rand.NewPCG(uint64(t.Series), uint64(t.Start.Unix())))
		var self calltree.Vector
		last := int32(-1)
		for _, path := range f.paths[t.Series] {
			if r.IntN(4) > 0 && path > last {
				self.Nodes, self.Self = append(self.Nodes, path), append(self.Self, r.Int64N(1e9))
				t.Sum += self.Self[len(self.Self)-1]
				last = path
			}
		}
		h.Self = append(h.Self, self)
	}
	return h, nil
}
