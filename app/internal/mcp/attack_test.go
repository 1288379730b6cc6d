package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/dendroprof/dendro/app/internal/endpoint"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/store"
)

// TestHugePattern: a pattern of 4 MB is an error of the call. It once ended the process.
func TestHugePattern(t *testing.T) {
	s := connect(t, lab(t), Options{})
	for _, pattern := range []string{strings.Repeat("*", 4<<20), strings.Repeat("*a", 3000)} {
		for tool, parameter := range map[string]string{"find": "pattern", "function_names": "pattern", "tree": "under", "top": "benchmark"} {
			text, failed := call(t, s, tool, map[string]any{parameter: pattern})
			if tool == "top" && len(pattern) < maxArguments { // a glob over benchmarks, of which none matches
				continue
			}
			if !failed || !strings.Contains(text, "bytes") || len(text) > 500 {
				t.Errorf("%s: %v %.300q", tool, failed, text)
			}
		}
	}
	if text, failed := call(t, s, "runs", nil); failed || text == "" {
		t.Errorf("afterwards: %s", text)
	}
}

// panicking is a store with a defect.
type panicking struct{ store.Store }

func (panicking) FunctionNames(context.Context) ([]profile.Function, error) { panic("broken") }

// TestPanic: a panic of a tool is an error of its call, and is reported.
func TestPanic(t *testing.T) {
	var reported []string
	s := connect(t, panicking{lab(t)}, Options{Panicked: func(tool string, p any, stack []byte) {
		reported = append(reported, tool)
		if p != "broken" || !bytes.Contains(stack, []byte("FunctionNames")) {
			t.Errorf("%v\n%s", p, stack)
		}
	}})
	text := ""
	if _, err := s.CallTool(t.Context(), params("function_names")); err != nil {
		text = err.Error()
	}
	if !strings.Contains(text, "function_names: internal error") || strings.Contains(text, "broken") || len(reported) != 1 ||
		reported[0] != "function_names" {
		t.Errorf("%q, reported %q", text, reported)
	}
	if text, failed := call(t, s, "runs", nil); failed {
		t.Errorf("afterwards: %s", text)
	}
}

// waiting is a store that computes until the caller has gone.
type waiting struct {
	store.Store
	begun, ended chan struct{}
}

func (w waiting) FunctionNames(ctx context.Context) ([]profile.Function, error) {
	close(w.begun)
	<-ctx.Done()
	close(w.ended)
	return nil, ctx.Err()
}

// TestClientLeaves: what computes for a client ends when the client leaves.
func TestClientLeaves(t *testing.T) {
	w := waiting{lab(t), make(chan struct{}), make(chan struct{})}
	server := httptest.NewServer(Handler(endpoint.NewLocal(w, profile.Limits{}), Options{}))
	defer server.Close()
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params("function_names")})
	if err != nil {
		t.Fatal(err)
	}
	ctx, leave := context.WithCancel(t.Context())
	r, err := http.NewRequestWithContext(ctx, "POST", server.URL, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	go func() { <-w.begun; leave() }()
	if response, err := http.DefaultClient.Do(r); err == nil {
		response.Body.Close()
		t.Fatalf("answered %s", response.Status)
	}
	select {
	case <-w.ended:
	case <-time.After(10 * time.Second):
		t.Error("the call goes on after the client has left")
	}
}

// TestShown expects errors of tools in the form that clients may see.
func TestShown(t *testing.T) {
	s := connect(t, lab(t), Options{Shown: func(text string) string { return strings.ReplaceAll(text, "04", "xx") }})
	if text, failed := call(t, s, "top", map[string]any{"run": []string{"9904"}}); !failed || strings.Contains(text, "04") ||
		!strings.Contains(text, "99xx") {
		t.Errorf("%v %s", failed, text)
	}
}

// TestBatch: all calls of a batch would run at once, on the place of one request.
func TestBatch(t *testing.T) {
	server := httptest.NewServer(Handler(endpoint.NewLocal(panicking{lab(t)}, profile.Limits{}), Options{}))
	defer server.Close()
	call := `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"function_names"}}`
	body := " \n[" + fmt.Sprintf(call, 1) + "," + fmt.Sprintf(call, 2) + "]"
	r, err := http.NewRequestWithContext(t.Context(), "POST", server.URL, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, _ := io.ReadAll(response.Body)
	if response.StatusCode != http.StatusBadRequest || !strings.Contains(string(text), "send one message per request") {
		t.Errorf("%s: %s", response.Status, text)
	}
}
