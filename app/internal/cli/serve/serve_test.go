package serve

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/dendroprof/dendro/app/internal/cli/command"
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
	var usage command.UsageError
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

// TestServeIsDocumented wants every flag in the documentation.
func TestServeIsDocumented(t *testing.T) {
	var pages []byte
	for _, name := range []string{"server.md", "skywalking.md", "continuous.md", "web.md", "start/fleet.md"} {
		page, err := os.ReadFile("../../../../docs/" + name)
		if err != nil {
			t.Fatal(err)
		}
		pages = append(pages, page...)
	}
	newServe(&command.Env{}).LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) {
		if !strings.Contains(string(pages), "`--"+f.Name+"`") && f.Name != "help" {
			t.Errorf("no page explains --%s", f.Name)
		}
	})
}

// TestRoles: flags of a fleet that do not fit are refused before anything is opened.
func TestRoles(t *testing.T) {
	for _, c := range []struct {
		where, want string
		set         func(*serveOptions)
	}{
		{"s.duckdb", "", func(o *serveOptions) { o.windows.receive = true }},
		{"lake:dir", "--windows-lake", func(o *serveOptions) { o.windows.receive = true }},
		{"s.duckdb", "--windows-from", func(o *serveOptions) { o.fleet.lake = "dir" }},
		{"s.duckdb", "", func(o *serveOptions) { o.fleet.lake, o.fleet.windows = "dir", "kafka://localhost/windows" }},
		{"s.duckdb", "one of them", func(o *serveOptions) { o.fleet.gateway, o.fleet.windows = "kafka://a/b", "kafka://a/b" }},
	} {
		o := &serveOptions{}
		o.fleet.session = shortestSession
		c.set(o)
		if err := o.checkFleet(c.where); (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s, want %q: %v", c.where, c.want, err)
		}
	}
}

// TestDemoWithoutKafka: a demo that no Kafka answers says how to get one, and starts nothing.
func TestDemoWithoutKafka(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "demo")
	c := newFleetDemo(&command.Env{})
	c.SetArgs([]string{"kafka://127.0.0.1:1/windows", "--dir", dir})
	c.SilenceErrors, c.SilenceUsage = true, true
	if err := c.ExecuteContext(t.Context()); err == nil || !strings.Contains(err.Error(), "docker run") {
		t.Errorf("the demo ended with %v", err)
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("it made its folder: %v", err)
	}
}
