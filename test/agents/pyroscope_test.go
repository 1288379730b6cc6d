package agents

import (
	"context"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/dendroprof/dendro/test/cache"
	"github.com/dendroprof/dendro/test/program"
)

const agentsToken = "the-token-of-these-agents"

// flame returns the total of a type, and the names in its flame graph.
func flame(t *testing.T, server, query string) (total int64, names []string) {
	t.Helper()
	resp, err := http.Get(server + "/pyroscope/render?" + url.Values{"query": {query}, "from": {"now-1h"}, "until": {"now+1h"},
		"max-nodes": {"100000"}}.Encode())
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var d struct {
		Flamebearer struct {
			Names    []string
			NumTicks int64
		}
	}
	text, err := io.ReadAll(resp.Body)
	if err == nil {
		err = json.Unmarshal(text, &d)
	}
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s %v %.500s", query, resp.Status, err, text)
	}
	return d.Flamebearer.NumTicks, d.Flamebearer.Names
}

// The types of profiles that several SDKs push.
const (
	cpuType        = "process_cpu:cpu:nanoseconds:cpu:nanoseconds"
	allocSpaceType = "memory:alloc_space:bytes:space:bytes"
)

// sdk is what a test knows of a program and its SDK.
type sdk struct {
	service   string
	types     map[string]string // of which the sum over all windows is compared, by sample type
	hot, cold string            // functions in and outside of the labelled part
}

// stored wants everything that was acknowledged in the flame graphs, and the hot function in each
// of them.
func (k sdk) stored(t *testing.T, s *program.Server, w *witness) {
	t.Helper()
	service := `{service_name="` + k.service + `"}`
	acknowledged, unknown := w.sums()
	for sampleType, id := range k.types {
		total, names := flame(t, s.HTTP, id+service)
		if least, most := acknowledged[sampleType], acknowledged[sampleType]+unknown[sampleType]; total < least || total > most || least == 0 {
			t.Errorf("%s: %d are stored; %d were acknowledged, %d have no answer", sampleType, total, least, unknown[sampleType])
		}
		if !slices.Contains(names, k.hot) {
			t.Errorf("%s: no %s in %q", sampleType, k.hot, names)
		}
	}
}

// labelled wants a label of the program to select all of a type, and one that is set in a part of
// it to select that part, but for samples at its edges.
func (k sdk) labelled(t *testing.T, s *program.Server, id string) {
	t.Helper()
	const part = `{controller="checkout",service_version="1.2.3"}`
	all, inPart := k.totals(t, s, id, `{service_name="`+k.service+`"}`), k.totals(t, s, id, part)
	if version := k.totals(t, s, id, `{service_version="1.2.3"}`); !maps.Equal(version, all) {
		t.Errorf("with service_version there is\n%v\nof\n%v", version, all)
	}
	if 10*inPart[k.hot] < 9*all[k.hot] || 10*inPart[k.cold] > all[k.cold] || all[k.cold] == 0 {
		t.Errorf("the part has\n%v\nof\n%v", inPart, all)
	}
	if _, names := flame(t, s.HTTP, id+part); !slices.Contains(names, k.hot) {
		t.Errorf("no %s in %q", k.hot, names)
	}
}

// totals returns the totals of the functions that `dendro top` lists of a type and a selector.
func (k sdk) totals(t *testing.T, s *program.Server, id, labels string) map[string]float64 {
	t.Helper()
	totals := map[string]float64{}
	for _, row := range program.Rows(t, program.Must(t, t.TempDir(), "top", "--store", s.HTTP, "--labels", labels, "--type", id, "-o",
		"json")) {
		totals[row["function"].(string)] = row["total"].(float64)
	}
	return totals
}

// first wants the hot function to be the first that `dendro top` lists.
func (k sdk) first(t *testing.T, s *program.Server, id string) {
	t.Helper()
	text := program.Must(t, t.TempDir(), "top", "--store", s.HTTP, "--service", k.service, "--type", id, "-o", "json")
	if rows := program.Rows(t, text); len(rows) == 0 || rows[0]["function"] != k.hot {
		t.Errorf("%s is not the first of\n%.2000s", k.hot, text)
	}
}

// TestPyroscopeGo: pyroscope-go pushes while the server is killed twice. What was
// acknowledged is there, and the flame graph has the hot function, also by a label.
func TestPyroscopeGo(t *testing.T) {
	needReal(t)
	dir := t.TempDir()
	binary := filepath.Join(dir, "pushed")
	if err := run(t.Context(), "pyroscope", "go", "build", "-o", binary, "."); err != nil {
		t.Fatal(err)
	}
	w := &witness{read: pprofSums}
	s := watch(t, dir, w, 2, 8, func(address string) *exec.Cmd { return exec.CommandContext(t.Context(), binary, address, agentsToken) })
	k := sdk{service: "pushed.go.app", hot: "main.computeTax", cold: "main.renderPage",
		types: map[string]string{"cpu": cpuType, "samples": "process_cpu:samples:count:cpu:nanoseconds", "alloc_space": allocSpaceType}}
	k.stored(t, s, w)
	k.labelled(t, s, cpuType)
	for _, id := range []string{"goroutines:goroutine:count:goroutine:count", "mutex:delay:nanoseconds:contentions:count",
		"block:delay:nanoseconds:contentions:count"} {
		if total, _ := flame(t, s.HTTP, id+`{service_name="pushed.go.app"}`); total == 0 {
			t.Errorf("%s: nothing", id)
		}
	}
}

// needSDK skips tests of SDKs that take half a minute each. They compute all the time and so do
// not run beside other tests, which compare times.
func needSDK(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("pushes for half a minute")
	}
	needReal(t)
}

// script returns the absolute name of a script, which is a part of the names of its functions.
func script(t *testing.T, name string) string {
	t.Helper()
	file, err := filepath.Abs(name)
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// The SDKs, as pip, npm (see pyroscope/node) and Maven Central have them.
const (
	pythonSDK  = "pyroscope-io==1.4.0"
	nodeSDK    = "0.6.4"
	javaSDK    = "https://repo1.maven.org/maven2/io/pyroscope/agent/2.9.2/agent-2.9.2.jar"
	javaSDKSum = "ad738199a90734f7b8392bae1ab892027d411acb953ef1f00cd6e8e7c669ff8f"
)

// TestPyroscopePython: pyroscope-io pushes CPU time and memory while the server is killed.
func TestPyroscopePython(t *testing.T) {
	needSDK(t)
	venv, err := pythonVenv(t.Context(), "pyroscope-python-1.4.0", pythonSDK)
	if err != nil {
		t.Fatal(err)
	}
	script := script(t, "pyroscope/python/pushed.py")
	w := &witness{read: pushSums}
	s := watch(t, t.TempDir(), w, 1, 6, func(address string) *exec.Cmd {
		return exec.CommandContext(t.Context(), filepath.Join(venv, "bin", "python"), script, address, agentsToken)
	})
	k := sdk{service: "pushed.python.app", hot: "compute_tax (" + script + ")", cold: "render_page (" + script + ")",
		types: map[string]string{"cpu": cpuType, "alloc_space": allocSpaceType}}
	k.stored(t, s, w)
	k.labelled(t, s, cpuType)
	k.first(t, s, cpuType)
}

// TestPyroscopeNode: @pyroscope/nodejs pushes time and memory while the server is killed.
func TestPyroscopeNode(t *testing.T) {
	needSDK(t)
	modules, err := nodeModules(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	script := script(t, "pyroscope/node/pushed.cjs")
	w := &witness{read: pprofSums}
	s := watch(t, t.TempDir(), w, 1, 12, func(address string) *exec.Cmd {
		cmd := exec.CommandContext(t.Context(), "node", script, address, agentsToken)
		cmd.Env = append(os.Environ(), "NODE_PATH="+modules)
		return cmd
	})
	const wall = "wall:wall:nanoseconds:wall:nanoseconds"
	k := sdk{service: "pushed.node.app", hot: "computeTax (" + script + ")", cold: "renderPage (" + script + ")",
		types: map[string]string{"wall": wall, "cpu": "wall:cpu:nanoseconds:wall:nanoseconds"}}
	k.stored(t, s, w)
	k.labelled(t, s, wall)
	k.first(t, s, wall)
	if total, _ := flame(t, s.HTTP, `memory:inuse_space:bytes:inuse_space:bytes{service_name="pushed.node.app"}`); total == 0 {
		t.Error("no memory")
	}
}

// nodeModules returns the folder of the SDK for Node.js and what it needs.
func nodeModules(ctx context.Context) (string, error) {
	folder, err := cache.Folder("pyroscope-node-"+nodeSDK, func(dir string) error {
		for _, name := range []string{"package.json", "package-lock.json"} {
			data, err := os.ReadFile(filepath.Join("pyroscope", "node", name))
			if err != nil {
				return err
			}
			if err := os.WriteFile(filepath.Join(dir, name), data, 0o644); err != nil {
				return err
			}
		}
		return run(ctx, dir, "npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts")
	})
	return filepath.Join(folder, "node_modules"), err
}

// TestPyroscopeJava: the agent for Java pushes recordings while the server is killed. It tries
// again, so nothing is missing, and nothing is there twice.
func TestPyroscopeJava(t *testing.T) {
	needSDK(t)
	dir := t.TempDir()
	w := &witness{read: jfrSums(dir)}
	s := watch(t, dir, w, 1, 6, java(t, "", "JFR"))
	k := sdk{service: "pushed.java.app", hot: "Pushed.computeTax", cold: "Pushed.renderPage", types: map[string]string{"cpu": cpuType}}
	k.stored(t, s, w)
	k.labelled(t, s, cpuType)
	k.first(t, s, cpuType)
}

// TestPyroscopeJavaOTLP: the agent for Java pushes in OpenTelemetry's format, without labels and
// without the name of the service, which its address has.
func TestPyroscopeJavaOTLP(t *testing.T) {
	needSDK(t)
	w := &witness{read: otlpSums}
	s := watch(t, t.TempDir(), w, 1, 6, java(t, "/services/pushed.java.otlp", "OTLP"))
	k := sdk{service: "pushed.java.otlp", hot: "Pushed.computeTax", types: map[string]string{"cpu": cpuType}}
	k.stored(t, s, w)
	k.first(t, s, cpuType)
}

// java returns a start of the program in Java, with the path of the server's address at which it
// pushes and the format.
func java(t *testing.T, path, format string) func(address string) *exec.Cmd {
	t.Helper()
	folder, err := cache.Folder("pyroscope-java-2.9.2", func(dir string) error {
		return cache.Download(t.Context(), javaSDK, javaSDKSum, filepath.Join(dir, "pyroscope.jar"))
	})
	if err != nil {
		t.Fatal(err)
	}
	return func(address string) *exec.Cmd {
		return exec.CommandContext(t.Context(), "java", "-Xmx128m", "-Djava.io.tmpdir="+t.TempDir(), "-cp",
			filepath.Join(folder, "pyroscope.jar"),
			"pyroscope/java/Pushed.java", address+path, agentsToken, format)
	}
}
