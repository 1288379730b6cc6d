package neo4j

import (
	"encoding/csv"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/store/mem"
	"github.com/dendroprof/dendro/test/storetest"
)

// bulk copies a small store into files of a model and returns their rows.
func bulk(t *testing.T, m Model, potentials int) (dir string, rows map[string][][]string) {
	t.Helper()
	src := mem.New()
	im := storetest.NewImporter()
	for _, run := range []string{"r1", "r2"} {
		f := im.File("g", "b", run, profile.CPUSamples, "A  A\nB  B\nA  C")
		f.Metrics = append(f.Metrics, storetest.Metric("time", 3))
		f.Source = []byte("original")
		if _, err := src.Put(t.Context(), []*store.File{f}, store.PutOptions{Rules: "1"}); err != nil {
			t.Fatal(err)
		}
	}
	dir = filepath.Join(t.TempDir(), "bulk")
	b, err := NewBulk(dir, m, potentials)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(store.Copy(t.Context(), b, src, store.CopyOptions{}), b.Finish()); err != nil {
		t.Fatal(err)
	}
	rows = map[string][][]string{}
	names, _ := filepath.Glob(filepath.Join(dir, "*.csv"))
	for _, name := range names {
		f, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		list, err := csv.NewReader(f).ReadAll() // requires equally long lines
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		rows[strings.TrimSuffix(filepath.Base(name), ".csv")] = list[1:]
	}
	return dir, rows
}

// TestBulk counts nodes and relationships; that a server takes them is for the
// tests with a real one.
func TestBulk(t *testing.T) {
	common := map[string]int{"Profile": 2, "Benchmark": 1, "BenchmarkGroup": 1, "TestRun": 2, "Measurement": 2, "Source": 2, "Dendro": 1,
		"RawName":                                0,
		"BenchmarkGroup-HAS_BENCHMARK-Benchmark": 1, "Benchmark-HAS_PROFILE-Profile": 2, "TestRun-HAS_PROFILE-Profile": 2,
		"Profile-HAS_SOURCE-Source":      2,
		"Benchmark-MEASURED-Measurement": 2, "TestRun-MEASURED-Measurement": 2}
	for m, own := range map[Model]map[string]int{
		Shared: {"Function": 3, "CallPath": 4, "CallPath-OF-Function": 4, "CallPath-CALLS-CallPath": 3, "CallPath-RECURS-CallPath": 1,
			"Profile-RAN-Function": 6},
		Thesis: {"CodePath": 3, "Function": 10, "Profile-ROOT-Function": 2, "Function-INVOKES-Function": 8, "Function-RECURS-Function": 2},
	} {
		dir, rows := bulk(t, m, 0)
		want := len(common) + len(own)
		for name, n := range own {
			if len(rows[name]) != n {
				t.Errorf("%s: %d rows of %s, want %d", m, len(rows[name]), name, n)
			}
		}
		for name, n := range common {
			if len(rows[name]) != n {
				t.Errorf("%s: %d rows of %s, want %d", m, len(rows[name]), name, n)
			}
		}
		if len(rows) != want {
			t.Errorf("%s: %d files, want %d", m, len(rows), want)
		}
		options, err := os.ReadFile(filepath.Join(dir, "import.args"))
		if !strings.Contains(string(options), "--multiline-fields=false") {
			t.Errorf("%s: fields have no line breaks:\n%s", m, options)
		}
		if err != nil || strings.Count(string(options), "=./") != len(rows) || strings.Count(string(options), ".csv\n") != len(rows) {
			t.Errorf("%s: not every file is imported: %v\n%s", m, err, options)
		}
	}
}

// TestBulkPotentials: the arrays of the paper in both models, for the tree A → B → A, C. Two
// calls below the outer A is all, and c has the half that the inner A counts too.
func TestBulkPotentials(t *testing.T) {
	_, rows := bulk(t, Thesis, 2)
	var arrays []string
	for _, r := range rows["Function"] {
		arrays = append(arrays, strings.ReplaceAll(strings.Join(append([]string{r[3], r[4]}, r[9:]...), " "), "\x1f", ";"))
	}
	for _, want := range []string{"root 0 0;0;0 0;0;0", "A 1 0;0;1 0;0;0.5", "B 2 0;1;1 0;0;0", "A 3 0.5;0.5;0.5 0;0;0"} {
		if !slices.Contains(arrays, want) {
			t.Errorf("no node %q in %q", want, arrays)
		}
	}
	if mark := rows["Dendro"][0]; mark[len(mark)-1] != "2" {
		t.Errorf("the mark says nothing of potentials: %q", mark)
	}
	_, rows = bulk(t, Shared, 2)
	if got := len(rows["Profile-SAMPLED-CallPath"]); got != 8 {
		t.Errorf("%d relationships SAMPLED, want 8", got)
	}
	for _, p := range rows["Profile"] {
		if n := len(p); p[n-2] != "4" || p[n-1] != "2" {
			t.Errorf("profile: %q", p)
		}
	}
	if mark := rows["Dendro"][0]; mark[len(mark)-1] != "" {
		t.Errorf("the model shared has no mark of potentials: %q", mark)
	}
	if _, err := NewBulk(filepath.Join(t.TempDir(), "new"), Shared, MaxPotentials+1); err == nil {
		t.Error("degree 65 is accepted")
	}
}

// TestBulkLineBreaks: the tool has to know of line breaks in fields.
func TestBulkLineBreaks(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "bulk")
	b, err := NewBulk(dir, Shared, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.Put(t.Context(), []*store.File{storetest.File("g", "two\nlines", "r", profile.CPUSamples, "A")},
		store.PutOptions{Rules: "1"}); err != nil {
		t.Fatal(err)
	}
	if err := b.Finish(); err != nil {
		t.Fatal(err)
	}
	if options, err := os.ReadFile(filepath.Join(dir, "import.args")); err != nil ||
		!strings.Contains(string(options), "--multiline-fields=true") {
		t.Errorf("%v\n%s", err, options)
	}
}

func TestNewBulk(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "mine"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := NewBulk(dir, Shared, 0); err == nil || !strings.Contains(err.Error(), "is not empty") {
		t.Errorf("a directory with something in it: %v", err)
	}
	if _, err := NewBulk(filepath.Join(dir, "new"), "tree", 0); err == nil {
		t.Error("an unknown model")
	}
}
