// Command shape prints the figures that the generated suites are fitted to: of
// recorded histories, given as folders of folded files (gzip or plain), and of
// generated suites, one row per benchmark and one for all.
//
//	shape DIR...                      one row per folder
//	shape -suite large -runs 20       one row per benchmark of a suite
//
// Exit status: 0 fine, 1 error.
package main

import (
	"compress/gzip"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/dendroprof/dendro/test/bench/shape"
	"github.com/dendroprof/dendro/test/bench/suite"
)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "shape:", err)
		os.Exit(1)
	}
}

func run(args []string, out io.Writer) error {
	flags := flag.NewFlagSet("shape", flag.ContinueOnError)
	name := flags.String("suite", "", "generated suite to measure: large or real")
	groups := flags.Int("groups", 5, "groups of the suite")
	benchmarks := flags.Int("benchmarks", 2, "benchmarks per group")
	runs := flags.Int("runs", 35, "runs per benchmark")
	scale := flags.Float64("scale", 1, "size of a profile")
	all := flags.Bool("all", true, "add a row for all benchmarks together")
	if err := flags.Parse(args); err != nil {
		return err
	}
	fmt.Fprintln(out, shape.Header)
	for _, dir := range flags.Args() {
		m := &shape.Meter{Names: suite.Stable}
		if err := addFolder(m, dir); err != nil {
			return err
		}
		fmt.Fprintln(out, m.Figures().Row(dir))
	}
	if *name == "" {
		return nil
	}
	c := suite.Config{Groups: *groups, Benchmarks: *benchmarks, Runs: *runs, Scale: *scale}
	switch *name {
	case "large":
	case "real":
		c.Shape = suite.Real
	default:
		return fmt.Errorf("no suite %q", *name)
	}
	return measureSuite(suite.New(c), *all, out)
}

func measureSuite(s *suite.Suite, all bool, out io.Writer) error {
	n := s.Len() / s.Config().Runs
	total := &shape.Meter{Names: suite.Stable}
	var text []byte
	for b := range n {
		m := &shape.Meter{Names: suite.Stable}
		for i := b; i < s.Len(); i += n {
			text, _ = s.AppendFolded(text[:0], i)
			if err := m.Add(text); err != nil {
				return err
			}
			if all {
				if err := total.Add(text); err != nil {
					return err
				}
			}
		}
		fmt.Fprintln(out, m.Figures().Row(s.Meta(b).Benchmark))
	}
	if all {
		fmt.Fprintln(out, total.Figures().Row("all"))
	}
	return nil
}

func addFolder(m *shape.Meter, dir string) error {
	files, err := filepath.Glob(filepath.Join(dir, "*.collapsed*"))
	if err != nil {
		return err
	}
	if len(files) == 0 {
		return fmt.Errorf("%s: no folded files", dir)
	}
	slices.Sort(files)
	for _, name := range files {
		text, err := readFile(name)
		if err != nil {
			return err
		}
		if err := m.Add(text); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

func readFile(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if !strings.HasSuffix(name, ".gz") {
		return io.ReadAll(f)
	}
	zr, err := gzip.NewReader(f)
	if err != nil {
		return nil, err
	}
	return io.ReadAll(zr)
}
