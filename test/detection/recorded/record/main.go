// Command record records the runs of package recorded anew: `make detection-record`. It
// takes about six minutes of processor time; a machine with nothing else to do gives the
// least noise. After a change of testdata/head only, -head records its runs alone; -rename
// records the runs of testdata/rename instead, in about a minute.
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"

	"github.com/dendroprof/dendro/test/detection/recorded"
)

func main() {
	head := flag.Bool("head", false, "record the runs of the second commit only")
	rename := flag.Bool("rename", false, "record the runs of testdata/rename")
	flag.Parse()
	err := record(*head, *rename, filepath.Join("test", "detection", "recorded", "testdata"))
	if err != nil {
		fmt.Fprintln(os.Stderr, "record: "+err.Error())
		os.Exit(1)
	}
}

func record(head, rename bool, testdata string) (err error) {
	work, err := os.MkdirTemp("", "dendro-recorded-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(work)) }()
	s := &session{dendro: filepath.Join(work, "dendro"), repository: filepath.Join(work, "module"), work: work}
	if err := run("", os.Stdout, "go", "build", "-o", s.dendro, "./cmd/dendro"); err != nil {
		return err
	}
	if rename {
		return s.turns(testdata)
	}
	return s.sides(testdata, head)
}

// session records benchmarks of a repository.
type session struct{ dendro, repository, work string }

// iterations is how often each benchmark of Billing does its work: some 250 samples.
const iterations = "1000x"

// sides records the runs of Billing: those of one commit, then those of the other.
func (s *session) sides(testdata string, onlyHead bool) error {
	c, err := recorded.Billing.Repository(s.repository, testdata)
	if err != nil {
		return err
	}
	type side struct {
		commit string
		before int // runs of the other commit
		runs   int
	}
	sides := []side{{c.Base, 0, recorded.BaseRuns}, {c.Head, recorded.BaseRuns, recorded.HeadRuns}}
	if onlyHead {
		sides = sides[1:]
	}
	for _, side := range sides {
		if err := run(s.repository, os.Stdout, "git", "checkout", "--quiet", side.commit); err != nil {
			return err
		}
		kept := filepath.Join(s.work, side.commit)
		results, err := s.bench(kept, "--count", strconv.Itoa(side.runs), "--", "go", "test", "-trimpath", "-cpu", "1", "-benchtime", iterations,
			".")
		if err != nil {
			return err
		}
		for i := range side.runs {
			if results, err = keep(filepath.Join(kept, strconv.Itoa(i+1)), filepath.Join(testdata, "runs", fmt.Sprintf("%03d", side.before+i+1)),
				results); err != nil {
				return err
			}
		}
	}
	return nil
}

// turns records the runs of Jobs as a user's pull request: those of both commits in turns,
// so short that profiles have some 50 samples.
func (s *session) turns(testdata string) error {
	c, err := recorded.Jobs.Repository(s.repository, testdata)
	if err != nil {
		return err
	}
	kept := filepath.Join(s.work, "kept")
	results, err := s.bench(kept, "--base", c.Base, "--count", strconv.Itoa(recorded.TurnRuns), "--", "go", "test", "-trimpath", "-benchtime",
		"500ms", ".")
	if err != nil {
		return err
	}
	for i := range recorded.TurnRuns {
		for _, side := range []string{"base", "head"} {
			n := strconv.Itoa(i + 1)
			if results, err = keep(filepath.Join(kept, side, n), filepath.Join(testdata, "rename", "runs", side+"-"+n), results); err != nil {
				return err
			}
		}
	}
	return nil
}

// bench records with `dendro bench`, which keeps profiles in a folder, and returns what each
// benchmark printed, in the order of recording.
func (s *session) bench(kept string, args ...string) ([][]byte, error) {
	var out bytes.Buffer
	args = append([]string{"bench", "--store", kept + ".duckdb", "--run", "r", "--keep", kept}, args...)
	if err := run(s.repository, io.MultiWriter(&out, os.Stdout), s.dendro, args...); err != nil {
		return nil, err
	}
	var results [][]byte
	starts := beginning.FindAllIndex(out.Bytes(), -1)
	for i, at := range starts {
		end := out.Len()
		if i+1 < len(starts) {
			end = starts[i+1][0]
		}
		results = append(results, out.Bytes()[at[0]:end])
	}
	return results, nil
}

var (
	beginning = regexp.MustCompile(`(?m)^goos: `)
	named     = regexp.MustCompile(`(?m)^(Benchmark\w+)`)
)

// keep copies the profiles of a run, which are in folders 1, 2, …, and writes the first
// results, which are theirs. It returns the others.
func keep(from, to string, results [][]byte) (rest [][]byte, err error) {
	folders, err := os.ReadDir(from)
	if err != nil {
		return nil, err
	}
	if len(folders) > len(results) {
		return nil, fmt.Errorf("%s: %d benchmarks, %d results", from, len(folders), len(results))
	}
	if err := os.MkdirAll(to, 0o755); err != nil {
		return nil, err
	}
	for i, text := range results[:len(folders)] {
		name := named.Find(text)
		if name == nil {
			return nil, fmt.Errorf("no result of a benchmark: %s", text)
		}
		data, err := os.ReadFile(filepath.Join(from, strconv.Itoa(i+1), "cpu.pb.gz"))
		if err != nil {
			return nil, err
		}
		if err := os.WriteFile(filepath.Join(to, string(name)+".cpu.pb.gz"), data, 0o644); err != nil {
			return nil, err
		}
	}
	return results[len(folders):], os.WriteFile(filepath.Join(to, "bench.txt"), bytes.Join(results[:len(folders)], nil), 0o644)
}

func run(dir string, out io.Writer, name string, args ...string) error {
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, out, os.Stderr
	return cmd.Run()
}
