package bench

import (
	"bufio"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/dendroprof/dendro/testrun"
)

// pytest runs the tests that use pytest-benchmark, each in a process of its own. Its result
// has the number of rounds, and only their samples are kept: those below the function that
// runs rounds, without the calibration of the timer.
var pytest = runner{
	name:      "pytest",
	detect:    func(args []string) bool { return len(pytestCommand(args)) > 0 },
	profilers: []string{"py-spy"},
	prepare:   preparePytest,
	record:    recordPytest,
}

// pytestCommand returns the part of a command line that starts pytest; none if it does not.
func pytestCommand(args []string) []string {
	switch {
	case base(args) == "pytest" || base(args) == "py.test":
		return args[:1]
	case isPython(args) && len(args) > 2 && args[1] == "-m" && (args[2] == "pytest" || args[2] == "py.test"):
		return args[:3]
	}
	return nil
}

// onePlugin is a plugin of pytest that lists benchmarks, or keeps one: its names are those
// of the results, and an argument of pytest could not take the place of the user's own.
//
//go:embed pytest_plugin.py
var onePlugin []byte

const onePluginName = "dendro_one_benchmark"

// cpuTimer is the argument with which pytest-benchmark measures CPU time: on a busy machine other
// programs take most of the wall time, and so of the number of rounds that it finds.
const cpuTimer = "--benchmark-timer=time.process_time"

// pytestRounds finds the frame, as text, of the function of pytest-benchmark that runs rounds.
var pytestRounds = regexp.MustCompile(`runner \([^;]*pytest_benchmark[^;]*\);`)

// pytestWith returns the command with more arguments and the plugin. In an environment of its own
// (Place.Env), pytest is the one that this environment's Python has.
func (s *Session) pytestWith(more ...string) process {
	start := pytestCommand(s.args)
	rest := s.args[len(start):]
	if len(start) == 1 && slices.ContainsFunc(s.env, func(v string) bool { return strings.HasPrefix(v, "VIRTUAL_ENV=") }) {
		start = []string{"python", "-m", "pytest"}
	}
	paths := s.scratch
	if have := os.Getenv("PYTHONPATH"); have != "" {
		paths += string(filepath.ListSeparator) + have
	}
	return process{args: slices.Concat(start, []string{"-p", onePluginName}, rest, more), env: []string{"PYTHONPATH=" + paths}}
}

func preparePytest(ctx context.Context, s *Session) ([]Benchmark, error) {
	if err := os.WriteFile(filepath.Join(s.scratch, onePluginName+".py"), onePlugin, 0o600); err != nil {
		return nil, err
	}
	names := filepath.Join(s.scratch, "names")
	p := s.pytestWith("--collect-only", "-q")
	p.env, p.out = append(p.env, "DENDRO_LIST="+names), io.Discard
	if _, err := s.run(ctx, p); err != nil {
		return nil, err
	}
	f, err := os.Open(names)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var list []Benchmark
	for lines := bufio.NewScanner(f); lines.Scan(); {
		id := lines.Text()
		file, name, _ := strings.Cut(id, "::")
		list = append(list, Benchmark{Group: strings.TrimSuffix(file, path.Ext(file)), Name: strings.ReplaceAll(name, "::", "."),
			args: []string{id}})
	}
	if len(list) == 0 {
		return nil, errors.New("no test uses the fixture \"benchmark\" of pytest-benchmark (pip install pytest-benchmark)")
	}
	return list, nil
}

func recordPytest(ctx context.Context, s *Session, b *Benchmark, dir string) (r Recorded, err error) {
	results := filepath.Join(dir, "results.json")
	p := s.pytestWith("--benchmark-json=" + results)
	p.env = append(p.env, "PYTEST_ADDOPTS="+strings.TrimSpace(os.Getenv("PYTEST_ADDOPTS")+" "+cpuTimer), // the user's arguments decide
		"DENDRO_NODE="+b.args[0])
	p.out = s.Results
	file, _, _, err := s.profiled(ctx, p, dir, func(stack string) bool {
		return pytestRounds.MatchString(stack) && !strings.Contains(stack, "_calibrate_timer") ||
			strings.Contains(stack, "_bootstrap (") // another thread
	})
	if err != nil {
		return r, err
	}
	r.Files = []string{file}
	data, err := os.ReadFile(results)
	if err != nil {
		return r, err
	}
	var doc struct {
		Benchmarks []struct {
			Fullname string
			Options  struct {
				Warmup any // false, or the number of rounds
				Timer  string
			}
			Stats struct {
				Median, Mean       float64
				Rounds, Iterations int
			}
		}
	}
	if err := json.Unmarshal(data, &doc); err != nil {
		return r, fmt.Errorf("the results of pytest-benchmark: %w", err)
	}
	for _, x := range doc.Benchmarks {
		if x.Fullname == b.args[0] && x.Stats.Rounds > 0 {
			warm, _ := x.Options.Warmup.(float64)
			n := float64(x.Stats.Rounds*max(1, x.Stats.Iterations)) + warm
			m := timePerOp(x.Stats.Median*1e9, x.Stats.Rounds)
			if strings.HasSuffix(cpuTimer, x.Options.Timer) {
				m.Name, m.Mean = testrun.CPUTimeMetric, x.Stats.Mean*1e9 // of all rounds, which the profile has
			}
			r.Label = b.label(n, warm > 0, m)
			return r, nil
		}
	}
	return r, fmt.Errorf("%s has no result: is it skipped?", b.args[0])
}
