package bench

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// criterion runs benchmarks of Rust with criterion, each in a process of its own. Its files
// have the number of iterations; the warm-up and the analysis are left out of the profile
// by the functions that are in their stacks.
var criterion = runner{
	name:      "criterion",
	detect:    func(args []string) bool { return base(args) == "cargo" && slices.Contains(args, "bench") },
	profilers: []string{"perf"},
	prepare:   prepareCriterion,
	record:    recordCriterion,
}

// cargoValues are the options of cargo bench with a value.
var cargoValues = words("--bench -p --package --exclude -F --features --profile --target --target-dir --manifest-path --config -Z -j --jobs --color --test --example --bin -C")

// cargoArgs splits what is behind `cargo bench`: options of cargo, and arguments of the
// benchmarks, also the name before --.
func cargoArgs(args []string) (cargo, own []string) {
	for i := 0; i < len(args); i++ {
		switch {
		case args[i] == "--":
			return cargo, append(own, args[i+1:]...)
		case slices.Contains(cargoValues, args[i]) && i+1 < len(args):
			cargo = append(cargo, args[i], args[i+1])
			i++
		case strings.HasPrefix(args[i], "-"):
			cargo = append(cargo, args[i])
		default:
			own = append(own, args[i])
		}
	}
	return cargo, own
}

// cargoMessage is a line of cargo's about what it has built.
type cargoMessage struct {
	Executable   string
	ManifestPath string `json:"manifest_path"`
	Target       struct {
		Name string
		Kind []string
	}
}

func prepareCriterion(ctx context.Context, s *Session) (found []Benchmark, err error) {
	at := slices.Index(s.args, "bench") + 1
	cargo, own := cargoArgs(s.args[at:])
	fmt.Fprintln(s.Talk, "building …")
	var out bytes.Buffer
	if _, err := s.run(ctx, process{args: slices.Concat(s.args[:at], cargo, []string{"--no-run", "--message-format=json"}),
		out: &out}); err != nil {
		return nil, err
	}
	for line := range bytes.Lines(out.Bytes()) {
		var m cargoMessage
		if json.Unmarshal(line, &m) != nil || m.Executable == "" || !slices.Contains(m.Target.Kind, "bench") {
			continue
		}
		dir := filepath.Dir(m.ManifestPath)
		var names bytes.Buffer
		if _, err := s.run(ctx, process{dir: dir, args: slices.Concat([]string{m.Executable, "--bench", "--list"}, own),
			out: &names}); err != nil {
			return nil, err
		}
		for lines := bufio.NewScanner(&names); lines.Scan(); {
			if name, ok := strings.CutSuffix(lines.Text(), ": benchmark"); ok {
				found = append(found, Benchmark{Group: m.Target.Name, Name: name, dir: dir,
					args: slices.Concat([]string{m.Executable, "--bench", "--noplot", "--exact", name}, options(own))})
			}
		}
	}
	if len(found) == 0 {
		return nil, errors.New("cargo bench has no benchmark of criterion (with harness = false)")
	}
	return found, nil
}

// options returns arguments without the first one that is no option, the filter.
func options(args []string) []string {
	for i, arg := range args {
		if !strings.HasPrefix(arg, "-") && (i == 0 || !strings.HasPrefix(args[i-1], "--")) {
			return slices.Delete(slices.Clone(args), i, i+1)
		}
	}
	return args
}

func recordCriterion(ctx context.Context, s *Session, b *Benchmark, dir string) (r Recorded, err error) {
	home := filepath.Join(dir, "criterion")
	p := process{dir: b.dir, args: b.args, env: []string{"CRITERION_HOME=" + home}, out: s.Results}
	file, _, _, err := s.profiled(ctx, p, dir, func(stack string) bool {
		return strings.Contains(stack, "criterion::routine::") && !strings.Contains(stack, "::warm_up")
	})
	if err != nil {
		return r, err
	}
	r.Files = []string{file}
	var sample struct{ Iters, Times []float64 }
	var estimates map[string]*struct {
		Point float64 `json:"point_estimate"`
	}
	if err := readNew(home, map[string]any{"sample.json": &sample, "estimates.json": &estimates}); err != nil {
		return r, err
	}
	time := estimates["slope"] // what criterion prints; none with flat sampling
	if time == nil {
		time = estimates["mean"]
	}
	n := 0.0
	for _, i := range sample.Iters {
		n += i
	}
	if time == nil || n == 0 {
		return r, fmt.Errorf("%s has no result", b.Name)
	}
	r.Label = b.label(n, false, timePerOp(time.Point, len(sample.Iters)))
	return r, nil
}

// readNew reads the files of the one benchmark that criterion has measured.
func readNew(home string, into map[string]any) error {
	read := 0
	err := filepath.WalkDir(home, func(path string, d fs.DirEntry, err error) error {
		if err != nil || filepath.Base(filepath.Dir(path)) != "new" || into[d.Name()] == nil {
			return err
		}
		data, err := os.ReadFile(path)
		if err == nil {
			err = json.Unmarshal(data, into[d.Name()])
		}
		read++
		return err
	})
	if err == nil && read < len(into) {
		err = errors.New("criterion wrote no results (sample.json, estimates.json)")
	}
	return err
}
