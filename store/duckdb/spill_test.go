package duckdb

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestSQLHidesPaths: who may ask need not know where the store is on the server.
func TestSQLHidesPaths(t *testing.T) {
	s := filled(t)
	for _, query := range []string{
		"SELECT current_setting('temp_directory')", "SELECT Current_Setting('allowed_paths')", "FROM duckdb_settings()", "FROM duckdb_settings",
		"FROM pg_settings", "FROM pg_catalog.pg_settings",
		"FROM duckdb_databases()", "FROM duckdb_databases", "FROM pragma_database_list", "FROM duckdb_views()", "FROM sqlite_master",
		"FROM duckdb_logs",
		"SELECT view_definition FROM information_schema.views", "EXPLAIN FROM duckdb_settings()", "SUMMARIZE duckdb_databases",
		"DESCRIBE pg_settings",
		"SELECT (SELECT max(path) FROM Duckdb_Databases)", "WITH x AS (FROM \"pragma_database_list\") FROM x",
	} {
		if got, err := ask(t, s, query); err == nil {
			t.Errorf("%s: no error, but\n%s", query, got)
		} else if strings.Contains(err.Error(), filepath.Dir(s.file.Path)) {
			t.Errorf("%s: %v", query, err)
		}
	}
	for _, query := range []string{"SHOW TABLES", "SHOW DATABASES", "DESCRIBE function_sample", "FROM information_schema.tables",
		"EXPLAIN SELECT * FROM function_sample", "SELECT current_database()"} {
		if got, err := ask(t, s, query); err != nil || strings.Contains(got, filepath.Dir(s.file.Path)) {
			t.Errorf("%s: %v\n%s", query, err, got)
		}
	}
}

// TestSpillIsBounded: a statement fills four times the memory of the database on the disk,
// not the disk.
func TestSpillIsBounded(t *testing.T) {
	path := filledFile(t)
	s := mustOpen(t, path, Options{MemoryLimit: "32MiB"})
	defer s.Close()
	got, err := ask(t, s, "SELECT max(h) FROM (SELECT h, lag(h) OVER (ORDER BY h) FROM (SELECT hash(range) AS h, repeat('x', 100) || range AS t FROM range(30_000_000)))")
	if err == nil || !strings.Contains(err.Error(), "max_temp_directory_size") {
		t.Errorf("%q, %v", got, err)
	}
	if got, err := ask(t, s, "SELECT count(*) FROM fn"); err != nil || got != "4\n" {
		t.Errorf("afterwards: %q, %v", got, err)
	}
}

// TestSpillOfTheKilled: what a killed process has spilled is removed, and nothing else.
func TestSpillOfTheKilled(t *testing.T) {
	path := filledFile(t)
	precious := t.TempDir()
	for _, name := range []string{path + ".tmp/duckdb_temp_storage_DEFAULT-0.tmp", path + ".tmp-4711/duckdb_temp_block-1.block",
		path + ".tmp-12/notes", path + ".template/duckdb_temp_x", precious + "/duckdb_temp_x"} {
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(precious, path+".tmp-99"); err != nil {
		t.Fatal(err)
	}
	mustOpen(t, path, Options{}).Close()
	for name, want := range map[string]bool{path + ".tmp": false, path + ".tmp-4711": false, path + ".tmp-99": false,
		path + ".tmp-12/notes":           true,
		path + ".template/duckdb_temp_x": true, precious + "/duckdb_temp_x": true, path: true} {
		if _, err := os.Lstat(name); (err == nil) != want {
			t.Errorf("%s: %v", filepath.Base(name), err)
		}
	}
}
