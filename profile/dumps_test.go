package profile

import (
	"testing"
	"time"
)

// TestEachDump takes a profile of three dumps apart, of which the first has no processor
// time.
func TestEachDump(t *testing.T) {
	p := New(nil)
	p.Dumps, p.Start = true, time.Unix(100, 0).UTC()
	p.States = append(p.States, "RUNNABLE", "BLOCKED")
	stack := p.Symbols.Stack(NoStack, p.Symbols.Frame(Frame{Function: p.Symbols.Function(Function{Name: "work"})}))
	threads, cpu := Samples{Type: NamedType(Threads)}, Samples{Type: NamedType(CPU)}
	for i := range 3 {
		at := int64(i) * int64(time.Second)
		threads.Append(stack, 1, at, Tags{State: 1})
		threads.Append(NoStack, 1, at, Tags{State: 2})
		if i > 0 {
			cpu.Append(stack, int64(10*i), at, Tags{})
		}
	}
	p.Tables, p.Default = []Samples{cpu, threads}, 1
	list := p.EachDump()
	if len(list) != 3 {
		t.Fatalf("%d dumps", len(list))
	}
	for i, one := range list {
		s := &one.Tables[one.Default]
		if want := time.Unix(100+int64(i), 0).UTC(); !one.Start.Equal(want) || s.Type.Name != Threads || s.Len() != 2 || s.State[1] != 2 ||
			s.Time != nil {
			t.Errorf("dump %d: %v, %+v", i, one.Start, s)
		}
		if want := min(1, i) + 1; len(one.Tables) != want {
			t.Errorf("dump %d has %d tables, want %d", i, len(one.Tables), want)
		}
		if err := one.Check(); err != nil {
			t.Error(err)
		}
	}
	if p.Dumps = false; len(p.EachDump()) != 1 {
		t.Error("a profile over time was taken apart")
	}
}
