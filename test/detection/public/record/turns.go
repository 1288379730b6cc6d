package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/store/duckdb"
	"github.com/dendroprof/dendro/test/jmh"
	"github.com/dendroprof/dendro/testrun"
)

// command is caller/bench.json: how `dendro bench` builds and runs a program that is a
// benchmark as a whole.
type command struct {
	Build   string
	Command []string
}

// turns is a program in a repository of its own: main has caller and caller/base, bump has
// caller/head in place of the latter, and control is another commit with the files of main.
type turns struct {
	command
	work, repository string
}

// readTurns makes the repository of a caller that has bench.json.
func readTurns(ctx context.Context, caller, work string) (*turns, error) {
	t := &turns{work: work, repository: filepath.Join(work, "shop")}
	data, err := os.ReadFile(filepath.Join(caller, "bench.json"))
	if err == nil {
		err = json.Unmarshal(data, &t.command)
	}
	if err != nil {
		return nil, err
	}
	if err := os.CopyFS(t.repository, os.DirFS(caller)); err != nil {
		return nil, err
	}
	for _, of := range []string{"bench.json", "base", "head"} {
		if err := os.RemoveAll(filepath.Join(t.repository, of)); err != nil {
			return nil, err
		}
	}
	const ignored = ".venv\nnode_modules\nlib\nout\n"
	if err := os.WriteFile(filepath.Join(t.repository, ".gitignore"), []byte(ignored), 0o644); err != nil {
		return nil, err
	}
	for _, args := range [][]string{{"init", "-q", "-b", "main"}, {"config", "user.name", "Shop"},
		{"config", "user.email", "shop@example.com"}} {
		if err := t.git(ctx, args...); err != nil {
			return nil, err
		}
	}
	if err := t.commit(ctx, filepath.Join(caller, "base"), "the version before"); err != nil {
		return nil, err
	}
	return t, errors.Join(t.git(ctx, "checkout", "-q", "-b", "control"), t.git(ctx, "commit", "-q", "--allow-empty", "-m", "nothing"),
		t.git(ctx, "checkout", "-q", "-b", "bump", "main"), t.commit(ctx, filepath.Join(caller, "head"), "the version after"))
}

// commit copies files over those of the repository and commits all.
func (t *turns) commit(ctx context.Context, files, message string) error {
	list, err := os.ReadDir(files)
	if err != nil {
		return err
	}
	for _, of := range list {
		data, err := os.ReadFile(filepath.Join(files, of.Name()))
		if err == nil {
			err = os.WriteFile(filepath.Join(t.repository, of.Name()), data, 0o644)
		}
		if err != nil {
			return err
		}
	}
	return errors.Join(t.git(ctx, "add", "--all"), t.git(ctx, "commit", "-q", "-m", message))
}

func (t *turns) git(ctx context.Context, args ...string) error {
	return t.run(ctx, t.repository, "git", args...)
}

func (t *turns) run(ctx context.Context, dir, name string, args ...string) error {
	c := exec.CommandContext(ctx, name, args...)
	c.Dir = dir
	if out, err := c.CombinedOutput(); err != nil {
		return fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err, out)
	}
	return nil
}

// record records a pair by `dendro bench`: count runs of the base and of the head in turns, then
// as many of the base and of the control. It writes the profiles with a manifest.
func (t *turns) record(ctx context.Context, pair string, count int) error {
	dendro, address := filepath.Join(t.work, "dendro"), filepath.Join(t.work, "runs.duckdb")
	if err := t.run(ctx, "", "go", "build", "-o", dendro, "./cmd/dendro"); err != nil {
		return err
	}
	var options []string
	if t.Command[0] == "java" {
		library, err := jmh.AsyncProfiler(ctx, t.work)
		if err != nil {
			return err
		}
		options = []string{"--profiler", "async-profiler=" + filepath.Join(t.work, library)}
	}
	for _, head := range []string{"bump", "control"} {
		args := []string{"bench", "--store", address, "--keep-source", "--base", "main", "--head", head, "--count", strconv.Itoa(count),
			"--run", head, "--build", t.Build}
		args = append(append(append(args, options...), "--"), t.Command...)
		if err := t.run(ctx, t.repository, dendro, args...); err != nil {
			return err
		}
	}
	return export(ctx, address, pair)
}

// entry is one of a manifest.
type entry struct {
	File       string            `json:"file"`
	Run        string            `json:"run"`
	Group      string            `json:"group"`
	Benchmark  string            `json:"benchmark"`
	Date       time.Time         `json:"date"`
	Branch     string            `json:"branch"`
	Commit     string            `json:"commit"`
	Machine    string            `json:"machine"`
	Metrics    []testrun.Metric  `json:"metrics"`
	Attributes map[string]string `json:"attributes"`
}

// export writes the files of a store and their manifest into a folder: repo-1, head-1, … in
// the order of recording.
func export(ctx context.Context, address, folder string) (err error) {
	st, err := duckdb.Open(ctx, address, duckdb.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	list, err := st.Profiles(ctx, store.Query{})
	if err != nil {
		return err
	}
	var entries []entry
	counts, seen := map[string]int{}, map[string]bool{}
	for i := range list {
		p := &list[i]
		if seen[p.Run.Key] { // another type of the same file
			continue
		}
		seen[p.Run.Key] = true
		side := map[string]string{"bump": "head", "control": "ctl"}[p.Run.Branch]
		if side == "" {
			side = "repo"
		}
		counts[side]++
		e := entry{Run: fmt.Sprintf("%s-%d", side, counts[side]), Group: p.Benchmark.Group, Benchmark: p.Benchmark.Name, Date: p.Run.Date,
			Branch: p.Run.Branch, Commit: p.Run.Commit, Machine: "m", Metrics: slices.Clone(p.Metrics), Attributes: map[string]string{"side": side}}
		e.File = e.Run + "." + strings.SplitN(filepath.Base(p.File), ".", 2)[1]
		data, err := st.Source(ctx, p.ID)
		if err != nil {
			return err
		}
		if !strings.HasSuffix(e.File, ".gz") {
			e.File += ".gz"
			var packed bytes.Buffer
			w, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
			if err != nil {
				return err
			}
			if _, err := w.Write(data); err != nil {
				return err
			}
			if err := w.Close(); err != nil {
				return err
			}
			data = packed.Bytes()
		}
		if err := os.WriteFile(filepath.Join(folder, e.File), data, 0o644); err != nil {
			return err
		}
		entries = append(entries, e)
	}
	text, err := json.MarshalIndent(entries, "", "")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(folder, "manifest.json"), append(text, '\n'), 0o644)
}

// sides returns both versions as programs for the measurement of the truth.
func (t *turns) sides(ctx context.Context) (base, head program, err error) {
	var made [2]program
	for i, branch := range []string{"main", "bump"} {
		dir := filepath.Join(t.work, branch)
		if err := errors.Join(t.git(ctx, "worktree", "add", "-q", "--detach", dir, branch), t.run(ctx, dir, "sh", "-c", t.Build)); err != nil {
			return nil, nil, err
		}
		made[i] = &whole{dir, t.Command}
	}
	return made[0], made[1], nil
}

// whole is a program whose run is one operation.
type whole struct {
	dir     string
	command []string
}

func (w *whole) calibrate(context.Context) (int, error) { return 1, nil }

func (w *whole) measure(ctx context.Context, _ int) (float64, error) {
	c := exec.CommandContext(ctx, w.command[0], w.command[1:]...)
	c.Dir = w.dir
	if strings.Contains(w.command[0], "/") {
		c.Path = filepath.Join(w.dir, w.command[0])
	}
	if out, err := c.CombinedOutput(); err != nil {
		return 0, fmt.Errorf("%v: %w\n%s", w.command, err, out)
	}
	return float64(c.ProcessState.UserTime() + c.ProcessState.SystemTime()), nil
}
