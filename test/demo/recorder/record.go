package main

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// recorder runs a workload and keeps the fastest of some tries.
type recorder struct {
	workload string
	out      string
	tries    int
	seconds  float64
}

// try is one profile of a benchmark.
type try struct {
	file       string
	operations int
	nsPerOp    float64
}

// recordAll records the runs of all variants and writes the manifest.
func (r *recorder) recordAll(sources fs.FS, variants []variant) error {
	var entries []entry
	number := 0
	for _, v := range variants {
		commit, err := contentID(sources, v.name)
		if err != nil {
			return err
		}
		for range v.runs {
			number++
			run := fmt.Sprintf("run-%03d", number)
			fmt.Fprintln(os.Stderr, run, v.name)
			recorded, err := r.recordRun(run, commit, v)
			if err != nil {
				return fmt.Errorf("%s: %w", run, err)
			}
			entries = append(entries, recorded...)
		}
	}
	return writeManifest(filepath.Join(r.out, "manifest.json"), entries)
}

// recordRun records one profile of every benchmark.
func (r *recorder) recordRun(run, commit string, v variant) ([]entry, error) {
	dir := filepath.Join(r.out, run)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	date := time.Now().UTC().Truncate(time.Second)
	kept, err := r.tryAll(dir, v.args)
	if err != nil {
		return nil, err
	}
	var entries []entry
	for _, b := range benchmarks {
		name := b + ".pb.gz"
		if err := os.Rename(kept[b].file, filepath.Join(dir, name)); err != nil {
			return nil, err
		}
		fmt.Fprintf(os.Stderr, "  %-8s %10.0f ns/op\n", b, kept[b].nsPerOp)
		entries = append(entries, entry{
			File:       run + "/" + name,
			Run:        run,
			Group:      "shop",
			Benchmark:  b,
			Date:       date,
			Commit:     commit,
			Branch:     "main",
			Machine:    "demo",
			Operations: kept[b].operations,
			Metric:     metric{Name: "time/op", Mean: kept[b].nsPerOp, Unit: "ns/op", Better: "lower"},
			Attributes: map[string]string{"variant": v.name},
		})
	}
	return entries, nil
}

// tryAll returns the fastest try of every benchmark and removes the others.
func (r *recorder) tryAll(dir string, args []string) (map[string]try, error) {
	kept := make(map[string]try)
	for n := range r.tries {
		for _, b := range benchmarks {
			t, err := r.measure(b, filepath.Join(dir, fmt.Sprintf("%s.try%d", b, n)), args)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", b, err)
			}
			worse := t
			if best, ok := kept[b]; !ok || t.nsPerOp < best.nsPerOp {
				kept[b], worse = t, best
			}
			if worse.file == "" {
				continue
			}
			if err := os.Remove(worse.file); err != nil {
				return nil, err
			}
		}
	}
	return kept, nil
}

// measure runs the workload in a process of its own, with one processor and
// nothing else in its environment.
func (r *recorder) measure(benchmark, file string, args []string) (try, error) {
	length := strconv.FormatFloat(r.seconds, 'g', -1, 64)
	cmd := exec.Command(r.workload, append([]string{"-bench", benchmark, "-seconds", length, "-profile", file}, args...)...)
	cmd.Env = []string{"GOMAXPROCS=1"}
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return try{}, err
	}
	// Benchmark text: the name, how often it ran, and pairs of value and unit.
	fields := strings.Fields(string(out))
	if len(fields) != 4 || fields[3] != "ns/op" {
		return try{}, fmt.Errorf("unexpected output %q", out)
	}
	operations, err := strconv.Atoi(fields[1])
	if err != nil {
		return try{}, fmt.Errorf("unexpected output %q", out)
	}
	nsPerOp, err := strconv.ParseFloat(fields[2], 64)
	return try{file: file, operations: operations, nsPerOp: nsPerOp}, err
}

// contentID returns 40 hex digits that stand for the sources in the variant, as
// a commit does.
func contentID(sources fs.FS, variant string) (string, error) {
	sum := sha256.New()
	err := fs.WalkDir(sources, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := fs.ReadFile(sources, path)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(sum, "%s %d\n%s", path, len(data), data)
		return err
	})
	if err != nil {
		return "", err
	}
	if _, err := fmt.Fprintf(sum, "variant %s\n", variant); err != nil {
		return "", err
	}
	return hex.EncodeToString(sum.Sum(nil)[:20]), nil
}
