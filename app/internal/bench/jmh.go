package bench

import (
	"archive/zip"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/dendroprof/dendro/ingest"
)

// jmh runs benchmarks of the Java Microbenchmark Harness, which starts a process for each,
// with a profiler after the warm-up, and makes a folder for each.
var jmh = runner{
	name:      "JMH",
	profilers: []string{"async-profiler", "jfr"},
	memory:    true,
	prepare: func(context.Context, *Session) ([]Benchmark, error) {
		return []Benchmark{{Name: "all benchmarks of the program"}}, nil
	},
	record: func(ctx context.Context, s *Session, b *Benchmark, dir string) (r Recorded, err error) {
		results, profiler := filepath.Join(dir, "jmh.json"), "jfr:dir="+dir
		if a, ok := s.profiler.(async); ok {
			profiler = "async:libPath=" + a.library + ";output=jfr;dir=" + dir
			if a.memory {
				profiler += ";alloc=" + allocInterval
			}
		}
		if _, err = s.run(ctx, process{args: append(slices.Clone(s.args), "-prof", profiler, "-rf", "json", "-rff", results),
			out: s.Results}); err != nil {
			return r, err
		}
		f, err := os.Open(results)
		if err != nil {
			return r, err
		}
		defer f.Close()
		if r.Metrics, err = ingest.ReadMetrics(results, f); err != nil {
			return r, err
		}
		err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err == nil && strings.HasSuffix(path, ".jfr") {
				r.Files = append(r.Files, path)
			}
			return err
		})
		return r, err
	},
}

// ofJAR returns the runner of a JAR, given as a command in a directory names it: the harness lists benchmarks in it.
func ofJAR(dir, name string) (*runner, error) {
	file := name
	if !filepath.IsAbs(file) {
		file = filepath.Join(dir, file)
	}
	jar, err := zip.OpenReader(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		with := "mvn package"
		if strings.Contains(filepath.ToSlash(file), "/build/libs/") {
			with = "./gradlew jmhJar"
		}
		return nil, notBuilt(name, with, err)
	case err != nil:
		return &java, nil // it is broken: java says so
	}
	defer jar.Close()
	for _, entry := range []string{"META-INF/BenchmarkList", "org/openjdk/jmh/Main.class"} {
		if f, err := jar.Open(entry); err == nil {
			return &jmh, f.Close()
		}
	}
	return &java, nil
}
