// Command workload is the program whose profiles the demo imports: the core of a
// small shop that checks out orders, searches products and reports sales.
//
// It runs one benchmark for some seconds, writes a CPU profile and prints the
// result as a line of Go benchmark text. Times are processor time, so that other
// programs do not count. With -slow the benchmark checkout bypasses the cache of
// compiled price rules; nothing else changes.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"runtime"
	"runtime/pprof"
	"strings"
	"time"

	"github.com/dendroprof/dendro/test/demo/workload/catalog"
)

// warmUp is how long the operation runs before the profile begins.
const warmUp = 300 * time.Millisecond

func main() {
	name := flag.String("bench", "checkout", "benchmark to run: "+strings.Join(names(), ", "))
	seconds := flag.Float64("seconds", 3, "how much processor time to run it for")
	profile := flag.String("profile", "", "`file` to write the CPU profile to")
	slow := flag.Bool("slow", false, "bypass the rule cache of checkout")
	flag.Parse()
	n, used, err := run(*name, time.Duration(*seconds*float64(time.Second)), *profile, *slow)
	if err != nil {
		fmt.Fprintln(os.Stderr, "workload:", err)
		os.Exit(1)
	}
	title := strings.ToUpper((*name)[:1]) + (*name)[1:]
	fmt.Printf("Benchmark%s\t%d\t%d ns/op\n", title, n, used.Nanoseconds()/int64(n))
}

// run measures the benchmark and returns how often it ran and the time it used.
func run(name string, length time.Duration, profile string, slow bool) (n int, used time.Duration, err error) {
	setUp, ok := benchmarks[name]
	if !ok {
		return 0, 0, fmt.Errorf("no benchmark %q", name)
	}
	op, err := setUp(catalog.Generate(seed, products), slow)
	if err != nil {
		return 0, 0, err
	}
	if _, _, err := measure(op, warmUp); err != nil {
		return 0, 0, err
	}
	runtime.GC()
	if profile == "" {
		return measure(op, length)
	}
	f, err := os.Create(profile)
	if err != nil {
		return 0, 0, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if err := pprof.StartCPUProfile(f); err != nil {
		return 0, 0, err
	}
	defer pprof.StopCPUProfile()
	return measure(op, length)
}

// measure repeats the operation until it has used up the time.
func measure(op operation, length time.Duration) (n int, used time.Duration, err error) {
	start := processorTime()
	for used < length {
		if _, err := op(n); err != nil {
			return n, used, err
		}
		n++
		used = processorTime() - start
	}
	return n, used, nil
}
