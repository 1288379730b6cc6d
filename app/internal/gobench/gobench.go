// Package gobench runs the benchmarks of Go packages one by one, so that each has
// profiles of its own: one `go test -bench . -cpuprofile` mixes all benchmarks of a package
// in one profile, and refuses several packages.
//
//	go test -benchtime 2s ./...  ──Parse──▶ Command ──List──▶ Benchmarks ──Run──▶ files
//
// The package starts processes and writes files. It reads no profiles and no results of
// benchmarks.
package gobench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/dendroprof/dendro/internal/secret"
)

// Command is a `go test` command line, taken apart.
type Command struct {
	Dir      string   // working directory; empty: the current one
	Pattern  string   // of -bench; default "."
	flags    []string // the others
	packages []string
}

// Benchmark is a top-level benchmark of a package. Its sub-benchmarks share a profile.
type Benchmark struct {
	Package string // import path
	Name    string // BenchmarkSort
}

// boolean are the flags of go test, and of go build, that take no value of their own.
var boolean = map[string]bool{"a": true, "asan": true, "benchmem": true, "c": true, "cover": true, "failfast": true, "fullpath": true, "json": true,
	"linkshared": true, "modcacherw": true, "msan": true, "n": true, "race": true, "short": true, "trimpath": true, "v": true, "work": true, "x": true}

// own are the flags that Run sets, or whose output it could not use.
var own = map[string]string{"run": "only benchmarks run", "cpuprofile": "each benchmark gets one", "memprofile": "use --memory", "count": "use --count of dendro bench",
	"o": "test programs are temporary", "json": "results are read as text", "c": "benchmarks are run", "n": "benchmarks are run", "list": "benchmarks are run"}

// Parse takes a command line apart: "go", "test", flags and packages. It returns an error
// if the command is another one, or has a flag that Run sets itself.
func Parse(args []string) (*Command, error) {
	if len(args) < 2 || filepath.Base(args[0]) != "go" || args[1] != "test" {
		return nil, fmt.Errorf("%q is not a go test command", strings.Join(args, " "))
	}
	c := &Command{Pattern: "."}
	for rest := args[2:]; len(rest) > 0; rest = rest[1:] {
		arg := rest[0]
		if !strings.HasPrefix(arg, "-") {
			c.packages = append(c.packages, arg)
			continue
		}
		name, value, has := strings.Cut(strings.TrimPrefix(strings.TrimLeft(arg, "-"), "test."), "=")
		if why, ok := own[name]; ok && !(name == "run" && len(rest) > 1) {
			return nil, fmt.Errorf("go test %s: %s", arg, why)
		}
		if !has && !boolean[name] {
			if len(rest) < 2 {
				return nil, fmt.Errorf("go test %s: the value is missing", arg)
			}
			rest = rest[1:]
			value = rest[0]
			arg += "=" + value
		}
		switch name {
		case "bench":
			c.Pattern = value
		case "run": // people write -run '^$' to run no tests, which Run does
		default:
			c.flags = append(c.flags, arg)
		}
	}
	if len(c.packages) == 0 {
		c.packages = []string{"."}
	}
	return c, nil
}

// function is the name of a benchmark. What a test program prints may look like a list of
// them: a name becomes part of a path.
var function = regexp.MustCompile(`^Benchmark[\pL\pN_]*$`)

// List returns the benchmarks that match the pattern, in the order of go test. Packages
// without tests have none.
func (c *Command) List(ctx context.Context) ([]Benchmark, error) {
	top, _, _ := strings.Cut(c.Pattern, "/")
	pattern, err := regexp.Compile(top)
	if err != nil {
		return nil, fmt.Errorf("-bench: %w", err)
	}
	var out bytes.Buffer
	args := append([]string{"test", "-run=^$", "-list=^Benchmark"}, c.flags...)
	if err := c.start(ctx, &out, append(args, c.packages...)); err != nil {
		return nil, err
	}
	var list []Benchmark
	var names []string // of the package whose line comes next
	for line := range strings.Lines(out.String()) {
		fields := strings.Fields(line)
		switch {
		case len(fields) == 1 && function.MatchString(fields[0]) && pattern.MatchString(fields[0]):
			names = append(names, fields[0])
		case len(fields) >= 2 && fields[0] == "ok" && !strings.HasPrefix(fields[1], "-"):
			for _, name := range names {
				list = append(list, Benchmark{Package: fields[1], Name: name})
			}
			names = nil
		}
	}
	return list, nil
}

// Profiles says which profiles Run records.
type Profiles struct {
	Memory bool // allocations too
}

// Run runs a benchmark and writes its profiles to dir, and its results to out. It returns
// the names of the profiles. What go test writes to stderr is in the error.
func (c *Command) Run(ctx context.Context, b Benchmark, p Profiles, dir string, out io.Writer) (files []string, err error) {
	dir, err = filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	pattern := "^" + b.Name + "$"
	if _, below, ok := strings.Cut(c.Pattern, "/"); ok {
		pattern += "/" + below
	}
	files = []string{filepath.Join(dir, b.Name+".cpu.pb.gz")}
	args := []string{"test", "-run=^$", "-bench=" + pattern, "-cpuprofile=" + files[0], "-o=" + filepath.Join(dir, "program")}
	if p.Memory {
		files = append(files, filepath.Join(dir, b.Name+".mem.pb.gz"))
		args = append(args, "-benchmem", "-memprofile="+files[1])
	}
	args = append(append(args, c.flags...), b.Package)
	err = c.start(ctx, out, args)
	if gone := os.Remove(filepath.Join(dir, "program")); err == nil && gone != nil && !errors.Is(gone, os.ErrNotExist) {
		err = gone
	}
	if err == nil {
		for _, name := range files {
			if _, missing := os.Stat(name); missing != nil {
				return nil, fmt.Errorf("%s of %s wrote no profile", b.Name, b.Package)
			}
		}
	}
	return files, err
}

// start runs go.
func (c *Command) start(ctx context.Context, out io.Writer, args []string) error {
	var text bytes.Buffer
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Env = secret.Without(os.Environ())
	cmd.Dir, cmd.Stdout, cmd.Stderr = c.Dir, io.MultiWriter(out, &tail{&text}), &tail{&text}
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return fmt.Errorf("go test: %w\n%s", err, strings.TrimSpace(text.String()))
	}
	return nil
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
