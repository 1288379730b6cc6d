package query

import (
	"fmt"
	"testing"
	"time"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/continuous"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/store/mem"
)

// TestPushedUses: a service has the CPU time of its last hour, its hottest function and its newest
// release, whatever type its CPU time has.
func TestPushedUses(t *testing.T) {
	st, forest := mem.New(), new(calltree.Forest)
	cpu, _ := continuous.ParseType("process_cpu:cpu:nanoseconds:cpu:nanoseconds")
	node, _ := continuous.ParseType("wall:cpu:nanoseconds:wall:nanoseconds")
	heap, _ := continuous.ParseType("memory:inuse_space:bytes:space:bytes")
	noon := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	n := byte(0)
	push := func(service string, typ continuous.Type, version, pod string, start time.Time, values map[string]int64) {
		t.Helper()
		n++
		w := &continuous.Window{Series: continuous.Series{Service: service, Type: typ, Labels: continuous.Labels{{Name: "pod", Value: pod},
			{Name: "version", Value: version}}}, Start: start, Length: time.Minute, Type: profile.NamedType("cpu"), Forest: forest,
			Hash: profile.Hash{n}}
		for name, v := range values {
			w.Self = calltree.AddVectors(w.Self, calltree.Vector{Nodes: []int32{forest.Path(calltree.NoNode,
				forest.Function(profile.Function{Name: name}))}, Self: []int64{v}})
		}
		if _, err := st.PutWindows(t.Context(), []*continuous.Window{w}); err != nil {
			t.Fatal(err)
		}
	}
	minute := int64(time.Minute)
	push("cart", node, "7", "a", noon, map[string]int64{"main.add": 3 * minute})
	push("shop", cpu, "1.9", "a", noon.Add(-2*time.Hour), map[string]int64{"main.old": 50 * minute})
	push("shop", cpu, "1.10", "b", noon, map[string]int64{"main.price": minute, "runtime.gc": 2 * minute})
	push("shop", cpu, "1.10", "c", noon, map[string]int64{"main.price": minute, "main.tax": minute})
	push("cart", heap, "8", "b", noon, map[string]int64{"main": 1}) // at the same time: the later name
	push("store", heap, "1", "a", noon, map[string]int64{"main": 1})
	push("gone", cpu, "1", "a", noon.Add(-30*time.Hour), map[string]int64{"main": 1})
	push("other", cpu, "1", "a", noon, map[string]int64{"main": 1})
	uses, err := PushedUses(t.Context(), st, func(name string) bool { return name != "other" }, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	got := ""
	for _, u := range uses {
		got += fmt.Sprintf("%s %v %s %.2f %s %s %s|", u.Service, coresOf(&u), u.Function, u.Share, u.Release, u.Since.Format("02 15"),
			u.Last.Format("02 15:04"))
	}
	want := "shop 5 main.price 0.40 1.10 20 12 20 12:01|cart 3 main.add 1.00 8 20 12 20 12:01|gone -1  0.00 1 19 06 19 06:01|store -1  0.00 1 20 12 20 12:01|"
	if got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}
