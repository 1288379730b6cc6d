// Command record records the pairs of package public anew, or a new one:
//
//	go run ./test/detection/public/record [-truth] [-values n] [-count n] NAME…
//
// It builds the caller of testdata/NAME with both versions, finds how many operations take
// about a second of CPU time, and records in turns (A B A C …) four profiles of the base,
// two of the head and two more of the base as controls. With -truth it measures CPU time
// per operation instead, without a profiler, in turns too, and writes testdata/NAME/cpu.json.
//
// A caller with bench.json is recorded by `dendro bench` as a user does it: two runs of the
// base and two of the head in turns, then two of the base and two of the control, or -count.
//
// It needs the Go module proxy; for Java pairs a JDK, Maven and Maven Central; py-spy and PyPI
// for those of Python; Node.js and the npm registry for those of Node.js.
package main

import (
	"context"
	_ "embed"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
)

func main() {
	truth := flag.Bool("truth", false, "measure CPU time per operation instead of recording")
	values := flag.Int("values", 12, "values of each side with -truth")
	count := flag.Int("count", 2, "runs of the head, and controls, of a caller with bench.json; twice as many of the base")
	dir := flag.String("dir", filepath.Join("test", "detection", "public", "testdata"), "directory of the pairs")
	flag.Parse()
	for _, name := range flag.Args() {
		if err := record(context.Background(), filepath.Join(*dir, name), *truth, *values, *count); err != nil {
			fmt.Fprintf(os.Stderr, "record: %s: %v\n", name, err)
			os.Exit(1)
		}
	}
}

// A program is a caller built with one version of its library.
type program interface {
	// calibrate returns the number of operations that take about a second of CPU time.
	calibrate(ctx context.Context) (int, error)
	// measure returns the CPU time of an operation in nanoseconds, without a profiler.
	measure(ctx context.Context, operations int) (float64, error)
}

// A recorder is a program whose measured loop alone is profiled.
type recorder interface {
	program
	// record writes name.txt, the benchmark's text, and the profile beside it.
	record(ctx context.Context, operations int, name string) error
}

func record(ctx context.Context, pair string, truth bool, values, count int) error {
	work, err := os.MkdirTemp("", "dendro-public-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	caller := filepath.Join(pair, "caller")
	if _, err := os.Stat(filepath.Join(caller, "bench.json")); err == nil {
		t, err := readTurns(ctx, caller, work)
		if err != nil {
			return err
		}
		if !truth {
			return t.record(ctx, pair, count)
		}
		base, head, err := t.sides(ctx)
		if err != nil {
			return err
		}
		return measure(ctx, pair, base, head, 1, values)
	}
	build := buildGo
	if java, _ := filepath.Glob(filepath.Join(caller, "*.java")); len(java) > 0 {
		build = buildJava
	}
	base, err := build(ctx, caller, "base", work)
	if err != nil {
		return err
	}
	head, err := build(ctx, caller, "head", work)
	if err != nil {
		return err
	}
	operations, err := base.calibrate(ctx)
	if err != nil {
		return err
	}
	operations = round(operations)
	if truth {
		return measure(ctx, pair, base, head, operations, values)
	}
	turns := []struct {
		of   recorder
		name string
	}{
		{base, "repo-1"}, {head, "head-1"}, {base, "repo-2"}, {base, "ctl-1"},
		{base, "repo-3"}, {head, "head-2"}, {base, "repo-4"}, {base, "ctl-2"},
	}
	for _, t := range turns {
		if err := t.of.record(ctx, operations, filepath.Join(pair, t.name)); err != nil {
			return err
		}
	}
	return nil
}

// round keeps the two first digits of n.
func round(n int) int {
	unit := 1
	for n/unit >= 100 {
		unit *= 10
	}
	return n / unit * unit
}

// cpu is CPU time per operation in nanoseconds, as measured in turns: value i of the base
// came before value i of the head.
type cpu struct {
	Base []float64 `json:"base"`
	Head []float64 `json:"head"`
}

func measure(ctx context.Context, pair string, base, head program, operations, values int) error {
	var m cpu
	for range values {
		b, err := base.measure(ctx, operations)
		if err != nil {
			return err
		}
		h, err := head.measure(ctx, operations)
		if err != nil {
			return err
		}
		m.Base, m.Head = append(m.Base, b), append(m.Head, h)
	}
	low, best, high := m.change()
	fmt.Printf("%s: %d operations, %.0f ns; %+.0f %% (%+.0f … %+.0f)\n", filepath.Base(pair), operations, median(m.Base), best, low, high)
	text, err := json.Marshal(m)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(pair, "cpu.json"), append(text, '\n'), 0o644)
}

// change returns the change of CPU time per operation in per cent: that of the medians, and
// the second smallest and second largest of values measured in succession.
func (m cpu) change() (low, best, high float64) {
	var ratios []float64
	for i, b := range m.Base {
		ratios = append(ratios, 100*(m.Head[i]/b-1))
	}
	slices.Sort(ratios)
	at := 0
	if len(ratios) >= 6 {
		at = 1
	}
	return ratios[at], 100 * (median(m.Head)/median(m.Base) - 1), ratios[len(ratios)-1-at]
}

func median(values []float64) float64 {
	v := slices.Sorted(slices.Values(values))
	return (v[(len(v)-1)/2] + v[len(v)/2]) / 2
}
