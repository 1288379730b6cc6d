package cli

import (
	"net/http/httptest"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/dendroprof/dendro/app/internal/cli/command"
	"github.com/dendroprof/dendro/app/internal/server"
	"github.com/dendroprof/dendro/app/internal/server/api"
	"github.com/dendroprof/dendro/store/engines"
)

// TestTaskAPI runs the task commands of the script with -o json and the same requests
// over HTTP: both must print the same bytes.
func TestTaskAPI(t *testing.T) {
	where := t.TempDir() + "/s.duckdb"
	if err := sampledStore(t.Context(), where); err != nil {
		t.Fatal(err)
	}
	script, err := os.ReadFile("testdata/script/task.txtar")
	if err != nil {
		t.Fatal(err)
	}
	commands := map[string]string{} // address → what the command prints
	for line := range strings.Lines(string(script)) {
		args, ok := strings.CutPrefix(strings.TrimSpace(line), "exec dendro task ")
		if !ok {
			continue
		}
		words := strings.Fields(args)
		if i := slices.Index(words, "-o"); i > 0 {
			words = slices.Delete(words, i, i+2)
		}
		for output, form := range map[string]string{"json": "rows", "json-columns": "columns"} {
			target := addressOf(words, form)
			if target == "" || form == "columns" && words[0] == "show" {
				continue
			}
			var out, errOut strings.Builder
			e := &command.Env{In: strings.NewReader(""), Out: &out, Err: &errOut}
			if status := run(t.Context(), e, append([]string{"task", "-o", output, "--store", where}, words...)); status != exitFine {
				t.Fatalf("%s: %s", line, errOut.String())
			}
			commands[target] = out.String()
		}
	}
	if len(commands) < 20 {
		t.Errorf("%d addresses", len(commands))
	}
	st, err := engines.Open(t.Context(), where, engines.Write)
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	s, err := server.New(server.Options{}, api.Part(api.Options{Store: st}))
	if err != nil {
		t.Fatal(err)
	}
	for target, want := range commands {
		r := httptest.NewRequest("GET", target, nil)
		r.Host = "localhost"
		w := httptest.NewRecorder()
		if s.Handler().ServeHTTP(w, r); w.Body.String() != want {
			t.Errorf("GET %s answers\n%sthe command prints\n%s", target, w.Body, want)
		}
	}
}

// addressOf returns the address of a command's request, with a parameter for each flag;
// empty: it has none, or reads a file.
func addressOf(words []string, form string) string {
	task := ""
	query := url.Values{"form": {form}}
	for i := 1; i < len(words); i++ {
		name, isFlag := strings.CutPrefix(words[i], "--")
		switch {
		case !isFlag && strings.HasSuffix(words[i], ".tar.gz"):
			return ""
		case !isFlag:
			task = words[i]
		case name == "own" || name == "spans" || name == "dumps":
			query.Set(name, "")
		default:
			i++
			query.Add(name, words[i])
		}
	}
	path := "/api/v1/tasks/" + url.PathEscape(task)
	switch words[0] {
	case "list":
		path = "/api/v1/tasks"
	case "show":
	case "logs", "segments":
		path += "/" + words[0]
	case "analyze":
		path = "/api/v1/analysis"
		if task != "" {
			query.Set("task", task)
		}
	default:
		return ""
	}
	return path + "?" + query.Encode()
}
