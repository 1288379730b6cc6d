package iceberg

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go"

	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/store/mem"
	"github.com/dendroprof/dendro/test/runtest"
)

// openLake opens a lake, which is closed at the end of the test.
func openLake(t testing.TB, dir string) *Lake {
	t.Helper()
	l, err := Open(t.Context(), dir, Options{Create: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

// publish publishes everything that a store has.
func publish(t testing.TB, l *Lake, st store.Reader) Published {
	t.Helper()
	list, err := st.Profiles(t.Context(), store.Query{})
	if err != nil {
		t.Fatal(err)
	}
	done, err := l.Publish(t.Context(), st, list, nil)
	if err != nil {
		t.Fatal(err)
	}
	return done
}

// publishedRows reads a table of a lake, each row drawn with its partition, sorted.
func publishedRows[T any](t testing.TB, l *Lake, name string, draw func(*T) string) (list []string) {
	t.Helper()
	s, err := l.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	files, err := s.Files(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		part, err := parquet.ReadFile[T](f.Path)
		if err != nil {
			t.Fatal(err)
		}
		if int64(len(part)) != f.Rows {
			t.Errorf("%s has %d rows, its manifest says %d", f.Path, len(part), f.Rows)
		}
		month := "-"
		if f.Dated {
			month = time.Date(1970, time.Month(1+f.Period), 1, 0, 0, 0, 0, time.UTC).Format("2006-01")
		}
		for i := range part {
			list = append(list, month+" "+draw(&part[i]))
		}
	}
	slices.Sort(list)
	return list
}

type functionName struct {
	Benchmark string `parquet:"benchmark"`
	Name      string `parquet:"name"`
}

// TestPublish expects the profiles once, whatever is published again, and functions once
// for each month of a benchmark.
func TestPublish(t *testing.T) {
	l := openLake(t, filepath.Join(t.TempDir(), "new", "lake"))
	st := mem.New()
	runtest.Put(t, st, file(t, "a", 0, "A;B 1"), file(t, "a", 1, "A;B;A 3, C 1"))
	if got := publish(t, l, st); got != (Published{New: 4}) {
		t.Error(got)
	}
	if got := publish(t, l, st); got != (Published{Known: 4}) {
		t.Error("again:", got)
	}
	runtest.Put(t, st, file(t, "b", 1, "A;D 1"))
	if got := publish(t, l, st); got != (Published{New: 2, Known: 4}) {
		t.Error("one more:", got)
	}
	other := mem.New()
	changed := file(t, "a", 0, "A;B 1")
	changed.Records[0].Hash = [16]byte{99}
	runtest.Put(t, other, changed)
	if got := publish(t, l, other); got != (Published{Known: 1, Changed: 1}) {
		t.Error("changed:", got)
	}
	for table, c := range map[string]struct{ got, want []string }{
		"functions": {publishedRows(t, l, "functions", func(r *functionName) string { return r.Benchmark + " " + r.Name }),
			[]string{"- a A", "- a B", "2026-01 a A", "2026-01 a B", "2026-01 a C", "2026-01 b A", "2026-01 b D"}},
		"profiles": {publishedRows(t, l, "profiles", func(r *profileRow) string { return r.Benchmark + " " + r.Run + " " + r.Type }),
			[]string{"- a r0 alloc", "- a r0 cpu-samples", "2026-01 a r1 alloc", "2026-01 a r1 cpu-samples", "2026-01 b r1 alloc",
				"2026-01 b r1 cpu-samples"}},
		"metrics": {publishedRows(t, l, "metrics", func(r *metricRow) string { return r.Benchmark + " " + r.Run }),
			[]string{"- a r0", "2026-01 a r1", "2026-01 b r1"}},
	} {
		if diff := cmp.Diff(c.want, c.got); diff != "" {
			t.Error(table, diff)
		}
	}
}

// TestColumnNames expects the name of every column in the metadata of each file, also of
// those after the first: Spark finds columns by them.
func TestColumnNames(t *testing.T) {
	st := mem.New()
	runtest.Put(t, st, file(t, "a", 0, "A;B 1"), file(t, "a", 1, "A;B;A 3, C 1"), file(t, "b", 2, "A 1"))
	for _, name := range files(t, export(t, st)) {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		f, err := parquet.OpenFile(bytes.NewReader(data), int64(len(data)))
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range f.Metadata().RowGroups[0].Columns {
			if c.MetaData.PathInSchema[0] == "" {
				t.Fatalf("%s: a column without a name", name)
			}
		}
	}
}

// TestPublishersAtOnce lets several publish overlapping stores through handles of their
// own, and expects each profile once, with all its samples.
func TestPublishersAtOnce(t *testing.T) {
	dir := t.TempDir()
	const publishers = 4
	var wg sync.WaitGroup
	results := make([]Published, publishers)
	errs := make([]error, publishers)
	for i := range publishers {
		st := mem.New()
		runtest.Put(t, st, file(t, "shared", 1, "A;B 1"), file(t, fmt.Sprint("own", i), 1, "A;C 2"))
		list, err := st.Profiles(t.Context(), store.Query{})
		if err != nil {
			t.Fatal(err)
		}
		wg.Go(func() {
			l, err := Open(t.Context(), dir, Options{Create: true})
			if err != nil {
				errs[i] = err
				return
			}
			defer l.Close()
			results[i], errs[i] = l.Publish(t.Context(), st, list, nil)
		})
	}
	wg.Wait()
	added := 0
	for _, r := range results {
		added += r.New
	}
	if err := errors.Join(errs...); err != nil || added != 2+2*publishers {
		t.Fatal(err, results)
	}
	l := openLake(t, dir)
	if got := publishedRows(t, l, "profiles", func(r *profileRow) string { return r.Benchmark + r.Type }); len(got) != added ||
		len(slices.Compact(got)) != added {
		t.Error(got)
	}
	if got := publishedRows(t, l, "path_samples", func(r *pathSampleRow) string { return r.Benchmark }); len(got) != 3*(1+publishers) {
		t.Error(len(got), got)
	}
	left := 0
	for _, f := range files(t, dir) {
		if strings.HasSuffix(f, ".parquet") {
			left++
		}
	}
	s, err := l.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, table := range tables {
		list, err := s.Files(t.Context(), table.name)
		if err != nil {
			t.Fatal(err)
		}
		left -= len(list)
	}
	if left != 0 {
		t.Errorf("%d files belong to no table", left)
	}
}

// TestPublishFails expects nothing in the lake, and no file, of a commit that failed.
func TestPublishFails(t *testing.T) {
	l := openLake(t, t.TempDir())
	st := mem.New()
	runtest.Put(t, st, file(t, "a", 1, "A;B 1"))
	list, err := st.Profiles(t.Context(), store.Query{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.Publish(t.Context(), failing{st}, list, nil); !errors.Is(err, errBroken) {
		t.Error(err)
	}
	for _, f := range files(t, l.Dir) {
		if strings.HasSuffix(f, ".parquet") {
			t.Error("left", f)
		}
	}
	if got := publish(t, l, st); got != (Published{New: 2}) {
		t.Error(got)
	}
	if _, err := l.Publish(t.Context(), otherRules{st}, list, nil); !errors.Is(err, store.ErrOtherRules) {
		t.Error("other rules:", err)
	}
}

// otherRules is a store with names that were normalised by other rules.
type otherRules struct{ *mem.Store }

func (s otherRules) Info(ctx context.Context) (store.Info, error) {
	info, err := s.Store.Info(ctx)
	info.Rules = "other"
	return info, err
}

// TestExpire expects that old snapshots, and files of no snapshot, vanish, but not the one that was replaced last:
// queries that began with it are running.
func TestExpire(t *testing.T) {
	l := openLake(t, t.TempDir())
	st := mem.New()
	for i := range 3 {
		runtest.Put(t, st, file(t, "a", i, "A;B 1"))
		publish(t, l, st)
	}
	before := len(files(t, l.Dir))
	running, err := l.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	replaced := time.Now()
	for _, path := range files(t, l.Dir) { // all is older
		if err := os.Chtimes(path, replaced.Add(-time.Hour), replaced.Add(-time.Hour)); err != nil {
			t.Fatal(err)
		}
	}
	runtest.Put(t, st, file(t, "b", 0, "A;B 1"))
	publish(t, l, st)
	if n, err := l.Expire(t.Context(), replaced); err != nil || n == 0 {
		t.Error(n, err)
	}
	l.files = map[string][]File{} // of what was read of them
	if list, err := running.Files(t.Context(), "profiles"); err != nil || len(list) != 3 {
		t.Errorf("a snapshot that was replaced after the time has %d files: %v", len(list), err)
	}
	want := publishedRows(t, l, "profiles", func(r *profileRow) string { return r.Profile })
	if _, err := l.Expire(t.Context(), time.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	if got := publishedRows(t, l, "profiles", func(r *profileRow) string { return r.Profile }); !slices.Equal(got, want) {
		t.Error("profiles", got, want)
	}
	s, err := l.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if n := len(s.tables["profiles"].Snapshots); n != 1 || len(files(t, l.Dir)) >= before {
		t.Error(n, "snapshots;", len(files(t, l.Dir)), "files, before", before)
	}
	publish(t, l, st)
}

// TestBucket has values that Iceberg's specification defines.
func TestBucket(t *testing.T) {
	if got := bucketOf("iceberg"); got != 1210000089%Buckets {
		t.Error(got)
	}
	month, dated := monthNumber(time.Date(2026, 1, 1, 0, 30, 0, 0, time.FixedZone("", 3600)))
	if month != 55*12+11 || !dated {
		t.Error(month, dated)
	}
}
