package command

import (
	"os"
	"runtime/debug"
	"runtime/metrics"
	"sync/atomic"
	"time"
)

// HeapMemory is what the heap of an import or a query may come to before the garbage
// collector works harder. DuckDB's memory comes on top.
const HeapMemory = 420 << 20

// spending is set while a budget applies.
var spending atomic.Bool

// SpendMemory lets the garbage collector of this process rest as long as the
// heap stays below a budget of bytes, until the returned function is called: an
// import makes much garbage, and half of a small heap's collections are not worth
// their time. While a budget applies, a second one has no effect. A heap that lives beyond
// the budget is collected often, never endlessly, which a memory limit of the runtime
// would do. Who sets GOGC or GOMEMLIMIT decides alone.
func SpendMemory(budget uint64) (restore func()) {
	if os.Getenv("GOGC") != "" || os.Getenv("GOMEMLIMIT") != "" || !spending.CompareAndSwap(false, true) {
		return func() {}
	}
	before := debug.SetGCPercent(maxGCPercent)
	done := make(chan struct{})
	go func() {
		live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
		tick := time.NewTicker(200 * time.Millisecond)
		defer tick.Stop()
		for percent := maxGCPercent; ; {
			select {
			case <-done:
				debug.SetGCPercent(before)
				done <- struct{}{}
				return
			case <-tick.C:
			}
			metrics.Read(live)
			if p := gcPercent(live[0].Value.Uint64(), budget); p != percent {
				debug.SetGCPercent(p)
				percent = p
			}
		}
	}()
	return func() {
		done <- struct{}{}
		<-done
		spending.Store(false)
	}
}

// The bounds of what gcPercent returns.
const (
	minGCPercent = 40
	maxGCPercent = 400
)

// gcPercent returns by how many percent a heap of so many live bytes may grow to
// stay within the budget, in steps of ten.
func gcPercent(live, budget uint64) int {
	room := int64(budget) - int64(live)
	return int(min(max(room*100/max(int64(live), 1)/10*10, minGCPercent), maxGCPercent))
}
