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
