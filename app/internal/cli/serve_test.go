package cli

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/spf13/pflag"

	"github.com/dendroprof/dendro/store"
)

func TestFromEnvironment(t *testing.T) {
	environment := map[string]string{"DENDRO_HTTP_LISTEN": "from environment", "DENDRO_MAX_REQUESTS": "7", "DENDRO_SQL": "false",
		"DENDRO_HELP": "true"}
	flags := pflag.NewFlagSet("serve", pflag.ContinueOnError)
	listen, requests, sql := flags.String("http-listen", "default", ""), flags.Int("max-requests", 1, ""), flags.Bool("sql", true, "")
	flags.Bool("help", false, "")
	if err := flags.Parse([]string{"--http-listen", "given"}); err != nil {
		t.Fatal(err)
	}
	lookup := func(name string) (string, bool) { v, ok := environment[name]; return v, ok }
	if err := fromEnvironment(flags, lookup); err != nil || *listen != "given" || *requests != 7 || *sql {
		t.Errorf("%q, %d, %v, %v", *listen, *requests, *sql, err)
	}
	environment["DENDRO_MAX_REQUESTS"] = "many"
	flags = pflag.NewFlagSet("serve", pflag.ContinueOnError)
	flags.Int("max-requests", 1, "")
	var usage usageError
	if err := fromEnvironment(flags, lookup); !errors.As(err, &usage) || !strings.Contains(err.Error(), "DENDRO_MAX_REQUESTS") {
		t.Errorf("a number that is none: %v", err)
	}
}

func TestTokenFiles(t *testing.T) {
	dir := t.TempDir()
	file := func(name, content string) string {
		name = filepath.Join(dir, name)
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return name
	}
	o := serveOptions{tokenFiles: [3]string{"", file("token", " secret \nsecond line\n"), ""}}
	if err := o.tokens(); err != nil || o.HTTPToken != "secret" || o.AgentToken != "" {
		t.Errorf("%q, %v", o.HTTPToken, err)
	}
	for want, o := range map[string]*serveOptions{
		"is empty":     {tokenFiles: [3]string{file("empty", "\n")}},
		"no such file": {tokenFiles: [3]string{filepath.Join(dir, "none")}},
		"give one of them": func() *serveOptions {
			o := &serveOptions{tokenFiles: [3]string{file("agent", "a")}}
			o.AgentToken = "b"
			return o
		}(),
	} {
		if err := o.tokens(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

func TestOwnedBy(t *testing.T) {
	where := filepath.Join(t.TempDir(), "s.duckdb")
	locked := errors.New("s.duckdb: locked: process 17 (dendro) has it open")
	for _, test := range []struct{ note, want string }{
		{"", locked.Error()},
		{"no JSON", locked.Error()},
		{`{"pid":1,"address":"http://localhost:1"}`, locked.Error()}, // of a server that was killed
		{`{"pid":17,"address":"http://localhost:1"}`, "use --store http://localhost:1"},
		{`{"pid":17}`, "does not speak HTTP"},
	} {
		if test.note != "" {
			if err := os.WriteFile(ownerNote(where), []byte(test.note), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		err := ownedBy(where, locked)
		if !strings.Contains(err.Error(), test.want) || err != locked && !errors.Is(err, store.ErrLocked) {
			t.Errorf("note %s: %v", test.note, err)
		}
	}
}

// TestServeIsDocumented wants every flag in the documentation.
func TestServeIsDocumented(t *testing.T) {
	var pages []byte
	for _, name := range []string{"server.md", "skywalking.md", "continuous.md"} {
		page, err := os.ReadFile("../../../docs/" + name)
		if err != nil {
			t.Fatal(err)
		}
		pages = append(pages, page...)
	}
	newServe(&env{}).LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) {
		if !strings.Contains(string(pages), "`--"+f.Name+"`") && f.Name != "help" {
			t.Errorf("no page explains --%s", f.Name)
		}
	})
}

// TestOwnerNoteFollowsNoLink: who may write beside a store cannot make the server overwrite
// a file elsewhere.
func TestOwnerNoteFollowsNoLink(t *testing.T) {
	dir := t.TempDir()
	precious, note := filepath.Join(dir, "precious"), filepath.Join(dir, "x.duckdb.serve")
	if err := errors.Join(os.WriteFile(precious, []byte("precious"), 0o644), os.Symlink(precious, note)); err != nil {
		t.Fatal(err)
	}
	if err := writeNote(note, []byte("{}\n")); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(precious); err != nil || string(text) != "precious" {
		t.Errorf("%q, %v", text, err)
	}
	info, err := os.Lstat(note)
	if err != nil || !info.Mode().IsRegular() || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if err := writeNote(note, []byte("{}\n")); err != nil { // left by a killed server
		t.Error(err)
	}
}

// TestStoresArePrivate: the file of a new store, and what belongs to it.
func TestStoresArePrivate(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	defer syscall.Umask(syscall.Umask(0o022)) // which is the process's, and so that of all tests
	if err := os.WriteFile("x.folded", []byte("main;f 1\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	run := func(args ...string) {
		t.Helper()
		var out, errOut strings.Builder
		if status := Main(args, strings.NewReader(""), &out, &errOut); status != 0 {
			t.Fatalf("%q: status %d: %s", args, status, &errOut)
		}
	}
	modes := func(want os.FileMode) {
		t.Helper()
		names, _ := filepath.Glob("x.duckdb*")
		for _, name := range names {
			if info, err := os.Stat(name); err != nil || info.Mode().Perm() != want {
				t.Errorf("%s: %v, %v", name, info.Mode(), err)
			}
		}
	}
	run("import", "--store", "x.duckdb", "--run", "1", "x.folded")
	modes(0o600)
	run("compact", "--store", "x.duckdb")
	modes(0o600)
	if err := os.Chmod("x.duckdb", 0o644); err != nil {
		t.Fatal(err)
	}
	run("compact", "--store", "x.duckdb")
	modes(0o644)
	if err := os.WriteFile("report.md", nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat("report.md"); err != nil || info.Mode().Perm() != 0o644 {
		t.Errorf("the process creates private files for good: %v, %v", info, err)
	}
}
