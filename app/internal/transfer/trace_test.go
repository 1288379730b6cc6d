package transfer

import (
	"bytes"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/traceprof"
)

// anySnapshots draws snapshots over a few dictionaries, which grow from one value
// to the next.
func anySnapshots(t *rapid.T) []traceprof.Snapshots {
	dictionaries := make([]calltree.Forest, 2)
	var list []traceprof.Snapshots
	for range rapid.IntRange(0, 5).Draw(t, "values") {
		f := &dictionaries[rapid.IntRange(0, 1).Draw(t, "dictionary")]
		s := traceprof.Snapshots{Task: anyText(t), Segment: anyText(t), Language: traceprof.Language(rapid.IntRange(0, 1).Draw(t, "language"))}
		for range rapid.IntRange(0, 6).Draw(t, "rows") {
			path := calltree.NoNode
			for range rapid.IntRange(0, 4).Draw(t, "depth") {
				path = f.Path(path, f.Function(profile.Function{Name: rapid.SampledFrom([]string{"A", "B", "C", ""}).Draw(t, "name")}))
			}
			s.Path = append(s.Path, path)
			s.Sequence, s.Time = append(s.Sequence, rapid.Int32().Draw(t, "sequence")), append(s.Time, rapid.Int64().Draw(t, "time"))
			if s.Language == traceprof.GoProfiles {
				s.Count, s.Nanos = append(s.Count, rapid.Int64().Draw(t, "count")), append(s.Nanos, rapid.Int64().Draw(t, "nanos"))
			}
		}
		s.Stacks = f.Snapshot()
		list = append(list, s)
	}
	return list
}

// draw writes snapshots as text, so that equal texts are equal snapshots.
func draw(s *traceprof.Snapshots) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%q %q %d %v %v %v %v:", s.Task, s.Segment, s.Language, s.Sequence, s.Time, s.Count, s.Nanos)
	for _, p := range s.Path {
		fmt.Fprintf(&b, " %q", s.Stacks.Names(p))
	}
	return b.String()
}

func each(list []traceprof.Snapshots) iter.Seq2[traceprof.Snapshots, error] {
	return func(yield func(traceprof.Snapshots, error) bool) {
		for i := range list {
			if !yield(list[i], nil) {
				return
			}
		}
	}
}

func noFlush() error { return nil }

func TestSnapshotsTravel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		list := anySnapshots(t)
		var b bytes.Buffer
		if err := WriteSampled(&b, noFlush, &Sampled{Snapshots: each(list)}); err != nil {
			t.Fatal(err)
		}
		part, err := ReadSampled(io.NopCloser(&b))
		if err != nil {
			t.Fatal(err)
		}
		var got, want []string
		for s, err := range part.Snapshots {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, draw(&s))
		}
		for i := range list {
			want = append(want, draw(&list[i]))
		}
		if !slices.Equal(got, want) {
			t.Fatal(cmp.Diff(want, got))
		}
	})
}

// TestStacksTravelOnce wants what two values share to be sent once.
func TestStacksTravelOnce(t *testing.T) {
	f := new(calltree.Forest)
	path := calltree.NoNode
	for i := range 200 {
		path = f.Path(path, f.Function(profile.Function{Name: fmt.Sprintf("package.of.Class%d.method:%d", i, i)}))
	}
	size := func(values int) int {
		var list []traceprof.Snapshots
		for range values {
			list = append(list, traceprof.Snapshots{Task: "t", Segment: "s", Stacks: f.Snapshot(), Sequence: []int32{0}, Time: []int64{0},
				Path: []int32{path}})
		}
		var b bytes.Buffer
		if err := WriteSampled(&b, noFlush, &Sampled{Snapshots: each(list)}); err != nil {
			t.Fatal(err)
		}
		return b.Len()
	}
	if one, ten := size(1), size(10); ten-one > 9*30 {
		t.Errorf("one value takes %d bytes and ten take %d", one, ten)
	}
}

// sampled is something of everything.
func sampled() *Sampled {
	forest := new(calltree.Forest)
	a := forest.Path(calltree.NoNode, forest.Function(profile.Function{Name: "A"}))
	b := forest.Path(a, forest.Function(profile.Function{Name: "B"}))
	return &Sampled{Tasks: []traceprof.Task{{ID: "t", Period: 10}},
		Segments: []traceprof.Segment{{ID: "s", Raw: []byte("raw")}}, Snapshots: each([]traceprof.Snapshots{
			{Task: "t", Segment: "s", Stacks: forest, Sequence: []int32{0, 1}, Time: []int64{5, 6}, Path: []int32{a, b}},
			{Task: "t", Segment: "g", Language: traceprof.GoProfiles, Stacks: forest, Sequence: []int32{-1}, Time: []int64{5}, Path: []int32{-1},
				Count: []int64{2}, Nanos: []int64{9}},
		})}
}

func FuzzReadSampled(f *testing.F) {
	var seed bytes.Buffer
	if err := WriteSampled(&seed, noFlush, sampled()); err != nil {
		f.Fatal(err)
	}
	f.Add(seed.Bytes())
	f.Fuzz(func(t *testing.T, data []byte) {
		part, err := ReadSampled(io.NopCloser(bytes.NewReader(data)))
		if err != nil {
			return
		}
		for s, err := range part.Snapshots {
			if err != nil {
				return
			}
			if err := s.Check(); err != nil {
				t.Fatal(err)
			}
			_ = draw(&s)
		}
	})
}
