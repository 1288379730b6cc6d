package goroutine

import (
	"bytes"
	"fmt"
	"regexp"
	"runtime"
	"runtime/debug"
	"runtime/pprof"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	binary "github.com/google/pprof/profile"

	"github.com/dendroprof/dendro/profile"
)

// TestAgainstBinary takes the profiles of this very process in both forms, and
// demands the same stacks with the same values of both.
func TestAgainstBinary(t *testing.T) {
	defer runtime.SetMutexProfileFraction(runtime.SetMutexProfileFraction(3))
	runtime.SetBlockProfileRate(1000)
	defer runtime.SetBlockProfileRate(0)
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // the heap profile changes with every collection
	stop := make(chan struct{})
	var parked sync.WaitGroup
	for range 5 {
		parked.Add(1)
		go func() { parked.Done(); <-stop }()
	}
	defer close(stop)
	parked.Wait()
	contend()
	runtime.GC()
	runtime.GC()
	for _, name := range []string{"goroutine", "heap", "mutex", "block", "threadcreate"} {
		t.Run(name, func(t *testing.T) {
			// The process goes on between the two: a thread more, a lock more.
			var diff string
			for range 10 {
				if diff = compare(t, name); diff == "" {
					return
				}
			}
			t.Error(diff)
		})
	}
}

var kept [][]byte

// contend makes goroutines wait for a mutex and allocates memory that stays.
func contend() {
	var mu sync.Mutex
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 20 {
				mu.Lock()
				time.Sleep(100 * time.Microsecond)
				kept = append(kept, make([]byte, 16<<10))
				mu.Unlock()
			}
		})
	}
	all.Wait()
}

// typeArguments are those of a function, which text leaves out.
var typeArguments = regexp.MustCompile(`\b\[.*\]`)

// compare takes a profile in both forms and compares the tables, which are in the
// same order. It returns what differs.
func compare(t *testing.T, name string) (differ string) {
	t.Helper()
	var text, proto bytes.Buffer
	if err := pprof.Lookup(name).WriteTo(&text, 1); err != nil {
		t.Fatal(err)
	}
	if err := pprof.Lookup(name).WriteTo(&proto, 0); err != nil {
		t.Fatal(err)
	}
	want, err := binary.Parse(&proto)
	if err != nil {
		t.Fatal(err)
	}
	p := decode(t, text.String())
	if len(p.Tables) != len(want.SampleType) {
		t.Fatalf("%d tables, want %d", len(p.Tables), len(want.SampleType))
	}
	for i, typ := range want.SampleType {
		table := &p.Tables[i]
		if table.Type.Original != typ.Type || table.Type.Unit != typ.Unit {
			t.Errorf("table %d is %s %s, want %s %s", i, table.Type.Original, table.Type.Unit, typ.Type, typ.Unit)
		}
		got := map[string]int64{}
		for n, st := range table.Stack {
			got[stackOf(p, st)] += table.Value[n]
		}
		wanted := map[string]int64{}
		for _, s := range want.Sample {
			if s.Value[i] != 0 {
				wanted[binaryStack(s, name == "mutex" || name == "block")] += s.Value[i]
			}
		}
		// The goroutine that writes is at another line each time. Logging allocates in
		// runtime.CallersFrames, which is inlined; the binary form hides its address and
		// with it the function around.
		for _, m := range []map[string]int64{got, wanted} {
			for stack := range m {
				if strings.Contains(stack, "WriteTo") || strings.Contains(stack, "testing.(*common)") {
					delete(m, stack)
				}
			}
		}
		if name == "threadcreate" { // the race detector's threads have names in the text only
			got, wanted = allStacks(got), allStacks(wanted)
		}
		if len(wanted) == 0 {
			t.Errorf("nothing of %s", typ.Type)
		}
		if diff := cmp.Diff(wanted, got); diff != "" {
			differ += fmt.Sprintf("%s (-binary +text):\n%s", typ.Type, diff)
		}
	}
	return differ
}

// allStacks sums all stacks.
func allStacks(m map[string]int64) map[string]int64 {
	sum := int64(0)
	for _, v := range m {
		sum += v
	}
	return map[string]int64{"": sum}
}

// stackOf returns the functions of a stack, innermost first.
func stackOf(p *profile.Profile, st profile.StackID) string {
	var names []string
	for ; st != profile.NoStack; st = p.Symbols.Parent(st) {
		names = append(names, p.Symbols.Functions[p.Symbols.Frames[p.Symbols.Leaf(st)].Function].Name)
	}
	return strings.Join(names, " ")
}

// binaryStack returns the functions that the text shows of a sample: not
// runtime.goexit, nor what of the runtime is innermost unless all is, or unless
// all are asked for.
func binaryStack(s *binary.Sample, all bool) string {
	var names []string
	for _, loc := range s.Location {
		for _, line := range loc.Line {
			names = append(names, typeArguments.ReplaceAllString(line.Function.Name, "[...]"))
		}
	}
	if strings.Join(names, "") == "" {
		return profile.NoName
	}
	names = slices.DeleteFunc(names, func(n string) bool { return n == "runtime.goexit" })
	first := slices.IndexFunc(names, func(n string) bool {
		return !strings.HasPrefix(n, "runtime.") && !strings.HasPrefix(n, "internal/runtime/")
	})
	if !all && first > 0 {
		names = names[first:]
	}
	return strings.Join(names, " ")
}
