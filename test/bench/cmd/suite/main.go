// Command suite writes profiles of the generated suite as folded text files, for
// measurements of whole programs from outside.
//
//	suite -shape large -from 1000 -n 1 -dir /tmp/one
//	suite -groups 10 -benchmarks 10 -n 10000 -tar | dendro import --layout '{run}/{group}/{benchmark}.{ext}' -
//
// A profile goes to DIR/RUN/GROUP/BENCHMARK.folded, so that the layout
// {run}/{group}/{benchmark}.{ext} imports it. Numbers from the suite's length on
// are further runs of the same benchmarks.
//
//	suite -n 2000 -dir /tmp/many -manifest && dendro import --manifest /tmp/many/manifest.json
//
// With -manifest, files are compressed, and DIR/manifest.json has also the dates and metrics.
package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
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
	labels := flag.Bool("manifest", false, "compress the files, and write their labels to DIR/manifest.json")
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
			if err := t.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(text)), Typeflag: tar.TypeReg,
				Format: tar.FormatPAX}); err != nil {
				return err
			}
			_, err := t.Write(text)
			return err
		}
	}
	var text []byte
	var manifest []entry
	for i := *from; i < *from+*n; i++ {
		m := s.Meta(i)
		text, _ = s.AppendFolded(text[:0], i)
		name := m.Run + "/" + m.Group + "/" + m.Benchmark + ".folded"
		if *labels {
			name += ".gz"
			manifest = append(manifest, entry{File: name, Run: m.Run, Group: m.Group, Benchmark: m.Benchmark, Date: m.Date,
				Metric: metric{"time", m.MetricMean, m.MetricUnit, "lower"}})
			text = compress(text)
		}
		if err := put(name, text); err != nil {
			return err
		}
	}
	if !*labels {
		return nil
	}
	list, err := json.Marshal(manifest)
	if err != nil {
		return err
	}
	return put("manifest.json", list)
}

// entry is an object of a manifest, as docs/schema/json.md describes it.
type entry struct {
	File      string    `json:"file"`
	Run       string    `json:"run"`
	Group     string    `json:"group"`
	Benchmark string    `json:"benchmark"`
	Date      time.Time `json:"date"`
	Metric    metric    `json:"metric"`
}

type metric struct {
	Name   string  `json:"name"`
	Mean   float64 `json:"mean"`
	Unit   string  `json:"unit"`
	Better string  `json:"better"`
}

func compress(text []byte) []byte {
	var b bytes.Buffer
	w, _ := gzip.NewWriterLevel(&b, gzip.BestSpeed) // the level is valid
	w.Write(text)                                   // a buffer takes everything
	w.Close()
	return b.Bytes()
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
