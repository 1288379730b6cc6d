package duckdb

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/store/duckdb/internal/driver"
	"github.com/dendroprof/dendro/store/mem"
	"github.com/dendroprof/dendro/test/storetest"
	"github.com/dendroprof/dendro/testrun"
)

// filled returns a store with a few profiles, one of them recursive.
func filled(t testing.TB) *Store {
	s := mustOpen(t, filepath.Join(t.TempDir(), "store.duckdb"), Options{})
	im := storetest.NewImporter()
	var files []*store.File
	for run := range 3 {
		f := im.File("g", "b/size=10", fmt.Sprint("r", run), profile.CPUSamples, fmt.Sprintf("×%d  ×2  ×3\nA  A  A\nB  B  C\nA  ·  ·", run+1))
		f.Metrics = append(f.Metrics, storetest.Metric("time", float64(100+run)))
		f.Run.Attributes = map[string]string{"jdk": "21"}
		files = append(files, f)
	}
	files = append(files, im.File("h", "c", "r1", profile.Alloc, "×7\nX"))
	if out, err := s.Put(context.Background(), files, store.PutOptions{Rules: "1"}); err != nil || out[0].Err != nil {
		t.Fatal(err, out)
	}
	return s
}

// ask runs a statement and returns its rows as text.
func ask(t testing.TB, s *Store, query string) (string, error) {
	rows, err := s.sql.Open(context.Background(), query)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	for row, err := range rows.All() {
		if err != nil {
			return "", err
		}
		for i, v := range row {
			if i > 0 {
				b.WriteByte(' ')
			}
			fmt.Fprint(&b, v)
		}
		b.WriteByte('\n')
	}
	return b.String(), nil
}

func TestViews(t *testing.T) {
	s := filled(t)
	for _, test := range []struct{ query, want string }{
		{"SELECT grp, benchmark, base_name, params['size'], run, attributes['jdk'], metric_mean, sum, nodes FROM profiles ORDER BY date, grp",
			"g b/size=10 b 10 r0 21 100 6 4\ng b/size=10 b 10 r1 21 101 7 4\nh c c <nil> r1 21 <nil> 7 1\ng b/size=10 b 10 r2 21 102 8 4\n"},
		{"SELECT code_path, depth, base_samples, total_samples, base, total FROM function_node JOIN profiles p ON p.key = profile_key WHERE run = 'r0' ORDER BY depth, code_path",
			"A 0 0 6 0 1\nB 1 2 3 0.3333333333333333 0.5\nC 1 3 3 0.5 0.5\nA 2 1 1 0.16666666666666666 0.16666666666666666\n"},
		{"SELECT u.code_path, v.code_path, distance FROM recurs JOIN function_node u ON u.key = u JOIN function_node v ON v.key = v WHERE recurs.profile = 0", "A A 2\n"},
		{"SELECT u.code_path, v.code_path FROM invokes JOIN function_node u ON u.key = caller JOIN function_node v ON v.key = callee WHERE invokes.profile = 2 ORDER BY ALL", "A B\nA C\nB A\n"},
		{"SELECT function, self, total FROM function_sample WHERE profile = 1 ORDER BY function", "A 2 7\nB 2 4\nC 3 3\n"},
		{"SELECT f.function, sum(self) FROM sample JOIN path f ON f.id = path GROUP BY ALL ORDER BY 1; -- the end", "A 6\nB 6\nC 9\nX 7\n"},
		{"SELECT benchmark, function, profiles, of, self, total, total_share, max_share, max_run FROM function_benchmark WHERE function IN ('B', 'X') ORDER BY ALL",
			"b/size=10 B 3 3 6 12 0.5714285714285714 0.625 r2\nc X 1 1 7 7 1 1 r1\n"},
		{"SELECT name, kind FROM functions ORDER BY name", "A <nil>\nB <nil>\nC <nil>\nX <nil>\n"},
		{"SELECT 1::DECIMAL(4,2), [1, 2], {'a': 1}, 170141183460469231731687303715884105727, true, NULL, DATE '2024-01-02', 'x'::BLOB, 1.5::FLOAT",
			"1.00 [1, 2] {'a': 1} 170141183460469231731687303715884105727 true <nil> 2024-01-02 00:00:00 +0000 UTC [120] 1.5\n"},
		{"SELECT count(*) FROM range(5000)", "5000\n"},
		{"FROM range(3) SELECT range + 1", "1\n2\n3\n"},
		{"WITH big AS (SELECT self FROM sample) SELECT max(self) FROM big", "7\n"},
		{"show tables;", "function_benchmark\nfunction_node\nfunction_sample\nfunctions\ninvokes\nnode\npath\nprofiles\nrecurs\nsample\nsampled_segment\nstack\nthread_snapshot\nwindow_sample\nwindows\n"},
	} {
		if got, err := ask(t, s, test.query); err != nil || got != test.want {
			t.Errorf("%s: %v\n%s", test.query, err, cmp.Diff(test.want, got))
		}
	}
	for _, query := range []string{"DESCRIBE profiles", "SUMMARIZE sample", "EXPLAIN SELECT 1", "EXPLAIN ANALYZE SELECT 1"} {
		if got, err := ask(t, s, query); err != nil || got == "" {
			t.Errorf("%s: %q, %v", query, got, err)
		}
	}
}

// TestJudgingMetric expects the metric of the view in Go and in SQL.
func TestJudgingMetric(t *testing.T) {
	s := mustOpen(t, filepath.Join(t.TempDir(), "store.duckdb"), Options{})
	for _, f := range storetest.Judged() {
		if _, err := s.Put(t.Context(), []*store.File{f}, store.PutOptions{Rules: "1"}); err != nil {
			t.Fatal(err)
		}
	}
	list, err := s.Profiles(t.Context(), store.Query{})
	if err != nil {
		t.Fatal(err)
	}
	judging := map[string]bool{}
	for _, p := range list {
		want := "<nil> <nil> <nil> <nil>\n"
		if m, ok := p.Metric(); ok {
			judging[m.Name] = true
			want = fmt.Sprintln(m.Name, m.Mean, m.Unit, m.Better)
		}
		got, err := ask(t, s, "SELECT metric, metric_mean, metric_unit, metric_better FROM profiles WHERE key = '"+string(p.ID)+"'")
		if err != nil || got != want {
			t.Errorf("%s of %s: %v, %v", p.Type.Name, p.Run.Key, cmp.Diff(want, got), err)
		}
	}
	if len(judging) != 6 {
		t.Errorf("the metrics %v judge", judging)
	}
}

// TestViewsPushDown looks at the plan: of one profile's nodes only its blob may
// be decoded.
func TestViewsPushDown(t *testing.T) {
	s := filled(t)
	key := string(store.IDOf(testrun.Benchmark{Group: "h", Name: "c"}, "r1", profile.Alloc))
	for _, query := range []string{
		"SELECT * FROM function_node WHERE profile = 1",
		"SELECT * FROM sample WHERE profile_key = '" + key + "'",
		"SELECT * FROM function_node WHERE profile_key = '" + key + "'",
	} {
		plan, err := ask(t, s, "EXPLAIN "+query)
		if err != nil {
			t.Fatal(err)
		}
		unnest, filter := strings.Index(plan, "UNNEST"), strings.LastIndex(plan, "Filters:")
		if unnest < 0 || filter < unnest {
			t.Errorf("%s: the filter is above the decoder:\n%s", query, plan)
		}
	}
}

func TestSQLIsSafe(t *testing.T) {
	s := filled(t)
	dir := t.TempDir()
	secret := filepath.Join(dir, "secret.csv")
	if err := os.WriteFile(secret, []byte("a\n1\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, query := range []string{
		"INSERT INTO fn SELECT * FROM fn", "UPDATE profile SET sum = 1", "DELETE FROM tree", "DROP TABLE fn", "CREATE TABLE x(i INTEGER)",
		"CREATE TEMP TABLE x(i INTEGER)", "ALTER TABLE fn RENAME TO x", "TRUNCATE fn", "CHECKPOINT", "VACUUM", "BEGIN", "COMMIT", "ROLLBACK",
		"COPY fn TO '" + secret + "'", "COPY fn FROM '" + secret + "'", "EXPORT DATABASE '" + dir + "'", "IMPORT DATABASE '" + dir + "'",
		"ATTACH '" + dir + "/x.duckdb'", "ATTACH ':memory:' AS m", "ATTACH '" + driver.Spare(s.file.Path) + "'",
		"COPY fn TO '" + driver.Spare(s.file.Path) + "'", "DETACH store", "USE memory",
		"INSTALL httpfs", "LOAD httpfs", "SET enable_external_access = true", "RESET lock_configuration", "PRAGMA threads = 1",
		"PRAGMA database_list",
		"CALL pragma_version()", "PREPARE p AS SELECT 1", "EXECUTE p", "SELECT 1; SELECT 2", "SELECT 1; DROP TABLE fn", "",
		"EXPLAIN ANALYZE DELETE FROM fn", "EXPLAIN DELETE FROM fn", "SELECT ?", "MERGE INTO fn USING fn AS g ON false WHEN NOT MATCHED THEN INSERT",
		"SELECT * FROM read_csv('" + secret + "')", "SELECT * FROM '" + secret + "'", "SELECT * FROM \"" + secret + "\"",
		"SELECT * FROM read_text('" + secret + "')",
		"SELECT * FROM read_blob('" + s.file.Path + "')", "SELECT * FROM '" + s.file.Path + "'",
		"SELECT * FROM read_parquet('" + s.file.Path + "')",
		"SELECT * FROM query('SELECT * FROM read_blob(''" + s.file.Path + "'')')", "SELECT * FROM query_table('" + s.file.Path + "')",
		"SELECT (SELECT content FROM read_blob('" + s.file.Path + "'))",
		"WITH x AS (SELECT * FROM read_blob('" + s.file.Path + "')) SELECT * FROM x",
		"SELECT * FROM glob('/*')", "SELECT * FROM sniff_csv('" + secret + "')", "SELECT * FROM 'https://example.com/x.parquet'",
		"SELECT * FROM duckdb_secrets()",
		"EXPLAIN SELECT * FROM read_blob('" + s.file.Path + "')", "SUMMARIZE '" + s.file.Path + "'",
		"DESCRIBE SELECT * FROM read_csv('" + secret + "')",
		"SELECT * FROM parquet_metadata('" + s.file.Path + "')", "FROM READ_BLOB('" + s.file.Path + "')",
		"SHOW TABLES FROM read_blob", "SELECT * FROM (PIVOT read_blob('" + s.file.Path + "') ON filename)",
		"PIVOT read_blob('" + s.file.Path + "') ON filename",
	} {
		if got, err := ask(t, s, query); err == nil {
			t.Errorf("%s: no error, but\n%s", query, got)
		}
	}
	if got, err := ask(t, s, "SELECT count(*) FROM fn"); err != nil || got != "4\n" {
		t.Errorf("afterwards: %q, %v", got, err)
	}
	if _, err := s.Put(context.Background(), []*store.File{storetest.File("g", "later", "r9", profile.CPUSamples, "Z")},
		store.PutOptions{Rules: "1"}); err != nil {
		t.Errorf("Put afterwards: %v", err)
	}
}

// TestSQLOf asks about the runs of another store, and expects that nothing of their copy is left.
func TestSQLOf(t *testing.T) {
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	runs := mem.New()
	if out, err := runs.Put(t.Context(), []*store.File{storetest.NewImporter().File("shop", "cpu", "10:00", profile.CPUSamples, "×2\nA\nB")},
		store.PutOptions{}); err != nil || out[0].Err != nil {
		t.Fatal(err, out)
	}
	s := filled(t)
	for query, want := range map[string]string{
		"SELECT grp, benchmark, run FROM profiles":                              "[[shop cpu 10:00]]",
		"SELECT function, self, total FROM function_sample ORDER BY function":   "[[A 0 2] [B 2 2]]",
		"SELECT code_path, total_samples FROM function_node ORDER BY code_path": "[[A 2] [B 2]]",
		"SELECT nothing": "",
	} {
		answer, err := s.SQLOf(t.Context(), runs, query)
		if err != nil {
			if want != "" || !strings.Contains(err.Error(), "nothing") {
				t.Errorf("%s: %v", query, err)
			}
		} else {
			var rows [][]any
			for row, err := range answer.Rows {
				if err != nil {
					t.Fatal(err)
				}
				rows = append(rows, row)
			}
			if got := fmt.Sprint(rows); got != want {
				t.Errorf("%s: %s, want %s", query, got, want)
			}
		}
		if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
			t.Errorf("%s left %v, %v", query, left, err)
		}
	}
}

func TestSQLResults(t *testing.T) {
	s := filled(t)
	open, err := s.sql.Open(context.Background(), "SELECT * FROM range(1000000)")
	if err != nil {
		t.Fatal(err)
	}
	for range open.All() { // left early
		break
	}
	if open, err = s.sql.Open(context.Background(), "SELECT * FROM sample"); err != nil {
		t.Fatal(err)
	}
	if err := s.Compact(context.Background()); err != nil { // does not wait for the open result
		t.Fatal(err)
	}
	for _, err := range open.All() {
		if err == nil {
			t.Error("a result outlived the instance")
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	if open, err = s.sql.Open(ctx, "SELECT sum(a.range * b.range) FROM range(1000000) a, range(1000000) b"); err != nil {
		t.Fatal(err)
	}
	go cancel()
	for _, err := range open.All() {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("cancelled: %v", err)
		}
	}
}

// TestStoredViews expects that another program sees the views that need no function of
// this one: in a new file, which has no rows of functions yet, a compacted one, and one that
// had other views.
func TestStoredViews(t *testing.T) {
	s := filled(t)
	path := s.file.Path
	look := func(when string) {
		t.Helper()
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		db, err := driver.OpenDB(path, driver.Options{ReadOnly: true}, "")
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		if err := db.Use(func(c *driver.Conn) error {
			for _, v := range allViews {
				n, err := c.Number(t.Context(), "SELECT count(*) FROM "+v.Name)
				if (err == nil) != v.Stored {
					t.Errorf("%s: view %s: %v", when, v.Name, err)
				}
				if v.Name == "function_sample" && (n > 0) != (when != "new") {
					t.Errorf("%s: function_sample has %d rows", when, n)
				}
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	look("new")
	s = mustOpen(t, path, Options{})
	if err := s.Compact(t.Context()); err != nil {
		t.Fatal(err)
	}
	look("compacted")
	s = mustOpen(t, path, Options{})
	if err := s.file.With(func(c *driver.Conn) error {
		return c.Exec("UPDATE meta SET value = 'other' WHERE key = 'views'; DROP VIEW profiles")
	}); err != nil {
		t.Fatal(err)
	}
	if err := s.file.Replace(t.Context(), func() error { return nil }); err != nil {
		t.Fatal(err)
	}
	look("replaced")
}

// dump spells out what a store holds.
func dump(t testing.TB, s store.Store) map[string]any {
	t.Helper()
	ctx, all := context.Background(), map[string]any{}
	profiles, err := s.Profiles(ctx, store.Query{})
	if err != nil {
		t.Fatal(err)
	}
	all["profiles"] = profiles
	for _, p := range profiles {
		tree, _, err := store.MergeTrees(ctx, s, store.Query{Profiles: []store.ProfileID{p.ID}})
		if err != nil {
			t.Fatal(err)
		}
		for n := range int32(tree.Len()) {
			all[string(p.ID)+strings.Join(tree.Path(n), ";")] = [2]int64{tree.Self[n], tree.Total[n]}
		}
	}
	sums, err := store.SumFunctions(ctx, s, store.Query{Types: []string{profile.CPUSamples}})
	if err != nil {
		t.Fatal(err)
	}
	all["sums"] = sums.Rows
	return all
}

// TestValuesAreBounded: functions that make values from numbers make small ones, however they
// are called; others work as ever.
func TestValuesAreBounded(t *testing.T) {
	s := filled(t)
	for _, query := range []string{
		"SELECT length(repeat('a', 4000000000))", "SELECT length(repeat('a', i)) FROM range(4000000000, 4000000001) r(i)",
		"SELECT length(RePeAt('a', 20000))", `SELECT length("repeat"('a', 20000))`, "SELECT length('a'.repeat(20000))",
		"SELECT length(system.main.repeat('a', 20000))", "SELECT length(main.repeat('a', 20000))",
		"SELECT length(repeat(repeat('a', 10000), 10000))", "SELECT length(repeat(s, 10000)) FROM (SELECT repeat('a', 10000) s)",
		"SELECT length(lpad('a', 2000000000, 'b'))", "SELECT length(rpad('a', 2000000000, 'b'))",
		"SELECT len(list_resize([1], 1000000000))", "SELECT len(array_resize([1], 1000000000))", "SELECT len(range(1000000000))",
		"SELECT len(generate_series(0, i)) FROM range(5) r(i)",
		"SELECT len(range(0, 1000000000, 3))", "SELECT len(range(-1000000000, 0))", "SELECT bit_count(bitstring('1', 1000000000))",
		"SELECT length(printf('%1000000000d', 1))", "SELECT length(printf('%*d', 1000000000, 1))", "SELECT length(format('{:>1000000000}', 1))",
		"SELECT length(format('{:>{}}', 1, 1000000000))", "SELECT length(printf(f, 1)) FROM (SELECT '%1000000000d' f)",
		"SELECT length(replace(s, 'a', s)) FROM (SELECT replace(repeat('a', 16000), 'a', repeat('a', 1000)) s)",
		"SELECT length(regexp_replace(repeat('a', 16000), 'a', repeat('b', 16000), 'g'))",
		"WITH a AS (SELECT function s FROM functions), b AS (SELECT s||s||s||s||s||s||s||s||s||s s FROM a), c AS (SELECT s||s||s||s||s||s||s||s||s||s s FROM b), d AS (SELECT s||s||s||s||s||s||s||s||s||s s FROM c), e AS (SELECT s||s||s||s||s||s||s||s||s||s s FROM d) SELECT max(length(s)) FROM e",
		"SELECT length(s||s||s||s||s||s||s||s||s||s) FROM (SELECT s||s||s||s||s||s||s||s||s||s s FROM (SELECT s||s||s||s||s||s||s||s||s||s s FROM (SELECT s||s||s||s||s||s||s||s||s||s s FROM (SELECT function||function s FROM functions))))",
		"SELECT (SELECT max(length(repeat('a', 20000 + i))) FROM range(3) r(i))", "FROM range(3) r(i) WHERE length(repeat('a', 20000 + i)) > 1", "SELECT 1 ORDER BY length(repeat('a', 4000000000))",
		"SELECT list_transform([20000], x -> length(repeat('a', x)))",
	} {
		if answer, err := ask(t, s, query); err == nil {
			t.Errorf("%s: %.100s", query, answer)
		}
	}
	for query, want := range map[string]string{
		"SELECT repeat('ab', 3)": "ababab\n", "SELECT repeat('-', i) FROM range(1, 3) r(i)": "-\n--\n",
		"SELECT lpad('1', 3, '0'), rpad('1', 3, '.')": "001 1..\n",
		"SELECT replace('a/b', '/', '.')":             "a.b\n", "SELECT regexp_replace('aa', 'a', 'b'), regexp_replace('aa', 'a', 'b', 'g')": "ba bb\n",
		"SELECT printf('%05.1f', 1.25), format('{:>5}', 'x')": "001.2     x\n", "SELECT len(range(10)), len(generate_series(1, 5)), len(range(10, 0, -1))": "10 5 10\n",
		"SELECT count(*) FROM range(100000)": "100000\n", "SELECT unnest(range(2))": "0\n1\n", "SELECT 'a' || 'b' || 'c'": "abc\n",
		"SELECT length(string_agg('a', '')) FROM range(1000)": "1000\n",
		"WITH a AS (SELECT 1 x), b AS (SELECT x || '-' || x s, x || '+' p FROM a), c AS (SELECT s || p s FROM b), d AS (SELECT s || '.' s FROM c), e AS (SELECT s FROM d) SELECT s || '' FROM e": "1-11+.\n",
		"WITH RECURSIVE t AS (SELECT 1 n, 'a' s UNION ALL SELECT n + 1, s || '>' || n FROM t WHERE n < 3) SELECT s FROM t ORDER BY n":                                                            "a\na>1\na>1>2\n",
	} {
		if answer, err := ask(t, s, query); err != nil || answer != want {
			t.Errorf("%s: %q, %v, want %q", query, answer, err, want)
		}
	}
}

// TestSQLEndsEarly: an interrupt that comes before a statement has begun is not lost.
func TestSQLEndsEarly(t *testing.T) {
	s := filled(t)
	for range 10 {
		ctx, cancel := context.WithCancel(t.Context())
		open, err := s.sql.Open(ctx, "SELECT sum(a.range * b.range) FROM range(10000000) a, range(10000000) b")
		if err != nil {
			t.Fatal(err)
		}
		go cancel()
		for _, err := range open.All() {
			if !errors.Is(err, context.Canceled) {
				t.Errorf("cancelled: %v", err)
			}
		}
	}
}
