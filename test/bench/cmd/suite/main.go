// Command suite writes profiles of the generated suite as folded text files, for
// measurements of whole programs from outside.
//
//	suite -shape large -from 1000 -n 1 -dir /tmp/one
//
// A profile goes to DIR/RUN/GROUP/BENCHMARK.folded, so that the layout
// {run}/{group}/{benchmark}.{ext} imports it. Numbers from the suite's length on
// are further runs of the same benchmarks.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"

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
	flag.Parse()
	c := suite.Config{Shape: suite.Large}
	if *shape == "real" {
		c.Shape = suite.Real
	}
	s := suite.New(c)
	var text []byte
	for i := *from; i < *from+*n; i++ {
		m := s.Meta(i)
		name := filepath.Join(*dir, m.Run, m.Group, m.Benchmark+".folded")
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			return err
		}
		text, _ = s.AppendFolded(text[:0], i)
		if err := os.WriteFile(name, text, 0o644); err != nil {
			return err
		}
	}
	return nil
}
