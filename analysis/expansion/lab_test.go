package expansion_test

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/store/mem"
	"github.com/dendroprof/dendro/testrun"
)

// run is one profile of a test: folded stacks, and the metric of its benchmark.
type run struct {
	benchmark string
	metric    float64 // 0: none
	unit      string  // default ms
	stacks    string  // "A;B 6" separated by line ends or commas
	// interpreted is the part of stacks that ran so; the rest is compiled.
	interpreted string
}

// filled returns a store with runs 01, 02, … in that order.
func filled(t testing.TB, runs ...run) *mem.Store {
	t.Helper()
	st := mem.New()
	var files []*store.File
	for i, r := range runs {
		key := fmt.Sprintf("%02d", i+1)
		forest := &calltree.Forest{}
		self := paths(t, forest, r.stacks)
		f := &store.File{Name: key, Benchmark: testrun.Benchmark{Group: "g", Name: r.benchmark}, Run: testrun.Run{Key: key},
			Records: []*store.Record{{Type: profile.NamedType(profile.CPUSamples), Hash: profile.Hash{byte(i + 1), byte(len(r.stacks))}, Forest: forest, Self: self}}}
		if r.interpreted != "" {
			part := paths(t, forest, r.interpreted)
			rest := calltree.Vector{Nodes: part.Nodes}
			for _, v := range part.Self {
				rest.Self = append(rest.Self, -v)
			}
			f.Records[0].Modes = []store.ModeVector{{Mode: profile.FrameInterpreted, Vector: part}, {Mode: profile.FrameJIT, Vector: calltree.AddVectors(self, rest)}}
		}
		if r.metric != 0 {
			unit := r.unit
			if unit == "" {
				unit = "ms"
			}
			f.Metrics = []testrun.Metric{{Name: "m", Mean: r.metric, Unit: unit, Better: testrun.BetterOf(unit), Primary: true}}
		}
		files = append(files, f)
	}
	outcomes, err := st.Put(context.Background(), files, store.PutOptions{Rules: "test"})
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range outcomes {
		if o.Err != nil {
			t.Fatal(o.Err)
		}
	}
	return st
}

// paths reads stacks with their values.
func paths(t testing.TB, f *calltree.Forest, text string) calltree.Vector {
	t.Helper()
	values := map[int32]int64{}
	for _, line := range strings.FieldsFunc(text, func(r rune) bool { return r == '\n' || r == ',' }) {
		line = strings.TrimSpace(line)
		at := strings.LastIndexByte(line, ' ')
		v, err := strconv.ParseInt(line[at+1:], 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		path := calltree.NoNode
		for _, name := range strings.Split(line[:at], ";") {
			path = f.Path(path, f.Function(profile.Function{Name: name}))
		}
		values[path] += v
	}
	var self calltree.Vector
	for p := range int32(f.Paths.Len()) {
		if v := values[p]; v != 0 {
			self.Nodes = append(self.Nodes, p)
			self.Self = append(self.Self, v)
		}
	}
	return self
}
