// Package ranges divides the numbers below n, such as the rows of a table, into parts on which
// several goroutines work.
//
// Parts are contiguous and as many as there are cores, so that a pass over few rows starts no
// goroutine. The package knows nothing of what the numbers are, and what a part may write is
// the business of the caller.
package ranges

import (
	"runtime"
	"sync"

	"github.com/dendroprof/dendro/internal/column"
)

// Part is a range of numbers [Lo, Hi).
type Part struct{ Lo, Hi int }

// Parts divides the numbers below n by the number of cores; few numbers are one part.
func Parts(n int) []Part {
	count := max(1, min(runtime.GOMAXPROCS(0), n>>16))
	list := make([]Part, count)
	for i := range list {
		list[i] = Part{i * n / count, (i + 1) * n / count}
	}
	return list
}

// Each calls work for every part concurrently. Work must write only to what belongs to
// its part.
func Each(list []Part, work func(i int, p Part)) {
	if len(list) == 1 {
		work(0, list[0])
		return
	}
	var wg sync.WaitGroup
	for i, p := range list {
		wg.Go(func() { work(i, p) })
	}
	wg.Wait()
}

// Numbers returns 0, 1, … n-1.
func Numbers(n int) []int32 {
	return column.Places[int32](n)
}
