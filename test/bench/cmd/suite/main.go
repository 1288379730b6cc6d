// Command suite writes profiles of the generated suite as folded text files, for
// measurements of whole programs from outside.
//
//	suite -shape large -from 1000 -n 1 -dir /tmp/one
//	suite -groups 10 -benchmarks 10 -n 10000 -tar | dendro import --layout '{run}/{group}/{benchmark}.{ext}' -
//
// A profile goes to DIR/RUN/GROUP/BENCHMARK.folded, so that the layout
// {run}/{group}/{benchmark}.{ext} imports it; with -dates to DIR/DATE/RUN/GROUP/BENCHMARK.folded,
// the runs a day apart. Numbers from the suite's length on are further runs of the same
// benchmarks.
package main

import (
	"archive/tar"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/dendroprof/dendro/test/bench/suite"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "suite:", err)
		os.Exit(1)
	}
}

func run() error {
	shape := flag.String("shape", "large", "large or real")
	from := flag.Int("from", 0, "number of the first profile")
	n := flag.Int("n", 1, "how many")
	dir := flag.String("dir", ".", "where to write")
	groups := flag.Int("groups", 5, "benchmark groups")
	benchmarks := flag.Int("benchmarks", 2, "benchmarks per group")
	dates := flag.Bool("dates", false, "begin paths with the date of the run")
	archive := flag.Bool("tar", false, "write one tar to standard output instead")
	flag.Parse()
	c := suite.Config{Shape: suite.Large, Groups: *groups, Benchmarks: *benchmarks}
	if *shape == "real" {
		c.Shape = suite.Real
	}
	s := suite.New(c)
	put := toDir(*dir)
	if *archive {
		t := tar.NewWriter(os.Stdout)
		defer t.Close()
		put = func(name string, text []byte) error {
			if err := t.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(text)), Typeflag: tar.TypeReg, Format: tar.FormatPAX}); err != nil {
				return err
			}
			_, err := t.Write(text)
			return err
		}
	}
	var text []byte
	for i := *from; i < *from+*n; i++ {
		m := s.Meta(i)
		text, _ = s.AppendFolded(text[:0], i)
		name := m.Run + "/" + m.Group + "/" + m.Benchmark + ".folded"
		if *dates {
			name = m.Date.Format(time.DateOnly) + "/" + name
		}
		if err := put(name, text); err != nil {
			return err
		}
	}
	return nil
}

// toDir writes files below a folder.
func toDir(dir string) func(name string, text []byte) error {
	return func(name string, text []byte) error {
		name = filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			return err
		}
		return os.WriteFile(name, text, 0o644)
	}
}
