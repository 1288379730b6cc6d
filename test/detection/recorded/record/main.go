// Command record records the runs of package recorded anew: `make detection-record`. It
// takes about six minutes of processor time; a machine with nothing else to do gives the
// least noise. After a change of testdata/head only, -head records its runs alone.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"

	"github.com/dendroprof/dendro/test/detection/recorded"
)

// iterations is how often each benchmark does its work: some 250 samples.
const iterations = "1000x"

func main() {
	head := flag.Bool("head", false, "record the runs of the second commit only")
	flag.Parse()
	if err := record(*head, filepath.Join("test", "detection", "recorded", "testdata")); err != nil {
		fmt.Fprintln(os.Stderr, "record: "+err.Error())
		os.Exit(1)
	}
}

func record(head bool, testdata string) (err error) {
	work, err := os.MkdirTemp("", "dendro-recorded-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(work)) }()
	dendro, repository := filepath.Join(work, "dendro"), filepath.Join(work, "billing")
	if err := run("", "go", "build", "-o", dendro, "./cmd/dendro"); err != nil {
		return err
	}
	c, err := recorded.Repository(repository, testdata)
	if err != nil {
		return err
	}
	type side struct {
		commit string
		before int // runs of the other commit
		runs   int
	}
	sides := []side{{c.Base, 0, recorded.BaseRuns}, {c.Head, recorded.BaseRuns, recorded.HeadRuns}}
	if head {
		sides = sides[1:]
	}
	for _, side := range sides {
		if err := run(repository, "git", "checkout", "--quiet", side.commit); err != nil {
			return err
		}
		kept := filepath.Join(work, side.commit)
		if err := run(repository, dendro, "bench", "--store", kept+".duckdb", "--count", strconv.Itoa(side.runs), "--run", "r", "--keep", kept,
			"--", "go", "test", "-trimpath", "-cpu", "1", "-benchtime", iterations, "."); err != nil {
			return err
		}
		for i := range side.runs {
			if err := keep(filepath.Join(kept, strconv.Itoa(i+1), "0"), filepath.Join(testdata, "runs", fmt.Sprintf("%03d", side.before+i+1))); err != nil {
				return err
			}
		}
	}
	return nil
}

// keep copies the profiles and the results of a run.
func keep(from, to string) error {
	if err := os.MkdirAll(to, 0o755); err != nil {
		return err
	}
	return filepath.WalkDir(from, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(to, entry.Name()), data, 0o644)
	})
}

func run(dir, name string, args ...string) error {
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, os.Stdout, os.Stderr
	return cmd.Run()
}
