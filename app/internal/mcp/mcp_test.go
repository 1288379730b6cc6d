package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/dendroprof/dendro/app/internal/endpoint"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/store/mem"
	"github.com/dendroprof/dendro/test/runtest"
	"github.com/dendroprof/dendro/traceprof"
)

// connect returns a session of the protocol's client with the tools of a store.
func connect(t *testing.T, st store.Store, o Options) *sdk.ClientSession {
	t.Helper()
	client, server := sdk.NewInMemoryTransports()
	ctx, cancel := context.WithCancel(t.Context())
	_, o.Traces = st.(traceprof.Store)
	ended := make(chan error, 1)
	go func() { ended <- New(endpoint.NewLocal(st, profile.Limits{}), o).Run(ctx, server) }()
	s, err := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil).Connect(ctx, client, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = s.Close()
		cancel()
		<-ended
	})
	return s
}

// call calls a tool and returns its text, and whether that is an error.
func call(t *testing.T, s *sdk.ClientSession, name string, arguments map[string]any) (string, bool) {
	t.Helper()
	result, err := s.CallTool(t.Context(), &sdk.CallToolParams{Name: name, Arguments: arguments})
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return result.Content[0].(*sdk.TextContent).Text, result.IsError
}

func params(name string) *sdk.CallToolParams { return &sdk.CallToolParams{Name: name} }

// lab is a store with four runs of a benchmark and a task of trace profiling.
func lab(t *testing.T) *mem.Store {
	t.Helper()
	var runs []runtest.Run
	for i := range 4 {
		runs = append(runs, runtest.Run{Benchmark: "checkout", Stacks: fmt.Sprintf("main;parse %d, main;pay 50", 40+10*i),
			Metric: float64(90 + 10*i)})
	}
	st := runtest.Store(t, runs...)
	if _, err := st.CreateTask(t.Context(), traceprof.Task{Kind: traceprof.TraceKind, Service: "shop", ServiceID: "s", Endpoint: "/",
		Created: 1, Start: 1, Duration: traceprof.Minute, Period: 10}); err != nil {
		t.Fatal(err)
	}
	return st
}

// TestTools calls every tool, as text and as JSON, with no arguments but those that it
// cannot do without.
func TestTools(t *testing.T) {
	s := connect(t, lab(t), Options{})
	needed := map[string]map[string]any{
		"diff": {"last": 1}, "find": {"pattern": "parse"}, "lines": {"function": "parse"}, "task": {"task": "last"},
		"task_segments": {"task": "last"}, "task_analysis": {"task": "last"},
	}
	list, err := s.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, tool := range list.Tools {
		names = append(names, tool.Name)
		if tool.Description == "" || !tool.Annotations.ReadOnlyHint {
			t.Errorf("%s: %q, read-only: %v", tool.Name, tool.Description, tool.Annotations.ReadOnlyHint)
		}
		for _, format := range []string{"text", "json"} {
			arguments := map[string]any{"format": format}
			for k, v := range needed[tool.Name] {
				arguments[k] = v
			}
			text, failed := call(t, s, tool.Name, arguments)
			if failed && !strings.Contains(text, "nothing was sampled") && !strings.Contains(text, "was not kept") {
				t.Errorf("%s as %s: %s", tool.Name, format, text)
			}
			if format == "json" && !failed && !json.Valid([]byte(text)) {
				t.Errorf("%s: no JSON: %s", tool.Name, text)
			}
		}
	}
	for _, name := range []string{"overview", "top", "tree", "diff", "lines", "regressions", "report", "task_analysis"} {
		if !slices.Contains(names, name) {
			t.Errorf("no tool %s among %v", name, names)
		}
	}
	for _, name := range []string{"sql", "create_task", "stop_task"} {
		if slices.Contains(names, name) {
			t.Errorf("%s is offered without being allowed", name)
		}
	}
}

func TestArguments(t *testing.T) {
	s := connect(t, lab(t), Options{})
	for _, tt := range []struct {
		tool      string
		arguments map[string]any
		want      string
		failed    bool
	}{
		{"top", map[string]any{"run": []string{"04"}, "rows": 2, "sort": "self"}, "parse", false},
		{"runs", map[string]any{"last": 2, "format": "json"}, `"run":"04"`, false},
		{"top", map[string]any{"benchmark": "checkot"}, "nothing is selected", true},
		{"top", map[string]any{"benchmarc": "checkout"}, `no parameter "benchmarc"`, true},
		{"top", map[string]any{"rows": "many"}, `rows: "many" is not a whole number`, true},
		{"tree", map[string]any{"view": "pie"}, `is not one of`, true},
		{"task", map[string]any{"task": "x"}, "no such task", true},
	} {
		if text, failed := call(t, s, tt.tool, tt.arguments); failed != tt.failed || !strings.Contains(text, tt.want) {
			t.Errorf("%s %v: %s", tt.tool, tt.arguments, text)
		}
	}
}

// TestWrites wants tasks created only where that is allowed.
func TestWrites(t *testing.T) {
	st := lab(t)
	s := connect(t, st, Options{Writes: true, Traces: true})
	if text, failed := call(t, s, "create_task", map[string]any{"service": "shop", "endpoint": "/pay", "duration": "1m"}); failed {
		t.Fatal(text)
	}
	if text, failed := call(t, s, "stop_task", map[string]any{"task": "last"}); failed || !strings.Contains(text, "/pay") {
		t.Error(text)
	}
	if tasks, err := st.Tasks(t.Context(), traceprof.TaskQuery{}); err != nil || len(tasks) != 2 || tasks[0].Stopped == 0 {
		t.Errorf("%+v, %v", tasks, err)
	}
}

// TestBounded wants a large result cut at a line, with a hint.
func TestBounded(t *testing.T) {
	s := connect(t, lab(t), Options{MaxBytes: 100})
	text, failed := call(t, s, "top", nil)
	head, tail, found := strings.Cut(text, "… cut at 100 of ")
	if failed || !found || len(head) > 100 || !strings.HasSuffix(head, "\n") || !strings.Contains(tail, "narrow the selection") {
		t.Errorf("%q", text)
	}
	if got := bounded("äöü", 3); !strings.HasPrefix(got, "ä… cut") {
		t.Errorf("a cut character: %q", got)
	}
}

// TestHandler asks over HTTP.
func TestHandler(t *testing.T) {
	server := httptest.NewServer(Handler(endpoint.NewLocal(lab(t), profile.Limits{}), Options{}))
	defer server.Close()
	s, err := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(),
		&sdk.StreamableClientTransport{Endpoint: server.URL}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if text, failed := call(t, s, "find", map[string]any{"pattern": "pay"}); failed || !strings.Contains(text, "pay") {
		t.Error(text)
	}
}
