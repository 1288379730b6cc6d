package iceberg

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/apache/iceberg-go"
	"github.com/parquet-go/parquet-go"

	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/store/mem"
	"github.com/dendroprof/dendro/test/runtest"
)

// oldMetricRow is metricRow without its last columns.
type oldMetricRow struct {
	Group     string  `parquet:"grp,dict"`
	Benchmark string  `parquet:"benchmark,dict"`
	Run       string  `parquet:"run,dict"`
	Date      *int64  `parquet:"date,timestamp(microsecond),dict"`
	Name      string  `parquet:"name,dict"`
	Unit      string  `parquet:"unit,dict"`
	Mean      float64 `parquet:"mean"`
	Better    string  `parquet:"better,dict"`
	N         int64   `parquet:"n"`
}

// TestEvolve makes a lake whose table metrics lacks columns, and expects that it is read,
// that a publication adds the columns, and that old and new rows are there.
func TestEvolve(t *testing.T) {
	at := slices.IndexFunc(tables, func(t tableSchema) bool { return t.name == "metrics" })
	now := tables[at].columns
	t.Cleanup(func() { tables[at].columns = now })
	tables[at].columns = parquet.SchemaOf(new(oldMetricRow))
	dir := t.TempDir()
	l := openLake(t, dir)
	st := mem.New()
	runtest.Put(t, st, file(t, "a", 1, "A;B 1"))
	publish(t, l, st)
	s, err := l.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	files, err := s.Files(t.Context(), "metrics")
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	rows, err := parquet.ReadFile[oldMetricRow](files[0].Path)
	if err != nil {
		t.Fatal(err)
	}
	old := filepath.Join(filepath.Dir(files[0].Path), "old.parquet")
	if err := parquet.WriteFile(old, rows); err != nil {
		t.Fatal(err)
	}
	f, err := l.Keep(t.Context(), files[0].Partition, old)
	if err != nil {
		t.Fatal(err)
	}
	change := map[string]Change{"metrics": {Add: []File{f}, Remove: map[string]bool{files[0].Path: true}}}
	if err := l.Commit(t.Context(), change, func(*Snapshot) error { return nil }); err != nil {
		t.Fatal(err)
	}

	tables[at].columns = now
	l = openLake(t, dir)
	errorsOf := func() (list []float64) {
		s, err := l.Snapshot(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		profiles, err := s.Profiles(t.Context(), &store.Query{Types: []string{"alloc"}})
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range profiles {
			for _, m := range p.Metrics {
				if p.Type.Name == "alloc" {
					list = append(list, m.Mean, m.Error)
				}
			}
		}
		return list
	}
	if got := errorsOf(); !slices.Equal(got, []float64{1.5, 0}) {
		t.Error("before:", got)
	}
	runtest.Put(t, st, file(t, "a", 2, "A;B 1"))
	if got := publish(t, l, st); got != (Published{New: 2, Known: 2}) {
		t.Error(got)
	}
	if got := errorsOf(); !slices.Equal(got, []float64{1.5, 0, 1.5, 0.5}) {
		t.Error("after:", got)
	}
	if s, err = l.Snapshot(t.Context()); err != nil {
		t.Fatal(err)
	}
	m := s.tables["metrics"]
	if _, ok := m.schema().FindFieldByName("error"); !ok || len(m.Schemas) != 2 || m.CurrentSchema != m.Schemas[1].ID {
		t.Error(m.CurrentSchema, m.Schemas)
	}
	if before := m.Schemas[0].Fields(); !slices.EqualFunc(before, m.schema().Fields()[:len(before)],
		func(a, b iceberg.NestedField) bool { return a.ID == b.ID && a.Name == b.Name }) {
		t.Error("columns have other ids than before")
	}
}

// TestNewer expects that a lake of a newer version is refused.
func TestNewer(t *testing.T) {
	dir := t.TempDir()
	l := openLake(t, dir)
	if err := l.change(t.Context(), func(s *Snapshot) error {
		s.tables["profiles"].Properties[versionProperty] = "2"
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	for _, create := range []bool{true, false} {
		if _, err := Open(t.Context(), dir, Options{Create: create}); err == nil || !strings.Contains(err.Error(), "use a newer dendro") {
			t.Error(err)
		}
	}
}

// TestMoved moves a lake, and expects that its files are found, and that other programs
// find them after Relocate.
func TestMoved(t *testing.T) {
	was := filepath.Join(t.TempDir(), "a lake")
	st := mem.New()
	runtest.Put(t, st, file(t, "a", 1, "A;B 1"))
	publish(t, openLake(t, was), st)
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(was, link); err != nil {
		t.Fatal(err)
	}
	if l := openLake(t, link); l.Moved() != "" {
		t.Error("a link:", l.Moved())
	}
	is := filepath.Join(t.TempDir(), "moved")
	if err := os.Rename(was, is); err != nil {
		t.Fatal(err)
	}
	l := openLake(t, is)
	if l.Moved() != urlOf(was) {
		t.Error(l.Moved())
	}
	runtest.Put(t, st, file(t, "a", 2, "A;B 1"))
	if got := publish(t, l, st); got != (Published{New: 2, Known: 2}) {
		t.Error("published to a moved lake:", got)
	}
	if err := l.Relocate(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, l := range []*Lake{l, openLake(t, is)} {
		if l.Moved() != "" {
			t.Error(l.Moved())
		}
		if got := publish(t, l, st); got != (Published{Known: 4}) {
			t.Error(got)
		}
		s, err := l.Snapshot(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		used := map[string]bool{}
		for _, table := range tables {
			m := s.tables[table.name]
			if err := m.use(t.Context(), used); err != nil {
				t.Fatal(err)
			}
			locations := []string{m.Location, m.Saved, m.Snapshots[0].ManifestList}
			manifests, err := m.manifests(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for _, manifest := range manifests {
				entries, err := m.entries(t.Context(), manifest)
				if err != nil {
					t.Fatal(err)
				}
				locations = append(locations, manifest.FilePath(), entries[0].DataFile().FilePath())
			}
			for _, location := range locations {
				if !strings.HasPrefix(location, urlOf(is)+"/") {
					t.Error(location)
				}
			}
		}
	}
}

// TestBounds expects the least and the greatest value of columns in manifests, so that
// engines skip files.
func TestBounds(t *testing.T) {
	l := openLake(t, t.TempDir())
	st := mem.New()
	runtest.Put(t, st, file(t, "b", 1, "A;B 1"), file(t, "b", 2, "C 1"))
	publish(t, l, st)
	s, err := l.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	m := s.tables["profiles"]
	manifests, err := m.manifests(t.Context())
	if err != nil || len(manifests) != 1 {
		t.Fatal(err)
	}
	entries, err := m.entries(t.Context(), manifests[0])
	if err != nil || len(entries) != 1 { // of one month
		t.Fatal(err, len(entries))
	}
	d := entries[0].DataFile()
	for name, want := range map[string][2]string{"benchmark": {"b", "b"}, "run": {"r1", "r2"}, "type": {"alloc", "cpu-samples"},
		"metric": {"time", "time"}, "params": {}} {
		f, _ := m.schema().FindFieldByName(name)
		if got := [2]string{string(d.LowerBoundValues()[f.ID]), string(d.UpperBoundValues()[f.ID])}; got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
		if n := d.ValueCounts()[f.ID]; name != "params" && n != 4 {
			t.Error(name, n, "values")
		}
	}
	date, _ := m.schema().FindFieldByName("date")
	if l, u := d.LowerBoundValues()[date.ID], d.UpperBoundValues()[date.ID]; len(l) != 8 || string(l) == string(u) {
		t.Error(l, u)
	}
}

// TestEmptyCatalog: a creation that failed leaves a catalog without tables, which the next
// one completes.
func TestEmptyCatalog(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, catalogFile), nil, 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), dir, Options{}); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("error %v, want fs.ErrNotExist", err)
	}
	openLake(t, dir)
}
