package normalize_test

import (
	"bufio"
	"compress/gzip"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dendroprof/dendro/normalize"
	"github.com/dendroprof/dendro/profile"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// TestRecordedNames normalises what 18 starts of a program made up. Nearly
// every raw name occurred in one start only; nothing of that may be left.
func TestRecordedNames(t *testing.T) {
	for _, c := range []struct {
		file            string
		raw, once, want int
	}{
		{"jvm25-search", 384, 382, 29},
		{"jvm17-json", 229, 222, 13},
	} {
		t.Run(c.file, func(t *testing.T) {
			raw, once, normal := 0, 0, map[string]int{}
			for line := range lines(t, c.file+".names") {
				starts, name, _ := strings.Cut(line, " ")
				raw++
				if starts == "1" {
					once++
				}
				normal[normalize.New(nil).Function(profile.Function{Name: name, Kind: java}).Name]++
			}
			if raw != c.raw || once != c.once || len(normal) != c.want {
				t.Errorf("%d raw names, %d of one start, %d normal; want %d, %d, %d", raw, once, len(normal), c.raw, c.once, c.want)
			}
			var b strings.Builder
			for _, name := range slices.Sorted(maps.Keys(normal)) {
				fmt.Fprintf(&b, "%d %s\n", normal[name], name)
				if strings.Contains(name, "0x") || strings.Contains(name, "/") {
					t.Errorf("not normal: %s", name)
				}
			}
			golden(t, c.file+".golden", b.String())
		})
	}
}

// TestSpellingsAgree compares two conversions of one recording: with slashes
// and raw names, and with dots and the converter's own normal forms.
func TestSpellingsAgree(t *testing.T) {
	slashes, changed := functions(t, "ap46-cpu.expect-cpu.collapsed.gz")
	dots, _ := functions(t, "ap46-cpu.expect-cpu-norm-dot.collapsed.gz")
	if diff := cmp.Diff(slashes, dots); diff != "" {
		t.Errorf("slashes (-) and dots (+) disagree:\n%s", diff)
	}
	if len(slashes) < 700 || changed < 300 {
		t.Errorf("only %d functions, %d of them changed: the test looks at too little", len(slashes), changed)
	}
}

// functions returns the normal forms of all functions of a folded file, and how
// many of them differ from the raw name. Kinds are taken from the suffix or
// guessed as async-profiler does, as a reader of folded text has to.
func functions(t *testing.T, file string) (names []string, changed int) {
	set := map[string]bool{}
	n := normalize.New(nil)
	for line := range lines(t, file) {
		line = line[:strings.LastIndexByte(line, ' ')]
		if strings.HasPrefix(line, "[") && strings.Contains(line, " tid=") {
			_, line, _ = strings.Cut(line, "];") // the thread, which may hold a `;`
		}
		for frame := range strings.SplitSeq(line, ";") {
			f := guess(frame)
			normal := n.Function(f).Name
			if normal != f.Name && !set[normal] {
				changed++
			}
			set[normal] = true
		}
	}
	return slices.Sorted(maps.Keys(set)), changed
}

func guess(frame string) profile.Function {
	if n := len(frame) - 4; n > 0 && frame[n:n+2] == "_[" && frame[n+3] == ']' {
		kind := java
		if frame[n+2] == 'k' {
			kind = kernel
		}
		return profile.Function{Name: frame[:n], Kind: kind}
	}
	kind := native
	switch {
	case strings.Contains(frame, "::"):
		kind = cpp
	case strings.IndexByte(frame, '/') > 0, strings.Contains(frame, ".") && 'A' <= frame[0] && frame[0] <= 'Z':
		kind = java
	}
	return profile.Function{Name: frame, Kind: kind}
}

// lines yields the lines of a file in testdata, decompressed.
func lines(t *testing.T, file string) func(yield func(string) bool) {
	t.Helper()
	f, err := os.Open(filepath.Join("testdata", file))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	var r io.Reader = f
	if strings.HasSuffix(file, ".gz") {
		if r, err = gzip.NewReader(f); err != nil {
			t.Fatal(err)
		}
	}
	return func(yield func(string) bool) {
		s := bufio.NewScanner(r)
		s.Buffer(nil, 1<<20)
		for s.Scan() && yield(s.Text()) {
		}
		if err := s.Err(); err != nil {
			t.Fatal(err)
		}
	}
}

// golden compares with a file in testdata, or writes it with -update.
func golden(t *testing.T, file, got string) {
	t.Helper()
	path := filepath.Join("testdata", file)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got), accept with -update:\n%s", path, diff)
	}
}
