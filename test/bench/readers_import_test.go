package bench

import (
	"cmp"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	pprofile "github.com/google/pprof/profile"
)

// parseFolder, set in the environment, makes the test binary a program that parses the files of
// a folder with google/pprof.
const parseFolder = "DENDRO_BENCH_PARSE"

func TestMain(m *testing.M) {
	if folder := os.Getenv(parseFolder); folder != "" {
		if err := parseAll(folder); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// pprofFiles returns the profiles below a folder, and their size.
func pprofFiles(folder string) (files []string, size int64, err error) {
	err = filepath.WalkDir(folder, func(path string, e fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, ".pb.gz") {
			var info fs.FileInfo
			if info, err = e.Info(); err == nil {
				files, size = append(files, path), size+info.Size()
			}
		}
		return err
	})
	return files, size, err
}

func parseAll(folder string) error {
	files, _, err := pprofFiles(folder)
	for _, path := range files {
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if _, err := pprofile.ParseData(data); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	return err
}

// BenchmarkReadersImport imports the pprof files of $PPROFS (default: those of real version
// bumps, test/detection/public) into a new store and syncs it, beside a program that only
// parses them with google/pprof. Both begin with the start of a process.
func BenchmarkReadersImport(b *testing.B) {
	folder := cmp.Or(os.Getenv("PPROFS"), "../detection/public/testdata")
	files, size, err := pprofFiles(folder)
	if err != nil || len(files) == 0 {
		b.Fatalf("%s: %d pprof files: %v", folder, len(files), err)
	}
	dir := b.TempDir()
	same := filepath.Join(dir, "files") // nothing but these files
	if err := os.Mkdir(same, 0o700); err != nil {
		b.Fatal(err)
	}
	for i, path := range files {
		data, err := os.ReadFile(path)
		if err == nil {
			err = os.WriteFile(filepath.Join(same, fmt.Sprintf("%04d.pb.gz", i)), data, 0o600)
		}
		if err != nil {
			b.Fatal(err)
		}
	}
	dendro := filepath.Join(dir, "dendro")
	build := exec.Command("go", "build", "-o", dendro, "./cmd/dendro")
	build.Dir = "../.."
	if out, err := build.CombinedOutput(); err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
	self, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	measure := func(name string, command func(i int) *exec.Cmd) {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(size)
			for i := range b.N {
				c := command(i)
				out, err := c.CombinedOutput()
				if err != nil {
					b.Fatalf("%v\n%s", err, out)
				}
				b.ReportMetric((c.ProcessState.UserTime()+c.ProcessState.SystemTime()).Seconds()*1e3, "cpu-ms")
			}
			b.ReportMetric(float64(len(files)), "files")
		})
	}
	for _, round := range []string{"1", "2", "3"} { // in turns
		measure("program=dendro-import/round="+round, func(i int) *exec.Cmd {
			store := filepath.Join(dir, fmt.Sprintf("%s-%d.duckdb", round, i))
			os.Remove(store)
			return exec.Command(dendro, "import", "--store", store, "--group", "bench", "--benchmark", "all", same)
		})
		measure("program=google-pprof-parse/round="+round, func(int) *exec.Cmd {
			c := exec.Command(self)
			c.Env = append(os.Environ(), parseFolder+"="+same)
			return c
		})
	}
}
