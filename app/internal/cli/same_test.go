package cli

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/dendroprof/dendro/app/internal/cli/command"
	"github.com/dendroprof/dendro/app/internal/endpoint"
	"github.com/dendroprof/dendro/app/internal/server"
	"github.com/dendroprof/dendro/app/internal/server/api"
	"github.com/dendroprof/dendro/store/engines"
)

// fileAndServer returns a file with the profiles of the demo, and a server over a copy of it.
func fileAndServer(t *testing.T) (file, address string) {
	t.Helper()
	t.Chdir(t.TempDir())
	for name, value := range map[string]string{"DENDRO_STORE": "", "NO_COLOR": "1", "XDG_CONFIG_HOME": t.TempDir()} {
		t.Setenv(name, value)
	}
	var said bytes.Buffer
	if status := Main([]string{"demo"}, strings.NewReader(""), io.Discard, &said); status != exitFine {
		t.Fatalf("demo: status %d: %s", status, &said)
	}
	return "dendro-demo.duckdb", serveCopy(t, "dendro-demo.duckdb")
}

// serveCopy returns the address of a server over a copy of a file.
func serveCopy(t *testing.T, file string) string {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	copied := filepath.Join(t.TempDir(), "served.duckdb")
	if err := os.WriteFile(copied, data, 0o600); err != nil {
		t.Fatal(err)
	}
	st, err := engines.Open(t.Context(), copied, engines.Write)
	if err != nil {
		t.Fatal(err)
	}
	version, _ := command.Version()
	s, err := server.New(server.Options{}, api.Part(api.Options{Store: st, Version: version, SQL: true}))
	if err != nil {
		t.Fatal(err)
	}
	http := httptest.NewServer(s.Handler())
	t.Cleanup(func() {
		http.Close()
		if err := st.Close(); err != nil {
			t.Error(err)
		}
	})
	return http.URL
}

// TestSameAsServer: every query prints the same bytes from a file and from a server over a copy
// of it, on stdout and stderr, and ends with the same status; in every format it has, and
// with the same refusal of those it does not have.
func TestSameAsServer(t *testing.T) {
	file, address := fileAndServer(t)
	asked, answered := map[string]int{}, 0
	for _, line := range [][]string{
		{"overview"}, {"overview", "--rows", "1"}, {"runs", "--last", "2"}, {"runs", "--profiles", "--rows", "3"}, {"history"},
		{"history", "--function", "regexp.Compile", "--type", "cpu", "--rows", "4"},
		{"top"}, {"top", "--last", "2", "--rows", "5"}, {"top", "--benchmark", "nothing"}, {"tree", "--benchmark", "checkout", "--depth", "6"},
		{"tree", "--invert", "--rows", "9"},
		{"tree", "--view", "flame", "--run", "run-018", "--type", "cpu"}, {"tree", "--select", "runtime.main", "--type", "cpu"},
		{"tree", "--callers", "/(/"},
		{"diff", "--last", "1", "--benchmark", "checkout"}, {"diff", "--base-run", "run-001", "--head-run", "run-018", "--view", "functions"},
		{"diff", "--against", "history", "--benchmark", "search", "--rows", "4"},
		{"find", "regexp.*", "--type", "cpu"}, {"find", "regexp.*", "--by", "run"}, {"find", "compress/flate.* > *"},
		{"list", "regexp.Compile", "--run", "run-018", "--type", "cpu"},
		{"bottlenecks", "--benchmark", "checkout", "--rows", "4"}, {"bottlenecks", "--by", "subtree", "--expand", "greedy", "--rows", "3"},
		{"regressions", "--type", "cpu"}, {"regressions", "--method", "thesis", "--type", "cpu", "--rows", "5"},
		{"regressions", "--method", "hotelling", "--type", "cpu"}, {"regressions", "--method", "correlation", "--rows", "4"},
		{"report", "--type", "cpu"}, {"check", "--type", "cpu"}, {"sql", "SELECT benchmark, count(*) AS n FROM profiles GROUP BY ALL ORDER BY ALL"}, {"sql", "SELECT nothing"},
		{"services"}, {"services", "--over-time"},
		{"export", "--run", "run-018", "--benchmark", "checkout", "--type", "cpu", "--format", "folded"},
	} {
		formats := []string{"text", "json", "tsv", "csv", "md"}
		switch {
		case line[0] == "export":
			formats = []string{"-"}
		case slices.Contains([]string{"report", "check"}, line[0]):
			formats = []string{"text", "json", "md", "html", "sarif", "junit"}
		case slices.Contains([]string{"tree", "diff"}, line[0]) && len(line) < 6:
			formats = append(formats, "json-columns", "html", "svg")
		}
		for _, format := range formats {
			args := append(slices.Clone(line), "-o", format)
			from := func(where string) (string, string) {
				var out, errOut bytes.Buffer
				status := Main(append(slices.Clone(args), "--store", where), strings.NewReader(""), &out, &errOut)
				return out.String(), fmt.Sprintf("status %d\n%s", status, strings.ReplaceAll(errOut.String(), where, "STORE"))
			}
			out, said := from(file)
			remote, remoteSaid := from(address)
			if strings.HasPrefix(said, "status 0\n") || out != "" {
				answered++
			}
			if asked[line[0]]++; out != remote || said != remoteSaid {
				t.Errorf("%q prints\n%.2000s\n%s\nand with a server\n%.2000s\n%s", args, out, said, remote, remoteSaid)
			}
		}
	}
	if answered < 120 {
		t.Errorf("only %d questions are answered", answered)
	}
	for _, e := range endpoint.All { // a query that is added comes here too
		about := e.Describe()
		command := map[string]string{"functions": "top", "profiles": "runs", "lines": "list", "flame": "tree", "pushedServices": "services",
			"pushedSeries": "services"}[about.ID]
		if command == "" {
			command = about.ID
		}
		if untested := []string{"functionNames", "completions", "choices", "search", "link", "accepted", "original", "treePage", "diffPage",
			"bottlenecksPage"}; about.Tag != "traces" && about.Tag != "changes" && !slices.Contains(untested, about.ID) && asked[command] == 0 {
			t.Errorf("no command asks %s", about.ID)
		}
	}
}

// TestSameTools: the tools of assistants answer the same bytes from a file and from a server.
func TestSameTools(t *testing.T) {
	file, address := fileAndServer(t)
	calls := []string{`{"method":"tools/list"}`}
	for _, tool := range []string{
		`"overview","arguments":{}`, `"runs","arguments":{"last":2}`, `"top","arguments":{"rows":5}`,
		`"tree","arguments":{"benchmark":["checkout"],"depth":4}`,
		`"diff","arguments":{"last":1,"benchmark":["checkout"]}`, `"find","arguments":{"pattern":"regexp.*"}`,
		`"bottlenecks","arguments":{"rows":3}`,
		`"regressions","arguments":{"type":["cpu"]}`, `"report","arguments":{"type":["cpu"]}`, `"history","arguments":{}`,
		`"top","arguments":{"benchmark":["nothing"]}`, `"tree","arguments":{"depth":"x"}`, `"nothing","arguments":{}`,
	} {
		calls = append(calls, `{"method":"tools/call","params":{"name":`+tool+`}}`)
	}
	answers := func(where string) (list []string) {
		in, toServer := io.Pipe()
		fromServer, out := io.Pipe()
		ended := make(chan int)
		go func() {
			status := Main([]string{"mcp", "--store", where}, in, out, io.Discard)
			out.Close()
			ended <- status
		}()
		lines := bufio.NewReader(fromServer)
		ask := func(text string, answered bool) {
			if _, err := io.WriteString(toServer, text+"\n"); err != nil {
				t.Fatal(err)
			}
			if answered {
				answer, err := lines.ReadString('\n')
				if err != nil {
					t.Fatalf("%s: %v", text, err)
				}
				list = append(list, strings.ReplaceAll(answer, where, "STORE"))
			}
		}
		ask(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}`, true)
		ask(`{"jsonrpc":"2.0","method":"notifications/initialized"}`, false)
		for i, call := range calls {
			ask(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,%s`, i+1, call[1:]), true)
		}
		toServer.Close()
		if status := <-ended; status != exitFine {
			t.Errorf("mcp: status %d", status)
		}
		return list
	}
	local, remote := answers(file), answers(address)
	if failed := strings.Count(strings.Join(local, ""), `"isError":true`); failed > 2 {
		t.Errorf("%d tools fail: %s", failed, local)
	}
	for i := range local {
		if local[i] != remote[i] || !json.Valid([]byte(local[i])) {
			t.Errorf("%s is answered\n%s\nand with a server\n%s", calls[max(0, i-1)], local[i], remote[i])
		}
	}
}
