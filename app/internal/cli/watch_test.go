package cli

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dendroprof/dendro/app/internal/cli/command"
)

// TestWatch posts the regression of the demo once, and again what could not be posted.
func TestWatch(t *testing.T) {
	dir := t.TempDir()
	address, state := filepath.Join(dir, "demo.duckdb"), filepath.Join(dir, "posted.json")
	var out, errOut bytes.Buffer
	run := func(args ...string) int {
		out.Reset()
		errOut.Reset()
		return run(t.Context(), &command.Env{In: strings.NewReader(""), Out: &out, Err: &errOut}, append(args, "--store", address))
	}
	if status := run("demo"); status != 0 {
		t.Fatal(errOut.String())
	}
	var bodies []string
	status := http.StatusBadGateway
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		bodies = append(bodies, string(body))
		w.WriteHeader(status)
	}))
	defer s.Close()
	watch := func() int {
		return run("watch", "--once", "--state", state, "--webhook", s.URL+"/SECRET", "--format", "slack")
	}
	if got := watch(); got != exitError || strings.Contains(errOut.String(), "SECRET") || !strings.Contains(errOut.String(), "502") {
		t.Errorf("a hook that fails: status %d, %s", got, &errOut)
	}
	failed := len(bodies)
	status = http.StatusOK
	if got := watch(); got != exitFine || len(bodies) != 2*failed || failed == 0 || !strings.Contains(bodies[failed], "became slower: ") {
		t.Errorf("status %d, %d posts after %d that failed: %q, %s", got, len(bodies), failed, bodies, &errOut)
	}
	if got := watch(); got != exitFine || len(bodies) != 2*failed || out.Len() > 0 {
		t.Errorf("again: status %d, %d posts, said %s", got, len(bodies), &out)
	}
	if got := run("watch", "--once", "--state", state, "--service", "shop"); got != exitFine ||
		!strings.Contains(errOut.String(), "no service has pushed") {
		t.Errorf("a service without windows: status %d, %s", got, &errOut)
	}
}

// TestHostileServer: nothing that a server says reaches the terminal as it is.
func TestHostileServer(t *testing.T) {
	const title = `\u001b]0;owned\u0007`
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/api/v1/info" {
			io.WriteString(w, `{"product":"dendro","version":"v0.1.0","api":1,"transfer":1,`+
				`"store":{"engine":"mem`+title+`","location":"`+title+`"}}`)
			return
		}
		w.Header().Set("Content-Type", "application/problem+json")
		w.WriteHeader(http.StatusNotFound)
		io.WriteString(w, `{"type":"urn:dendro:problem:nothing","title":"`+title+`","status":404,"detail":"`+title+`"}`)
	}))
	defer s.Close()
	watch := "watch --once --state " + filepath.Join(t.TempDir(), "s.json") + " --webhook " + s.URL
	for _, args := range []string{"store info", watch, "runs"} {
		var out, errOut bytes.Buffer
		run(t.Context(), &command.Env{In: strings.NewReader(""), Out: &out, Err: &errOut}, append(strings.Fields(args), "--store", s.URL))
		if text := out.String() + errOut.String(); strings.Contains(text, "\x1b") || !strings.Contains(text, `\x1b]0;owned`) {
			t.Errorf("%s: %q", args, text)
		}
	}
}
