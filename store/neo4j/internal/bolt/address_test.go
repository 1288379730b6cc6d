package bolt

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestParseAddress(t *testing.T) {
	for _, c := range []struct {
		where, server, user, database, shown string
	}{
		{"neo4j://host:7687", "neo4j://host:7687", "neo4j", "", "neo4j://host:7687"},
		{"neo4j://anna@host:7687/perf", "neo4j://host:7687", "anna", "perf", "neo4j://host:7687/perf"},
		{"bolt+ssc://host/perf/", "bolt+ssc://host", "neo4j", "perf", "bolt+ssc://host/perf"},
		{"neo4j+s://a%40b@[::1]:1/x?region=eu", "neo4j+s://[::1]:1?region=eu", "a@b", "x", "neo4j+s://[::1]:1/x?region=eu"},
	} {
		a, err := parseAddress(c.where)
		if err != nil || a.server != c.server || a.user != c.user || a.database != c.database || a.String() != c.shown {
			t.Errorf("%s is %+v (%s), %v", c.where, a, a, err)
		}
		if !IsURL(c.where) {
			t.Errorf("%s is not this engine's", c.where)
		}
	}
	for _, where := range []string{"", "neo4j://", "http://host", "neo4j://host/a/b", "neo4j://host/db#x", "dendro.duckdb", "neo4j:host",
		"neo4j://us/er:secret@host", "neo4j://us?er:secret@host/db", "neo4j://us#er:secret@host"} {
		if a, err := parseAddress(where); err == nil {
			t.Errorf("%q is %+v", where, a)
		} else if strings.Contains(err.Error(), "secret") {
			t.Errorf("the error of %q shows the password: %v", where, err)
		}
	}
	if IsURL("dendro.duckdb") || IsURL("http://host") {
		t.Error("IsURL takes what is not this engine's")
	}
}

func TestLocal(t *testing.T) {
	for where, want := range map[string]bool{"neo4j://localhost:7687/db": true, "bolt://127.0.0.1": true, "neo4j+s://[::1]:1": true,
		"neo4j://10.0.0.1": false, "neo4j://localhost.example": false} {
		if a, err := parseAddress(where); err != nil || a.Local() != want {
			t.Errorf("%s: %v, %v", where, a.Local(), err)
		}
	}
}

func FuzzParseAddress(f *testing.F) {
	f.Add("neo4j://user:secret@host:7687/db")
	f.Add("bolt://user@host?x=y")
	f.Add("neo4j://us%er:secret@host")
	f.Add("neo4j://us/er:secret@host")
	f.Fuzz(func(t *testing.T, where string) {
		if !strings.Contains(where, ":secret@") || strings.Count(where, "secret") != 1 {
			return
		}
		a, err := parseAddress(where)
		if err == nil && strings.Contains(a.String(), "secret") {
			t.Errorf("%q shows its password: %s", where, a)
		}
		if err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("the error of %q shows the password: %v", where, err)
		}
	})
}

// TestPassword looks for it where users may have put it.
func TestPassword(t *testing.T) {
	file := filepath.Join(t.TempDir(), "password")
	if err := os.WriteFile(file, []byte("of the file\r\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	ask := func(_ context.Context, user, server string) (string, error) { return user + " at " + server, nil }
	refuse := func(context.Context, string, string) (string, error) { return "", errors.New("no terminal") }
	for _, c := range []struct {
		name, env, envFile string
		opts               Options
		want               string
		ok, fails          bool
	}{
		{name: "nowhere"},
		{name: "environment", env: "of the environment", envFile: file, opts: Options{Password: ask}, want: "of the environment", ok: true},
		{name: "file of the environment", envFile: file, opts: Options{Password: ask}, want: "of the file", ok: true},
		{name: "file", env: "of the environment", opts: Options{PasswordFile: file}, want: "of the file", ok: true},
		{name: "user", opts: Options{Password: ask}, want: "anna at neo4j://host", ok: true},
		{name: "no file", envFile: file + "x", fails: true},
		{name: "no terminal", opts: Options{Password: refuse}, fails: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			for name, value := range map[string]string{PasswordEnv: c.env, PasswordFileEnv: c.envFile} {
				t.Setenv(name, value)
				if value == "" {
					os.Unsetenv(name)
				}
			}
			got, ok, err := Address{server: "neo4j://host", user: "anna"}.password(t.Context(), c.opts)
			if got != c.want || ok != c.ok || (err != nil) != c.fails {
				t.Errorf("%q, %v, %v", got, ok, err)
			}
		})
	}
}
