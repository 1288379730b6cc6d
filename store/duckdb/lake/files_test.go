package lake

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dendroprof/dendro/internal/bucket"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/store/duckdb/internal/driver"
	"github.com/dendroprof/dendro/store/duckdb/internal/usersql"
	"github.com/dendroprof/dendro/store/iceberg"
	"github.com/dendroprof/dendro/store/mem"
	"github.com/dendroprof/dendro/test/peer"
	"github.com/dendroprof/dendro/test/runtest"
	"github.com/dendroprof/dendro/test/storetest"
)

// twoYears is a lake with a run of two benchmarks in each of 24 months.
func twoYears(t *testing.T) (*Store, *mem.Store) {
	t.Helper()
	return twoYearsIn(t, "")
}

// twoYearsIn is twoYears with its files in a warehouse.
func twoYearsIn(t *testing.T, warehouse string) (*Store, *mem.Store) {
	t.Helper()
	st := mem.New()
	for month := range 24 {
		for _, benchmark := range []string{"a", "b"} {
			f := storetest.File("g", benchmark, fmt.Sprintf("r%02d", month), profile.CPUSamples, fmt.Sprintf("×%d  ×2\nA    A\nB    C\nA", month+1))
			f.Run.Date = time.Date(2024, time.Month(1+month), 15, 0, 0, 0, 0, time.UTC)
			runtest.Put(t, st, f)
		}
	}
	dir := t.TempDir()
	l, err := iceberg.Open(t.Context(), dir, iceberg.Options{Create: true, Warehouse: warehouse})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	list, err := st.Profiles(t.Context(), store.Query{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.Publish(t.Context(), st, list, nil); err != nil {
		t.Fatal(err)
	}
	if warehouse != "" {
		t.Setenv("XDG_CACHE_HOME", t.TempDir()) // another machine
	}
	s, err := Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s, st
}

// TestBucket expects that a query of a month downloads the files of that month only, that
// users' SQL downloads one file of tables that it does not mention, and that a rewrite
// replaces objects.
func TestBucket(t *testing.T) {
	server := peer.Start(t, "s3", "dendro").Ready
	for _, v := range [][2]string{{"AWS_ENDPOINT_URL", server}, {"AWS_ACCESS_KEY_ID", "id"}, {"AWS_SECRET_ACCESS_KEY", "key"},
		{"AWS_REGION", "us-east-1"}, {"XDG_CACHE_HOME", t.TempDir()}} {
		t.Setenv(v[0], v[1])
	}
	s, st := twoYearsIn(t, "s3://dendro/team/lake")
	downloaded := func() (names []string) {
		err := filepath.WalkDir(s.lake.Dir, func(path string, d os.DirEntry, err error) error {
			if strings.HasSuffix(path, ".parquet") {
				names = append(names, strings.TrimPrefix(path, s.lake.Dir))
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return names
	}
	month := store.Query{Since: time.Date(2025, 3, 1, 0, 0, 0, 0, time.UTC), Until: time.Date(2025, 4, 1, 0, 0, 0, 0, time.UTC)}
	sums := func(st store.Reader, q store.Query) string {
		t.Helper()
		s, err := store.SumFunctions(t.Context(), st, q)
		if err != nil {
			t.Fatal(err)
		}
		tree, _, err := store.MergeTrees(t.Context(), st, q)
		if err != nil {
			t.Fatal(err)
		}
		text := fmt.Sprint(s.Functions, tree.Self)
		for _, r := range s.Rows { // shares differ by the order of adding
			text += fmt.Sprint(" ", r.Self, r.Total, r.Profiles)
		}
		return text
	}
	if got, want := sums(s, month), sums(st, month); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	names := downloaded()
	for _, name := range names {
		if !strings.Contains(name, "month=2025-03") {
			t.Error("downloaded", name)
		}
	}
	if len(names) != 6*2 { // tables, buckets of the benchmarks
		t.Error(names)
	}
	answer, err := s.SQL(t.Context(), "SELECT count(*) FROM Profiles")
	if err != nil {
		t.Fatal(err)
	}
	for row, err := range answer.Rows {
		if err != nil || fmt.Sprint(row) != "[48]" {
			t.Error(row, err)
		}
	}
	fetched := len(downloaded())
	if fetched > len(names)+48+4 {
		t.Error(fetched, "files for SQL about profiles")
	}
	// A comment, a text or a longer name is not a table: these need no further file.
	for _, sql := range []string{"SELECT count(*) FROM profiles -- not path_samples", "SELECT count(*), 'paths' FROM profiles", "WITH my_metrics AS (FROM profiles) SELECT count(*) FROM my_metrics"} {
		if answer, err = s.SQL(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
		for row, err := range answer.Rows {
			if err != nil || !strings.HasPrefix(fmt.Sprint(row), "[48") {
				t.Error(sql, row, err)
			}
		}
		if n := len(downloaded()); n != fetched {
			t.Errorf("%s: %d more files", sql, n-fetched)
		}
	}
	for _, sql := range []string{`SELECT count(*) FROM "Metrics"`, "SUMMARIZE functions", "DESCRIBE paths"} {
		if _, err := s.SQL(t.Context(), sql); err != nil {
			t.Error(sql, err)
		}
	}
	old, err := st.Profiles(t.Context(), store.Query{Until: time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC), Benchmarks: []string{"b"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, of := range []store.Store{s, st} {
		if n, err := of.Delete(t.Context(), store.IDs(old)); n != 12 || err != nil {
			t.Fatal(n, err)
		}
	}
	if _, err := s.lake.Expire(t.Context(), time.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(s.lake.Dir); err != nil { // while the lake is open
		t.Fatal(err)
	}
	if got, want := sums(s, store.Query{}), sums(st, store.Query{}); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	now, err := s.lake.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	files, err := now.Files(t.Context(), "path_samples")
	if err != nil {
		t.Fatal(err)
	}
	b, prefix, err := bucket.Open(t.Context(), "s3://dendro/team/lake/path_samples/data/")
	if err != nil {
		t.Fatal(err)
	}
	objects := 0
	for _, err := range b.List(t.Context(), prefix) {
		if err != nil {
			t.Fatal(err)
		}
		objects++
	}
	if objects != len(files) || len(files) != 48 {
		t.Error(objects, "objects,", len(files), "files")
	}
}

// TestFilesOfAMonth expects that queries of a month, and of a benchmark in it, read only
// the files of that month, and of that benchmark's bucket.
func TestFilesOfAMonth(t *testing.T) {
	s, st := twoYears(t)
	read := map[string]int{}
	s.read = func(table string, files []iceberg.File) {
		for _, f := range files {
			if !strings.Contains(f.Path, "month=2025-03") {
				t.Errorf("%s is not of the month", f.Path)
			}
		}
		read[table] = max(read[table], len(files))
	}
	month := store.Query{Since: time.Date(2025, 3, 1, 0, 0, 0, 0, time.UTC), Until: time.Date(2025, 4, 1, 0, 0, 0, 0, time.UTC)}
	for _, c := range []struct {
		benchmarks []string
		files      int
	}{{nil, 2}, {[]string{"a"}, 1}} {
		clear(read)
		q := month
		q.Benchmarks = c.benchmarks
		want, err := store.SumFunctions(t.Context(), st, q)
		if err != nil {
			t.Fatal(err)
		}
		got, err := store.SumFunctions(t.Context(), s, q)
		if err != nil {
			t.Fatal(err)
		}
		if fmt.Sprint(got.Rows) != fmt.Sprint(want.Rows) {
			t.Errorf("%v, want %v", got.Rows, want.Rows)
		}
		tree, _, err := store.MergeTrees(t.Context(), s, q)
		if err != nil {
			t.Fatal(err)
		}
		if wantTree, _, _ := store.MergeTrees(t.Context(), st, q); !slices.Equal(tree.Self, wantTree.Self) {
			t.Errorf("%v, want %v", tree.Self, wantTree.Self)
		}
		if fmt.Sprint(read) != fmt.Sprint(map[string]int{"function_samples": c.files, "functions": c.files, "path_samples": c.files,
			"paths": c.files, "profiles": c.files}) {
			t.Errorf("%v: %v", c.benchmarks, read)
		}
	}
}

// TestProfilesOfAMonth expects the same selection as of all profiles.
func TestProfilesOfAMonth(t *testing.T) {
	s, st := twoYears(t)
	from := time.Date(2025, 3, 15, 0, 0, 0, 0, time.UTC)
	for _, q := range []store.Query{{Since: from}, {Until: from}, {Since: from, Benchmarks: []string{"?"}}, {Since: from, Last: 1},
		{Runs: []string{"r1*"}}} {
		got, err := s.Profiles(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		want, err := st.Profiles(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(store.IDs(got), store.IDs(want)) || len(got) == 0 {
			t.Errorf("%s: %d profiles, want %d", q.String(), len(got), len(want))
		}
	}
}

// TestRewrite deletes half of the runs and compacts, while a stream is open, and expects
// the queries of a store without these runs, and fewer files.
func TestRewrite(t *testing.T) {
	s, st := twoYears(t)
	more := mem.New()
	for _, stacks := range []string{"×1\nA\nNEW", "×7\nA\nD"} {
		f := storetest.File("g", "a", "r00", map[bool]string{true: "wall", false: "alloc"}[strings.Contains(stacks, "NEW")], stacks)
		f.Run.Date = time.Date(2024, 1, 15, 0, 0, 0, 0, time.UTC)
		runtest.Put(t, more, f)
		runtest.Put(t, st, f)
	}
	list, err := more.Profiles(t.Context(), store.Query{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range list { // a commit each
		if _, err := s.lake.Publish(t.Context(), more, list[i:i+1], nil); err != nil {
			t.Fatal(err)
		}
	}
	open, err := s.Trees(t.Context(), store.Query{}, store.TreeOptions{})
	if err != nil {
		t.Fatal(err)
	}
	old, err := st.Profiles(t.Context(), store.Query{Until: time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC), Benchmarks: []string{"b"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range list {
		if p.Type.Name == "wall" {
			old = append(old, p)
		}
	}
	for _, of := range []store.Store{s, st} {
		if n, err := of.Delete(t.Context(), append(store.IDs(old), "unknown")); n != 13 || err != nil {
			t.Fatal(n, err)
		}
	}
	if err := s.Compact(t.Context()); err != nil {
		t.Fatal(err)
	}
	got, err := store.SumFunctions(t.Context(), s, store.Query{Types: []string{"cpu-samples"}})
	if err != nil {
		t.Fatal(err)
	}
	want, err := store.SumFunctions(t.Context(), st, store.Query{Types: []string{"cpu-samples"}})
	if err != nil {
		t.Fatal(err)
	}
	for i, w := range want.Rows { // shares differ by the order of adding
		if g := got.Rows[i]; g.Self != w.Self || g.Total != w.Total || g.Profiles != w.Profiles {
			t.Errorf("%+v, want %+v", g, w)
		}
	}
	names, err := s.FunctionNames(t.Context())
	if err != nil || len(names) != 4 { // A, B, C, D
		t.Error(names, err)
	}
	now, err := s.lake.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, table := range []string{"profiles", "path_samples", "paths", "functions", "function_samples"} {
		files, err := now.Files(t.Context(), table)
		if err != nil {
			t.Fatal(err)
		}
		if len(files) != 36+12 { // the deleted months of b have a file without rows
			t.Errorf("%s has %d files", table, len(files))
		}
	}
	n := 0
	for _, err := range open.Vectors { // of the state before
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	if n != 50 {
		t.Error(n, "vectors")
	}
	again, err := s.lake.Publish(t.Context(), more, list, nil)
	if err != nil || again != (iceberg.Published{New: 1, Known: 1}) {
		t.Error("published again:", again, err)
	}
}

// TestAccess expects that the database reads nothing outside of the lake.
func TestAccess(t *testing.T) {
	s, _ := twoYears(t)
	secret := filepath.Join(t.TempDir(), "secret.csv")
	if err := os.WriteFile(secret, []byte("a\n1\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, sql := range []string{"SELECT * FROM " + driver.Quote(secret), "SELECT * FROM read_csv('/etc/passwd')",
		"COPY (SELECT 1) TO " + driver.Quote(secret),
		"SET enable_external_access = true", "ATTACH " + driver.Quote(secret+".db")} {
		if err := s.use(func(c *driver.Conn) error { return c.Exec(sql) }); err == nil {
			t.Error("allowed:", sql)
		}
	}
}

// TestSQL runs users' SQL over the tables of a lake, and nothing else.
func TestSQL(t *testing.T) {
	s, _ := twoYears(t)
	answer, err := s.SQL(t.Context(), "SELECT count(*), sum(nodes)::BIGINT FROM profiles JOIN (SELECT DISTINCT profile FROM path_samples) USING (profile)")
	if err != nil {
		t.Fatal(err)
	}
	for row, err := range answer.Rows {
		if err != nil || fmt.Sprint(row) != "[48 192]" {
			t.Error(row, err)
		}
	}
	for _, sql := range []string{"SELECT * FROM read_parquet('" + s.lake.Dir + "/profiles/data/*/*/*.parquet')",
		"SELECT * FROM '/etc/passwd'", "CREATE TABLE x(a INT)", "SELECT 1; SELECT 2"} {
		if _, err := s.SQL(t.Context(), sql); !errors.Is(err, usersql.ErrNotAllowed) {
			t.Errorf("%s: %v", sql, err)
		}
	}
	open, err := s.SQL(t.Context(), "SELECT * FROM path_samples")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for _, err := range open.Rows {
		if err == nil {
			t.Error("rows of a closed store")
		}
		break
	}
}

// TestClosed expects errors, no panics.
func TestClosed(t *testing.T) {
	s, _ := twoYears(t)
	set, err := s.Trees(t.Context(), store.Query{Last: 1}, store.TreeOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for _, err := range set.Vectors {
		if err == nil || !strings.Contains(err.Error(), "closed") {
			t.Error(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if _, err := s.Profiles(t.Context(), store.Query{}); err == nil {
		t.Error("a closed store answers")
	}
	if _, err := Open(t.Context(), filepath.Join(t.TempDir(), "no")); err == nil ||
		!strings.Contains(err.Error(), "dendro publish creates one") {
		t.Error(err)
	}
}

// TestBatchesOfFiles: every profile is in one batch, and a file's profiles are in one unless
// they are larger than that.
func TestBatchesOfFiles(t *testing.T) {
	var list []store.Profile
	for i := range 40 {
		p := store.Profile{ID: store.ProfileID(fmt.Sprint(i)), Nodes: batchNodes / 10}
		if i%4 == 3 {
			p.Nodes = batchNodes/5 + 1 // ten of them are more than a batch
		}
		p.Run.Date = time.Date(2026, time.Month(1+i%4), 1, 0, 0, 0, 0, time.UTC)
		list = append(list, p)
	}
	months := map[time.Month]int{}
	seen := map[store.ProfileID]bool{}
	for _, part := range batchesOfFiles(list) {
		nodes, of := 0, map[time.Month]bool{}
		for i := range part {
			nodes += part[i].Nodes
			of[part[i].Run.Date.Month()], seen[part[i].ID] = true, true
		}
		for m := range of {
			months[m]++
		}
		if nodes > batchNodes {
			t.Errorf("a batch of %d nodes", nodes)
		}
	}
	if len(seen) != len(list) {
		t.Errorf("%d of %d profiles", len(seen), len(list))
	}
	if months[1] != 1 || months[2] != 1 || months[3] != 1 || months[4] < 3 {
		t.Errorf("batches by month: %v", months)
	}
}
