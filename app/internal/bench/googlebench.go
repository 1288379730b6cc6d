package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/dendroprof/dendro/testrun"
)

// googleBenchmark runs programs with Google Benchmark, known by flags --benchmark_…, each
// benchmark in a process of its own. From version 1.8 on the number of iterations can be
// fixed (min_time=Nx); before, the rounds that look for it are in the profile, and the
// number of operations is estimated from the time per iteration.
var googleBenchmark = runner{
	name: "Google Benchmark",
	detect: func(args []string) bool {
		return slices.ContainsFunc(args[1:], func(arg string) bool { return strings.HasPrefix(arg, "--benchmark_") })
	},
	profilers: []string{"perf"},
	prepare:   prepareGoogle,
	record:    recordGoogle,
}

type googleResults struct {
	Benchmarks []struct {
		Name       string
		Type       string  `json:"run_type"`
		Iterations float64 `json:"iterations"`
		Real       float64 `json:"real_time"`
		CPU        float64 `json:"cpu_time"`
		Unit       string  `json:"time_unit"`
		Error      string  `json:"error_message"`
	}
}

var googleUnits = map[string]float64{"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9}

// google runs the program with more flags and returns its results.
func (s *Session) google(dir string, run func(args []string) error, flags ...string) (*googleResults, error) {
	file := filepath.Join(dir, "results.json")
	if err := run(slices.Concat(s.args, flags, []string{"--benchmark_out=" + file, "--benchmark_out_format=json"})); err != nil {
		return nil, err
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	doc := &googleResults{}
	if err := json.Unmarshal(data, doc); err != nil {
		return nil, fmt.Errorf("the results of Google Benchmark: %w", err)
	}
	for _, b := range doc.Benchmarks {
		if b.Error != "" {
			return nil, fmt.Errorf("%s: %s", b.Name, b.Error)
		}
	}
	return doc, nil
}

func prepareGoogle(ctx context.Context, s *Session) ([]Benchmark, error) {
	var names bytes.Buffer
	if _, err := s.run(ctx, process{args: append(slices.Clone(s.args), "--benchmark_list_tests=true"), out: &names}); err != nil {
		return nil, err
	}
	var list []Benchmark
	for name := range strings.Lines(names.String()) {
		if name = strings.TrimSpace(name); name != "" {
			list = append(list, Benchmark{Group: base(s.args), Name: name, args: []string{"--benchmark_filter=^" + regexp.QuoteMeta(name) + "$"}})
		}
	}
	if len(list) == 0 {
		return nil, errors.New("the program lists no benchmarks")
	}
	plain := func(args []string) error {
		_, err := s.run(ctx, process{args: args, out: io.Discard})
		return err
	}
	_, err := s.google(s.scratch, plain, list[0].args[0], "--benchmark_min_time=1x")
	if err != nil {
		s.Notes = append(s.Notes, "Google Benchmark before 1.8 cannot fix the number of iterations: profiles contain the rounds that look for it, and operations are estimated")
		return list, nil
	}
	fmt.Fprintln(s.Talk, "finding numbers of iterations …")
	found, err := s.google(s.scratch, plain)
	if err != nil {
		return nil, err
	}
	for _, r := range found.Benchmarks {
		for i := range list {
			if b := &list[i]; b.Name == r.Name && b.Operations == 0 && r.Type == "iteration" {
				b.Operations = round(r.Iterations)
			}
		}
	}
	return list, nil
}

func recordGoogle(ctx context.Context, s *Session, b *Benchmark, dir string) (r Recorded, err error) {
	flags := slices.Clone(b.args)
	if b.Operations > 0 {
		flags = append(flags, fmt.Sprintf("--benchmark_min_time=%dx", b.Operations))
	}
	var file string
	var sampled time.Duration
	results, err := s.google(dir, func(args []string) (err error) {
		file, sampled, _, err = s.profiled(ctx, process{args: args, out: s.Results}, dir, nil)
		return err
	}, flags...)
	if err != nil {
		return r, err
	}
	r.Files = []string{file}
	rounds, real, cpu, n := 0.0, 0.0, 0.0, 0.0
	for _, x := range results.Benchmarks {
		if unit := googleUnits[x.Unit]; x.Type == "iteration" && unit > 0 {
			rounds, real, cpu, n = rounds+x.Iterations, real+x.Real*unit, cpu+x.CPU*unit, n+1
		}
	}
	if n == 0 {
		return r, fmt.Errorf("%s has no result", b.Name)
	}
	if estimated := b.Operations == 0; estimated && cpu > 0 {
		rounds = float64(sampled/time.Nanosecond) / (cpu / n)
	}
	r.Label = b.label(rounds, b.Operations == 0, timePerOp(real/n, int(n)),
		testrun.Metric{Name: testrun.CPUTimeMetric, Mean: cpu / n, Unit: "ns/op", N: int(n), Better: testrun.Lower})
	return r, nil
}
