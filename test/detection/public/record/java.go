package main

import (
	"bytes"
	"compress/gzip"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/dendroprof/dendro/test/cache"
	"github.com/dendroprof/dendro/test/jmh"
)

//go:embed Main.java
var harness []byte

// warmUp is how many seconds of CPU time the operations before a measurement take.
const warmUp = 3

type javaProgram struct {
	class, path, profiler string
	warm                  int // operations of the warm-up
}

// buildJava builds a caller with the artifacts that caller/base.jars or caller/head.jars
// lists, one a line.
func buildJava(ctx context.Context, caller, side, work string) (recorder, error) {
	list, err := os.ReadFile(filepath.Join(caller, side+".jars"))
	if err != nil {
		return nil, err
	}
	artifacts := strings.Fields(string(list))
	lib, err := cache.Jars(ctx, "public-"+strings.NewReplacer(":", "-").Replace(strings.Join(artifacts, "+")), artifacts...)
	if err != nil {
		return nil, err
	}
	// The profiler's Java classes, which Main calls by reflection.
	api, err := cache.Jars(ctx, "async-profiler-4.1", "tools.profiler:async-profiler:4.1")
	if err != nil {
		return nil, err
	}
	library, err := jmh.AsyncProfiler(ctx, work)
	if err != nil {
		return nil, err
	}
	if library == "" {
		return nil, errors.New("async-profiler has no library for this system")
	}
	dir := filepath.Join(work, side)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	main := filepath.Join(work, "Main.java")
	if err := os.WriteFile(main, harness, 0o644); err != nil {
		return nil, err
	}
	sources, err := filepath.Glob(filepath.Join(caller, "*.java"))
	if err != nil {
		return nil, err
	}
	p := &javaProgram{
		class:    strings.TrimSuffix(filepath.Base(sources[0]), ".java"),
		path:     dir + ":" + filepath.Join(lib, "*") + ":" + filepath.Join(api, "*"),
		profiler: filepath.Join(work, library),
	}
	args := append([]string{"-d", dir, "-cp", p.path, "-nowarn", main}, sources...)
	if out, err := exec.CommandContext(ctx, "javac", args...).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("javac: %w\n%s", err, out)
	}
	return p, nil
}

func (p *javaProgram) run(ctx context.Context, operations int, args ...string) ([]byte, error) {
	args = append([]string{"-Xmx512m", "-XX:+UseSerialGC", "-XX:+UnlockDiagnosticVMOptions", "-XX:+DebugNonSafepoints", "-cp", p.path,
		"com.example.bench.Main", p.class, strconv.Itoa(p.warm), strconv.Itoa(operations)}, args...)
	c := exec.CommandContext(ctx, "java", args...)
	var out, talk bytes.Buffer
	c.Stdout, c.Stderr = &out, &talk
	if err := c.Run(); err != nil {
		return nil, fmt.Errorf("java: %w\n%s", err, talk.Bytes())
	}
	return out.Bytes(), nil
}

func (p *javaProgram) calibrate(ctx context.Context) (int, error) {
	out, err := p.run(ctx, 0)
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(strings.TrimSpace(string(out)))
}

var perOperation = regexp.MustCompile(`([0-9.]+) cpu-ns/op`)

func (p *javaProgram) measure(ctx context.Context, operations int) (float64, error) {
	p.warm = warmUp * operations
	out, err := p.run(ctx, operations)
	if err != nil {
		return 0, err
	}
	m := perOperation.FindSubmatch(out)
	if m == nil {
		return 0, fmt.Errorf("no cpu-ns/op in %q", out)
	}
	return strconv.ParseFloat(string(m[1]), 64)
}

func (p *javaProgram) record(ctx context.Context, operations int, name string) error {
	p.warm = warmUp * operations
	plain := name + ".folded"
	text, err := p.run(ctx, operations, plain, p.profiler)
	if err != nil {
		return err
	}
	stacks, err := os.ReadFile(plain)
	if err != nil {
		return err
	}
	var packed bytes.Buffer
	w, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err != nil {
		return err
	}
	if _, err := w.Write(stacks); err != nil {
		return err
	}
	if err := w.Close(); err != nil {
		return err
	}
	if err := os.WriteFile(plain+".gz", packed.Bytes(), 0o644); err != nil {
		return err
	}
	return errors.Join(os.Remove(plain), os.WriteFile(name+".txt", text, 0o644))
}
