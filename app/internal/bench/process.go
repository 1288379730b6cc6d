package bench

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/dendroprof/dendro/internal/secret"
)

// process is a command to run.
type process struct {
	dir  string // default: the session's
	env  []string
	args []string
	out  io.Writer // gets its stdout
	// followed: it is the program to measure, or with starts a profiler that starts it, and whose own work counts for
	// nothing. It samples by the clock: on a busy machine it may take more CPU time than the program.
	followed, starts bool
}

// usage is what a process took. CPU is user and system time, with the processes it waited for. Waited is for how
// long a followed one waited for a processor, about.
type usage struct{ wall, cpu, waited time.Duration }

// starved says that a run waited for more than half of its time; empty if not.
func (u *usage) starved() string {
	if 2*u.waited < u.wall {
		return ""
	}
	return fmt.Sprintf("note: this run waited %d%% of its time for a processor: its CPU time may be larger than on a quiet machine\n",
		100*u.waited/u.wall)
}

// run runs a process with the variables of the session, without the secrets of the store.
// When the context ends, it and all that it has started end. What it wrote last is in the
// error.
func (s *Session) run(ctx context.Context, p process) (usage, error) {
	p.dir = cmp.Or(p.dir, s.dir)
	return run(ctx, p, s.env)
}

func run(ctx context.Context, p process, env []string) (usage, error) {
	var text bytes.Buffer
	program, err := lookPath(p.args[0], p.dir, env)
	if err != nil {
		return usage{}, err
	}
	cmd := exec.CommandContext(ctx, program, p.args[1:]...)
	cmd.Args[0] = p.args[0]
	cmd.Dir, cmd.Env = p.dir, append(append(secret.Without(os.Environ()), env...), p.env...)
	cmd.Stdout, cmd.Stderr = io.MultiWriter(p.out, &tail{&text}), &tail{&text}
	kill := endTogether(cmd)
	began := time.Now()
	var split cpuSplit
	var waited time.Duration
	if err = cmd.Start(); err == nil {
		if p.followed {
			split, waited = follow(ctx, cmd.Process.Pid, p.starts)
		}
		err = cmd.Wait()
	}
	if ctx.Err() != nil {
		if cmd.Process != nil {
			kill()
		}
		return usage{}, context.Cause(ctx)
	}
	if err != nil {
		return usage{}, fmt.Errorf("%s: %w\n%s", strings.Join(p.args, " "), err, strings.TrimSpace(text.String()))
	}
	u := usage{time.Since(began), cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), waited}
	if p.starts {
		u.cpu = split.ofChildren(u.cpu)
	}
	return u, nil
}

// patience is how long processes have to end before they are killed.
const patience = time.Second

// lookPath finds a program like a shell in dir with these variables.
func lookPath(name, dir string, env []string) (string, error) {
	if strings.ContainsRune(name, filepath.Separator) {
		path := name
		if !filepath.IsAbs(path) {
			path = filepath.Join(dir, name)
		}
		if _, err := os.Stat(path); err != nil {
			return "", notBuilt(name, "make", err)
		}
		return filepath.Abs(path)
	}
	for i := len(env) - 1; i >= 0; i-- {
		if list, ok := strings.CutPrefix(env[i], "PATH="); ok {
			for _, folder := range filepath.SplitList(list) {
				if path, err := exec.LookPath(filepath.Join(folder, name)); err == nil {
					return path, nil
				}
			}
			break
		}
	}
	return exec.LookPath(name)
}

// notBuilt is the error that a command runs a file that is not there, which with, for example, builds.
func notBuilt(name, with string, err error) error {
	return fmt.Errorf("%s: %w: build it first; with --base, give the command that builds each commit, for example --build '%s'", name, errors.Unwrap(err), with)
}

// tail keeps the last few kilobytes that are written.
type tail struct{ kept *bytes.Buffer }

func (t *tail) Write(p []byte) (int, error) {
	const most = 4 << 10
	t.kept.Write(p)
	if extra := t.kept.Len() - most; extra > 0 {
		t.kept.Next(extra)
	}
	return len(p), nil
}
