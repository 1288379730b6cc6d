package readtest

import (
	"bytes"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/gzip" // a third of the time of compress/gzip for bombs
)

var update = flag.Bool("update", false, "rewrite the golden files")

// Names returns the names of the files in testdata that match one of the patterns of
// path/filepath, pattern by pattern, and fails the test if they are fewer than least.
func Names(t testing.TB, least int, patterns ...string) []string {
	t.Helper()
	var names []string
	for _, pattern := range patterns {
		found, err := filepath.Glob(filepath.Join("testdata", pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range found {
			names = append(names, filepath.Base(name))
		}
	}
	if len(names) < least {
		t.Fatalf("%d files in testdata, want %d: %q", len(names), least, names)
	}
	return names
}

// File returns the content of a file in testdata, inflated if its name ends in .gz.
func File(t testing.TB, name string) []byte {
	t.Helper()
	content, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasSuffix(name, ".gz") {
		return content
	}
	r, err := gzip.NewReader(bytes.NewReader(content))
	if err != nil {
		t.Fatal(err)
	}
	if content, err = io.ReadAll(r); err != nil {
		t.Fatal(err)
	}
	return content
}

// Gzip compresses a text or bytes.
func Gzip[T string | []byte](content T) T {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	w.Write([]byte(content)) // a buffer does not fail
	w.Close()
	return T(b.Bytes())
}

// Golden compares a text with a file in testdata, which the flag -update rewrites.
func Golden(t testing.TB, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", file, diff)
	}
}
