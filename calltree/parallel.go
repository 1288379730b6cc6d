package calltree

import (
	"runtime"
	"sync"
)

// part is a range of numbers [lo, hi).
type part struct{ lo, hi int }

// parts divides the numbers below n by the number of cores; few numbers are one part.
func parts(n int) []part {
	count := max(1, min(runtime.GOMAXPROCS(0), n>>16))
	list := make([]part, count)
	for i := range list {
		list[i] = part{i * n / count, (i + 1) * n / count}
	}
	return list
}

// each calls work for every part concurrently. Work must write only to what belongs to
// its part.
func each(list []part, work func(i int, p part)) {
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
