package server

import (
	"bytes"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestPathsAreHidden: the client of a request learns no paths of the machine from an error,
// and the log has them.
func TestPathsAreHidden(t *testing.T) {
	var log bytes.Buffer
	s, err := New(Options{StoreDir: "/srv/dendro", Log: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))},
		Part{Name: "test", Routes: []Route{{Pattern: "GET /fail",
			Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				WriteProblem(w, r, &Problem{Type: TypeInternal, Title: "It failed", Status: 500, Detail: `/srv/dendro/x.duckdb: Cannot open "/srv/dendro/x.duckdb.wal"`})
			})}}})
	if err != nil {
		t.Fatal(err)
	}
	w := httptest.NewRecorder()
	r := httptest.NewRequest(http.MethodGet, "http://localhost/fail", nil)
	s.http.Handler.ServeHTTP(w, r)
	if body := w.Body.String(); strings.Contains(body, "/srv") || !strings.Contains(body, "x.duckdb: Cannot open") {
		t.Errorf("%d %s", w.Code, body)
	}
	if !strings.Contains(log.String(), "/srv/dendro/x.duckdb") {
		t.Errorf("the log does not have the path: %s", &log)
	}
}
