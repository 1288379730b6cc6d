package query

import (
	"strings"
	"testing"

	"github.com/dendroprof/dendro/continuous"
)

// TestFindType: a short name is the sample type if there is one of it, and a message about several
// lists those that it may mean.
func TestFindType(t *testing.T) {
	var node []continuous.Series
	for _, id := range []string{"wall:samples:count:wall:nanoseconds", "wall:wall:nanoseconds:wall:nanoseconds",
		"wall:cpu:nanoseconds:wall:nanoseconds",
		"memory:inuse_space:bytes:inuse_space:bytes", "memory:inuse_objects:count:inuse_space:bytes"} {
		typ, err := continuous.ParseType(id)
		if err != nil {
			t.Fatal(err)
		}
		node = append(node, continuous.Series{Type: typ})
	}
	samples, err := continuous.ParseType("process_cpu:samples:count:cpu:nanoseconds")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		more []continuous.Series
		text string
		want string // the type, or a part of the error
	}{
		{nil, "wall", "wall:wall:nanoseconds:wall:nanoseconds"},
		{nil, "", "wall:cpu:nanoseconds:wall:nanoseconds"},
		{nil, "samples", "wall:samples:count:wall:nanoseconds"},
		{nil, "wall:cpu", "wall:cpu:nanoseconds:wall:nanoseconds"},
		{nil, "memory", "give one --type of memory:inuse_space:bytes:inuse_space:bytes, memory:inuse_objects:count:inuse_space:bytes"},
		{[]continuous.Series{{Type: samples}}, "samples", "give one --type of wall:samples:count:wall:nanoseconds, process_cpu:samples:count:cpu:nanoseconds"},
		{nil, "lock", "--type lock: the pushed profiles have wall:samples"},
	} {
		got, _, err := FindType(append(node[:len(node):len(node)], c.more...), c.text)
		if err == nil && got.String() != c.want || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %s, %v, want %s", c.text, got, err, c.want)
		}
	}
}
