package duckdb

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	bind "github.com/duckdb/duckdb-go-bindings"
	"github.com/google/go-cmp/cmp"

	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/store/duckdb/internal/driver"
	"github.com/dendroprof/dendro/store/duckdb/internal/schema"
	"github.com/dendroprof/dendro/test/storetest"
)

// TestMain lets the test binary be its own child: DENDRO_CHILD describes what to do.
func TestMain(m *testing.M) {
	if role := os.Getenv("DENDRO_CHILD"); role != "" {
		if err := child(role, os.Getenv("DENDRO_PATH")); err != nil {
			fmt.Println("error:", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func child(role, path string) error {
	if role == "full" { // files may grow to a megabyte: a disk that is nearly full
		signal.Ignore(syscall.SIGXFSZ)
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: 1 << 20, Max: 1 << 20}); err != nil {
			return err
		}
	}
	if role == "step" { // is killed while it does
		addStep(nextStep)
		fmt.Println("open")
	}
	s, err := Open(context.Background(), path, Options{})
	if err != nil {
		return err
	}
	fmt.Println("open")
	switch role {
	case "step":
		return s.Close()
	case "intake":
		return intakeChild(s)
	case "windows":
		return windowsChild(s)
	case "intake on a full disk":
		return fullIntakeChild(s)
	}
	im := storetest.NewImporter()
	for i := 0; role != "hold"; i++ {
		if role == "compact" && i%3 == 2 {
			if err := s.Compact(context.Background()); err != nil {
				return err
			}
		}
		var list []*store.File
		for k := range 3 {
			list = append(list, crashFile(im, i, k, role == "full"))
		}
		if _, err := s.Put(context.Background(), list, store.PutOptions{Rules: "1"}); err != nil {
			if role == "full" {
				fmt.Println("full:", errors.Is(err, store.ErrNoSpace), err)
				return readAfterFull(s)
			}
			return err
		}
		fmt.Println("put", i)
	}
	time.Sleep(time.Hour)
	return nil
}

// readAfterFull checks that a store whose disk is full still answers.
func readAfterFull(s *Store) error {
	list, err := s.Profiles(context.Background(), store.Query{})
	if err != nil {
		return err
	}
	for _, p := range list {
		if _, _, err := store.MergeTrees(context.Background(), s, store.Query{Profiles: []store.ProfileID{p.ID}}); err != nil {
			return fmt.Errorf("after a full disk: %w", err)
		}
	}
	fmt.Println("profiles", len(list))
	return s.Close()
}

// crashFile is one of the three files of Put i; two value types each.
func crashFile(im *storetest.Importer, i, k int, large bool) *store.File {
	f := im.File("g", fmt.Sprint("b", k), fmt.Sprint("r", i), profile.CPUSamples, fmt.Sprintf("×%d  ×2\nA  A\nB%d  C\nD  ·", i+1, i))
	im.Add(f, profile.Alloc, fmt.Sprintf("×%d\nA", i+1))
	if large {
		f.Source = []byte(strings.Repeat(fmt.Sprint(i, k), 20_000))
	}
	return f
}

func startChild(t *testing.T, role, path string) (*exec.Cmd, *bufio.Scanner) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "DENDRO_CHILD="+role, "DENDRO_PATH="+path)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	lines := bufio.NewScanner(out)
	if !lines.Scan() || lines.Text() != "open" {
		t.Fatalf("child: %q", lines.Text())
	}
	return cmd, lines
}

// TestKill kills a process while it puts, or puts and compacts, at some moment
// later each time, and requires all that was acknowledged and nothing by halves.
func TestKill(t *testing.T) {
	for _, role := range []string{"put", "compact"} {
		t.Run(role, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "store.duckdb")
			for round := range 12 {
				path := path + fmt.Sprint(round)
				cmd, lines := startChild(t, role, path)
				killed := time.AfterFunc(time.Duration(20+round*23)*time.Millisecond, func() { cmd.Process.Kill() })
				acknowledged := -1
				for lines.Scan() {
					if _, err := fmt.Sscanf(lines.Text(), "put %d", &acknowledged); err != nil {
						t.Fatal(lines.Text())
					}
				}
				killed.Stop()
				cmd.Wait()
				checkSurvivor(t, path, acknowledged)
			}
		})
	}
}

func checkSurvivor(t *testing.T, path string, acknowledged int) {
	t.Helper()
	s := mustOpen(t, path, Options{})
	defer s.Close()
	list, err := s.Profiles(context.Background(), store.Query{})
	if err != nil {
		t.Fatal(err)
	}
	if n := len(list); n%6 != 0 || n < 6*(acknowledged+1) || n > 6*(acknowledged+2) {
		t.Fatalf("%d Puts of 6 profiles were acknowledged, %d profiles are there", acknowledged+1, n)
	}
	rows := 0
	for _, p := range list {
		tree, _, err := store.MergeTrees(context.Background(), s, store.Query{Profiles: []store.ProfileID{p.ID}})
		if err != nil {
			t.Fatal(err)
		}
		set, err := s.Functions(context.Background(), store.Query{Profiles: []store.ProfileID{p.ID}}, nil)
		if err != nil || tree.RootTotal() != p.Sum || tree.Len() != p.Nodes || len(set.Functions) == 0 {
			t.Fatalf("profile %+v: %v", p, err)
		}
		rows += len(set.Functions)
	}
	if n, err := ask(t, s, "SELECT count(*) FROM function_sample"); err != nil || n != fmt.Sprintln(rows) {
		t.Errorf("function_sample has %s rows, want %d: %v", n, rows, err)
	}
	put(t, s, crashFile(storetest.NewImporter(), 50_000, 0, false))
}

func TestLocked(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.duckdb")
	cmd, _ := startChild(t, "hold", path)
	for _, opts := range []Options{{}, {ReadOnly: true}} {
		_, err := Open(t.Context(), path, opts)
		if !errors.Is(err, store.ErrLocked) || !strings.Contains(err.Error(), fmt.Sprint(cmd.Process.Pid)) ||
			!strings.Contains(err.Error(), filepath.Base(os.Args[0])) || !strings.Contains(err.Error(), "--store http://") {
			t.Errorf("%+v: %v", opts, err)
		}
	}
	cmd.Process.Kill()
	cmd.Wait()
	s := mustOpen(t, path, Options{})
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), link, Options{ReadOnly: true}); !errors.Is(err, store.ErrLocked) {
		t.Errorf("twice in one process: %v", err)
	}
	s.Close()
	s.Close()
	mustOpen(t, path, Options{})
	if _, err := s.Profiles(context.Background(), store.Query{}); err == nil {
		t.Error("a closed store answers")
	}
}

// TestNoSpace runs a child whose files cannot grow: what was acknowledged stays
// readable there and here.
func TestNoSpace(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.duckdb")
	_, lines := startChild(t, "full", path)
	acknowledged, full, read := -1, false, -1
	for lines.Scan() {
		switch line := lines.Text(); {
		case strings.HasPrefix(line, "full: true"):
			full = true
		case strings.HasPrefix(line, "put "):
			fmt.Sscanf(line, "put %d", &acknowledged)
		case strings.HasPrefix(line, "profiles "):
			fmt.Sscanf(line, "profiles %d", &read)
		default:
			t.Error(line)
		}
	}
	if !full || acknowledged < 0 || read != 6*(acknowledged+1) {
		t.Errorf("full %v, acknowledged %d, read %d", full, acknowledged, read)
	}
	checkSurvivor(t, path, acknowledged)
}

func TestNotStore(t *testing.T) {
	dir := t.TempDir()
	text := filepath.Join(dir, "notes.txt")
	if err := os.WriteFile(text, []byte(strings.Repeat("not a database\n", 1000)), 0o666); err != nil {
		t.Fatal(err)
	}
	foreign := filepath.Join(dir, "foreign.duckdb")
	edit(t, foreign, "CREATE TABLE meta(key VARCHAR, value VARCHAR); CREATE TABLE mine(i INTEGER); INSERT INTO mine VALUES (1)")
	for _, path := range []string{text, foreign, dir} {
		before, _ := os.ReadFile(path)
		for _, opts := range []Options{{}, {ReadOnly: true}} {
			if _, err := Open(t.Context(), path, opts); !errors.Is(err, store.ErrNotStore) || !strings.Contains(err.Error(), path) {
				t.Errorf("%s: %v", path, err)
			}
		}
		if after, _ := os.ReadFile(path); string(before) != string(after) {
			t.Errorf("%s was changed", path)
		}
	}
	if _, err := Open(t.Context(), filepath.Join(dir, "missing"), Options{ReadOnly: true}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("missing: %v", err)
	}
	if _, err := Open(t.Context(), filepath.Join(dir, "no", "where"), Options{}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("missing directory: %v", err)
	}
}

// TestLeftAtCreation opens what a process leaves that is killed while it creates a store:
// a file without content, or a database without tables. Both are as good as no file.
func TestLeftAtCreation(t *testing.T) {
	dir := t.TempDir()
	file, database := filepath.Join(dir, "file.duckdb"), filepath.Join(dir, "database.duckdb")
	if err := os.WriteFile(file, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	// Nearly as long ago as another process may still be about to fill it.
	if err := os.Chtimes(file, time.Time{}, time.Now().Add(-9900*time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	edit(t, database, "SELECT 1")
	for _, path := range []string{file, database} {
		if _, err := Open(t.Context(), path, Options{ReadOnly: true}); !errors.Is(err, fs.ErrNotExist) ||
			!strings.Contains(err.Error(), "there is no store") {
			t.Errorf("%s, to read: %v", path, err)
		}
		s, err := Open(t.Context(), path, Options{})
		if err != nil {
			t.Errorf("%s, to write: %v", path, err)
			continue
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		mustOpen(t, path, Options{ReadOnly: true})
	}
}

// edit changes a file as another DuckDB program would.
func edit(t *testing.T, path, sql string) {
	t.Helper()
	db, err := driver.OpenDB(path, driver.Options{}, "")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := db.Use(func(c *driver.Conn) error { return c.Exec(sql) }); err != nil {
		t.Fatal(err)
	}
}

// TestVersions opens stores of versions that this program does not know: errors say why, and
// the file stays as it is.
func TestVersions(t *testing.T) {
	path := filledFile(t)
	for _, c := range []struct {
		meta string // of table meta
		want error
		text string
	}{
		{"UPDATE meta SET value = '%d' WHERE key = 'version'", store.ErrNewer, "use a newer dendro"},
		{"UPDATE meta SET value = '0' WHERE key = 'version'", store.ErrCorrupt, `schema is "0"`},
		{"UPDATE meta SET value = 'x' WHERE key = 'version'", store.ErrCorrupt, `schema is "x"`},
		{"DELETE FROM meta WHERE key = 'version'; INSERT INTO meta VALUES ('schema', '11')", store.ErrOlder, "import the profiles into a new file"},
		{"DELETE FROM meta", store.ErrNotStore, "other tables"},
	} {
		if err := copyFile(path, path+".changed"); err != nil {
			t.Fatal(err)
		}
		sql := c.meta
		if strings.Contains(sql, "%") {
			sql = fmt.Sprintf(sql, len(schema.Steps)+1)
		}
		edit(t, path+".changed", sql)
		before, err := os.ReadFile(path + ".changed")
		if err != nil {
			t.Fatal(err)
		}
		for _, readOnly := range []bool{true, false} {
			_, err := Open(t.Context(), path+".changed", Options{ReadOnly: readOnly})
			if !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.text) {
				t.Errorf("%s: %v", sql, err)
			}
		}
		if after, err := os.ReadFile(path + ".changed"); err != nil || !bytes.Equal(before, after) {
			t.Errorf("%s: the file is changed, %v", sql, err)
		}
	}
	// DuckDB's own version is the word behind the magic bytes.
	file, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	file[12]++
	storage := filepath.Join(t.TempDir(), "storage.duckdb")
	if err := os.WriteFile(storage, file, 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), storage, Options{}); !errors.Is(err, store.ErrNewer) && !errors.Is(err, store.ErrCorrupt) {
		t.Errorf("newer storage: %v", err)
	}
	mustOpen(t, path, Options{})
}

// TestFileNames opens, fills, asks and compacts stores whose names mean
// something to DuckDB.
func TestFileNames(t *testing.T) {
	for _, name := range []string{"fresh", "fresh.copy", "temp.duckdb", "system.db", "main", "memory.duckdb", "selected", "a b'\"c;.x.duckdb",
		"ä", "fn.duckdb", "1"} {
		t.Run(name, func(t *testing.T) {
			s := mustOpen(t, filepath.Join(t.TempDir(), name), Options{})
			f := storetest.File("g", "b", "r", profile.CPUSamples, "A\nB")
			if out, err := s.Put(t.Context(), []*store.File{f}, store.PutOptions{Rules: storetest.Rules}); err != nil || out[0].Err != nil {
				t.Fatal(err, out)
			}
			if err := s.Compact(t.Context()); err != nil {
				t.Fatal(err)
			}
			if sums, err := s.SumFunctions(t.Context(), store.Query{}); err != nil || len(sums.Rows) != 2 {
				t.Error(sums, err)
			}
			if n, err := s.Delete(t.Context(), []store.ProfileID{store.IDOf(f.Benchmark, "r", profile.CPUSamples)}); n != 1 || err != nil {
				t.Error(n, err)
			}
		})
	}
}

// nextStep is a step that a later version may have: it changes a table and its rows.
const nextStep = "ALTER TABLE fn ADD COLUMN fresh VARCHAR DEFAULT ''; UPDATE fn SET fresh = name || '!'"

// addStep makes this the program of the next version.
func addStep(step string) { schema.Steps = append(slices.Clip(schema.Steps), step) }

// TestNextStep opens a file of today with a program that has one step more.
func TestNextStep(t *testing.T) {
	steps := schema.Steps
	t.Cleanup(func() { schema.Steps = steps })
	const columns = "SELECT table_name, column_name, data_type FROM duckdb_columns() WHERE NOT internal AND database_name <> 'temp' ORDER BY ALL"
	path := filledFile(t)
	s := mustOpen(t, path, Options{})
	want := fmt.Sprint(dump(t, s))
	s.Close()

	addStep("ALTER TABLE fn ADD COLUMN nothing VARCHAR; SELECT nonsense")
	if _, err := Open(t.Context(), path, Options{}); err == nil || !strings.Contains(err.Error(), "schema 2") {
		t.Errorf("a step that fails: %v", err)
	}
	schema.Steps = steps
	addStep(nextStep)
	_, err := Open(t.Context(), path, Options{ReadOnly: true})
	if !errors.Is(err, store.ErrOlder) || !strings.Contains(err.Error(), "dendro compact") {
		t.Errorf("reading an older file: %v", err)
	}
	fresh, err := ask(t, mustOpen(t, filepath.Join(t.TempDir(), "fresh"), Options{}), columns)
	if err != nil || !strings.Contains(fresh, "fresh") || strings.Contains(fresh, "nothing") {
		t.Fatal(fresh, err)
	}
	for range 2 { // the second time there is nothing to do
		s := mustOpen(t, path, Options{})
		if stepped, err := ask(t, s, columns); err != nil || stepped != fresh {
			t.Errorf("the tables are others than those of a new store: %v\n%s", err, cmp.Diff(fresh, stepped))
		}
		if n, err := ask(t, s, "SELECT count(*) FROM fn WHERE fresh <> name || '!'"); err != nil || n != "0\n" {
			t.Error(n, err)
		}
		if got := fmt.Sprint(dump(t, s)); got != want {
			t.Error("other content:", cmp.Diff(want, got))
		}
		s.Close()
	}
	schema.Steps = steps
	if _, err := Open(t.Context(), path, Options{}); !errors.Is(err, store.ErrNewer) {
		t.Errorf("a newer file: %v", err)
	}
}

// TestKilledStep kills processes that bring a file up to date; whoever opens it next
// finds all of it. Two that open it at once do not get in each other's way.
func TestKilledStep(t *testing.T) {
	old := filledFile(t)
	s := mustOpen(t, old, Options{})
	want := fmt.Sprint(dump(t, s))
	s.Close()
	steps := schema.Steps
	t.Cleanup(func() { schema.Steps = steps })
	addStep(nextStep)
	for try := range 20 {
		path := filepath.Join(t.TempDir(), "store.duckdb")
		if err := copyFile(old, path); err != nil {
			t.Fatal(err)
		}
		first, _ := startChild(t, "step", path)
		if try%4 == 3 {
			second, _ := startChild(t, "step", path)
			second.Wait()
		} else {
			time.Sleep(time.Duration(try) * 2 * time.Millisecond)
		}
		first.Process.Kill()
		first.Wait()
		s := mustOpen(t, path, Options{})
		if got := fmt.Sprint(dump(t, s)); got != want {
			t.Errorf("try %d: %s", try, cmp.Diff(want, got))
		}
		s.Close()
	}
}

func filledFile(t *testing.T) string {
	s := filled(t)
	s.Close()
	return s.file.Path
}

// TestCorrupt damages a store in many places: an error or the old answer, never
// a crash and never another answer.
func TestCorrupt(t *testing.T) {
	path := filledFile(t)
	s := mustOpen(t, path, Options{})
	want := fmt.Sprint(dump(t, s))
	s.Close()
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	damaged := filepath.Join(t.TempDir(), "damaged.duckdb")
	found := 0
	try := func(what string, file []byte) {
		removeDatabase(damaged)
		if err := os.WriteFile(damaged, file, 0o666); err != nil {
			t.Fatal(err)
		}
		s, err := Open(t.Context(), damaged, Options{ReadOnly: true})
		if err == nil {
			defer s.Close()
			err = s.verify(t, want)
		}
		if err == nil {
			return
		}
		found++
		if !errors.Is(err, store.ErrCorrupt) && !errors.Is(err, store.ErrNotStore) && !errors.Is(err, store.ErrNewer) {
			t.Errorf("%s: %v", what, err)
		}
	}
	for _, size := range []int{1, 100, 4096, 12288, len(whole) / 2, len(whole) - 262144, len(whole) - 4096} {
		if size > 0 && size < len(whole) {
			try(fmt.Sprint("cut to ", size), whole[:size])
		}
	}
	for i := range 60 {
		file := append([]byte(nil), whole...)
		at := (i*7919 + i*i*104729) % len(file)
		if i < 20 {
			at = 12288 + i*997 // the first blocks hold the catalog
		}
		file[at%len(file)] ^= 0x55
		try(fmt.Sprint("byte ", at), file)
	}
	if found == 0 {
		t.Error("no damage was found")
	}
}

// verify returns an error that reading the store gives, and fails the test for a
// wrong answer.
func (s *Store) verify(t *testing.T, want string) error {
	ctx := context.Background()
	for _, q := range []store.Query{{Types: []string{profile.CPUSamples}}, {Types: []string{profile.Alloc}}} {
		if _, _, err := store.MergeTrees(ctx, s, q); err != nil {
			return err
		}
	}
	if _, err := store.SumFunctions(ctx, s, store.Query{}); err != nil {
		return err
	}
	if got := fmt.Sprint(dump(t, s)); got != want {
		t.Errorf("a damaged store answers otherwise:\n%s\n%s", got, want)
	}
	return nil
}

func TestReadOnly(t *testing.T) {
	path := filledFile(t)
	s := mustOpen(t, path, Options{ReadOnly: true})
	ctx := context.Background()
	if _, err := s.Put(ctx, []*store.File{crashFile(storetest.NewImporter(), 1, 1, false)}, rules); !errors.Is(err, store.ErrReadOnly) {
		t.Errorf("Put: %v", err)
	}
	if _, err := s.Delete(ctx, []store.ProfileID{"x"}); !errors.Is(err, store.ErrReadOnly) {
		t.Errorf("Delete: %v", err)
	}
	if err := s.Compact(ctx); !errors.Is(err, store.ErrReadOnly) {
		t.Errorf("Compact: %v", err)
	}
	if got, err := ask(t, s, "SELECT count(*) FROM function_node"); err != nil || got != "13\n" {
		t.Errorf("SQL: %q, %v", got, err)
	}
	s.Close()
	// Permissions do not stop root; a read-only file system does.
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=8m"); err != nil {
		t.Skip("mounting a read-only file system: ", err)
	}
	defer syscall.Unmount(dir, 0)
	if err := copyFile(path, filepath.Join(dir, "store.duckdb")); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("tmpfs", dir, "tmpfs", syscall.MS_REMOUNT|syscall.MS_RDONLY, ""); err != nil {
		t.Skip(err)
	}
	for _, name := range []string{"store.duckdb", "new.duckdb"} {
		if _, err := Open(t.Context(), filepath.Join(dir, name), Options{}); !errors.Is(err, store.ErrReadOnly) {
			t.Errorf("%s: %v", name, err)
		}
	}
	mustOpen(t, filepath.Join(dir, "store.duckdb"), Options{ReadOnly: true}).Close()
}

func TestVersionOfDuckDB(t *testing.T) {
	if v := bind.LibraryVersion(); !strings.HasPrefix(v, "v1.5.") {
		t.Errorf("DuckDB %s: run the tests of errors and of SQL, then change this line", v)
	}
}

func copyFile(from, to string) error {
	src, err := os.Open(from)
	if err != nil {
		return err
	}
	defer src.Close()
	dst, err := os.Create(to)
	if err != nil {
		return err
	}
	defer dst.Close()
	if _, err := io.Copy(dst, src); err != nil {
		return err
	}
	return dst.Sync()
}
