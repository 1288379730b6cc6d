// Package jmh builds a program of Java benchmarks with the Java Microbenchmark Harness, for
// tests of `dendro bench` and `dendro import` with what the real one writes.
//
// It needs a JDK, and for the first build Maven (mvn) to download JMH and async-profiler.
package jmh

import (
	"context"
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/dendroprof/dendro/test/cache"
)

//go:embed testdata/Prices.java
var prices []byte

// Build writes benchmarks.jar to dir: the benchmark shop.Prices.sorted, which takes some
// hundred microseconds, with the parameter size of 100 and 1000.
func Build(ctx context.Context, dir string) error {
	lib, err := cache.Jars(ctx, "jmh-1.37", "org.openjdk.jmh:jmh-core:1.37", "org.openjdk.jmh:jmh-generator-annprocess:1.37")
	if err != nil {
		return err
	}
	jars, err := filepath.Glob(filepath.Join(lib, "*.jar"))
	if err != nil {
		return err
	}
	path, classes := strings.Join(jars, string(filepath.ListSeparator)), filepath.Join(dir, "classes")
	manifest := "Main-Class: org.openjdk.jmh.Main\nClass-Path: file:" + strings.Join(jars, " file:")
	for name, text := range map[string][]byte{"Prices.java": prices, "manifest": []byte(wrapped(manifest) + "\n")} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o644); err != nil {
			return err
		}
	}
	for _, args := range [][]string{{"javac", "-d", classes, "-cp", path, "-processorpath", path, "Prices.java"},
		{"jar", "cfm", "benchmarks.jar", "manifest", "-C", classes, "."}} {
		c := exec.CommandContext(ctx, args[0], args[1:]...)
		c.Dir = dir
		if out, err := c.CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w\n%s", args[0], err, out)
		}
	}
	return nil
}

// wrapped breaks the lines of a manifest after 70 bytes.
func wrapped(text string) string {
	var lines []string
	for line := range strings.SplitSeq(text, "\n") {
		for len(line) > 70 {
			lines, line = append(lines, line[:70]), " "+line[70:]
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

// AsyncProfiler copies the library of async-profiler to a file in dir and returns its name
// there; empty on systems for which Maven Central has none.
func AsyncProfiler(ctx context.Context, dir string) (string, error) {
	arch := map[string]string{"linux/amd64": "linux-x64", "linux/arm64": "linux-arm64", "darwin/amd64": "macos",
		"darwin/arm64": "macos"}[runtime.GOOS+"/"+runtime.GOARCH]
	if arch == "" {
		return "", nil
	}
	lib, err := cache.Jars(ctx, "async-profiler-4.1", "tools.profiler:async-profiler:4.1")
	if err != nil {
		return "", err
	}
	member := arch + "/libasyncProfiler.so"
	c := exec.CommandContext(ctx, "jar", "xf", filepath.Join(lib, "async-profiler-4.1.jar"), member)
	c.Dir = dir
	if out, err := c.CombinedOutput(); err != nil {
		return "", fmt.Errorf("jar: %w\n%s", err, out)
	}
	return filepath.FromSlash(member), nil
}
