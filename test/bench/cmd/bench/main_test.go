package main

import (
	"errors"
	"io"
	"strings"
	"testing"
	"time"
)

// The whole command on a suite of seconds, all engines.
func TestTinyRun(t *testing.T) {
	var out strings.Builder
	err := run([]string{"-scale", "0.02", "-groups", "2", "-benchmarks", "1", "-runs", "6", "-rounds", "2",
		"-repeats", "1", "-alone", "2", "-quiet", "-dir", t.TempDir()}, &out, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"DuckDB v1", "### large: import", "### real: queries", "A SQLite", "Peak memory"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
}

func TestUsage(t *testing.T) {
	for _, args := range []string{"-shape x", "-order x", "-names x", "-parts x", "-engines none", "-runs 0", "extra", "-nosuch", "-keep"} {
		err := run(strings.Fields(args), io.Discard, io.Discard)
		var usage usageError
		if !errors.As(err, &usage) {
			t.Errorf("%s: %v", args, err)
		}
	}
}

func TestFull(t *testing.T) {
	f, err := parse([]string{"-full", "-rounds", "2"}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	c, err := f.config(io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	if n := c.Suite.Groups * c.Suite.Benchmarks * c.Suite.Runs; n != 10000 || f.shape != "large" || f.rounds != 2 ||
		c.Limit != 30*time.Second {
		t.Errorf("%d profiles, %+v", n, f)
	}
	for _, s := range c.Specs {
		if s.Part > 1 {
			t.Errorf("%s is part of the full table", s.Name)
		}
	}
	f, err = parse([]string{"-profiles", "200", "-engines", "sqlite"}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	if c, err = f.config(io.Discard); err != nil || c.Suite.Runs != 20 || len(c.Specs) != 1 {
		t.Errorf("%+v, %v", c.Suite, err)
	}
}
