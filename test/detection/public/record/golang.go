package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"time"
)

// goProgram is a test binary with one benchmark.
type goProgram struct {
	binary string
	setUp  time.Duration // CPU time of a run with one operation
}

var toolchain = regexp.MustCompile(`(?m)^toolchain (go\S+)`)

// buildGo builds a caller with go.mod (base) or head.mod (head). A line `toolchain` there
// names the release of Go itself.
func buildGo(ctx context.Context, caller, side, work string) (recorder, error) {
	dir := filepath.Join(work, side)
	if err := os.CopyFS(dir, os.DirFS(caller)); err != nil {
		return nil, err
	}
	if side == "head" {
		if err := os.Rename(filepath.Join(dir, "head.mod"), filepath.Join(dir, "go.mod")); err != nil {
			return nil, err
		}
	}
	mod, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	if err != nil {
		return nil, err
	}
	env := append(os.Environ(), "GOFLAGS=-mod=mod -trimpath", "GOWORK=off")
	if m := toolchain.FindSubmatch(mod); m != nil {
		env = append(env, "GOTOOLCHAIN="+string(m[1]))
	}
	for _, args := range [][]string{{"go", "mod", "tidy"}, {"go", "test", "-c", "-o", "caller.test"}} {
		c := exec.CommandContext(ctx, args[0], args[1:]...)
		c.Dir, c.Env = dir, env
		if out, err := c.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("%v: %w\n%s", args, err, out)
		}
	}
	p := &goProgram{binary: filepath.Join(dir, "caller.test")}
	for i := range 3 {
		t, _, err := p.run(ctx, 1)
		if err != nil {
			return nil, err
		}
		if i == 0 || t < p.setUp {
			p.setUp = t
		}
	}
	return p, nil
}

// run returns the CPU time of the process and what it printed.
func (p *goProgram) run(ctx context.Context, operations int, args ...string) (time.Duration, []byte, error) {
	args = append(args, "-test.run", "^$", "-test.bench", ".", "-test.cpu", "2", "-test.benchtime", strconv.Itoa(operations)+"x")
	c := exec.CommandContext(ctx, p.binary, args...)
	c.Dir = filepath.Dir(p.binary)
	c.Env = append(os.Environ(), "GOMAXPROCS=2")
	var out bytes.Buffer
	c.Stdout, c.Stderr = &out, &out
	if err := c.Run(); err != nil {
		return 0, nil, fmt.Errorf("%w\n%s", err, out.Bytes())
	}
	return c.ProcessState.UserTime() + c.ProcessState.SystemTime(), out.Bytes(), nil
}

func (p *goProgram) calibrate(ctx context.Context) (int, error) {
	const enough = 400 * time.Millisecond
	for n := 1; ; n *= 3 {
		t, _, err := p.run(ctx, n)
		if err != nil {
			return 0, err
		}
		if t -= p.setUp; t >= enough {
			return max(1, int(float64(n)*float64(1200*time.Millisecond)/float64(t))), nil
		}
	}
}

func (p *goProgram) measure(ctx context.Context, operations int) (float64, error) {
	t, _, err := p.run(ctx, operations)
	return float64(t-p.setUp) / float64(operations), err
}

var hardware = regexp.MustCompile(`(?m)^cpu: .*\n`)

func (p *goProgram) record(ctx context.Context, operations int, name string) error {
	profile, err := filepath.Abs(name + ".pb.gz")
	if err != nil {
		return err
	}
	_, text, err := p.run(ctx, operations, "-test.cpuprofile", profile)
	if err != nil {
		return err
	}
	return os.WriteFile(name+".txt", hardware.ReplaceAll(text, nil), 0o644)
}
