package agents

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dendroprof/dendro/test/program"
)

// collectorConfig is a collector with two pipelines, which pass on over HTTP and over gRPC what
// they receive. Parameters: where they receive, and the server's addresses over HTTP and gRPC.
const collectorConfig = `
receivers:
  otlp/1: {protocols: {http: {endpoint: %q}}}
  otlp/2: {protocols: {http: {endpoint: %q}}}
exporters:
  otlp_http:
    endpoint: %q
    headers: {Authorization: Bearer ` + agentsToken + `}
    retry_on_failure: {initial_interval: 100ms, max_interval: 1s}
  otlp_grpc:
    endpoint: %q
    tls: {insecure: true}
    headers: {Authorization: Bearer ` + agentsToken + `}
    retry_on_failure: {initial_interval: 100ms, max_interval: 1s}
service:
  telemetry: {metrics: {level: none}, logs: {output_paths: [stdout]}}
  pipelines:
    profiles/http: {receivers: [otlp/1], exporters: [otlp_http]}
    profiles/grpc: {receivers: [otlp/2], exporters: [otlp_grpc]}
`

// collected are the profiles of one request: of a program with a version, of one without times,
// which only its bytes tell from the same of another request, and one that is broken. Parameters:
// the service, the time in nanoseconds, the number of samples.
const collected = `{"resourceProfiles":[
 {"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"%[1]s"}},{"key":"service.version","value":{"stringValue":"1.2.3"}},{"key":"process.pid","value":{"intValue":"42"}}]},
  "scopeProfiles":[{"scope":{"name":"ebpf"},"profiles":[{"sampleType":{"typeStrindex":1,"unitStrindex":2},"periodType":{"typeStrindex":3,"unitStrindex":4},"period":"50000000",
   "timeUnixNano":"%[2]d","durationNano":"1000000000","samples":[{"stackIndex":1,"values":["%[3]d"],"attributeIndices":[1]},{"stackIndex":2,"values":["1"]}]}]}]},
 {"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"%[1]s.untimed"}}]},
  "scopeProfiles":[{"profiles":[{"sampleType":{"typeStrindex":1,"unitStrindex":2},"periodType":{"typeStrindex":3,"unitStrindex":4},"period":"50000000","samples":[{"stackIndex":1,"values":["1"]}]}]}]},
 {"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"%[1]s.broken"}}]},
  "scopeProfiles":[{"profiles":[{"sampleType":{"typeStrindex":1,"unitStrindex":2},"periodType":{"typeStrindex":3,"unitStrindex":4},"period":"50000000","samples":[{"stackIndex":9,"values":["1"]}]}]}]}],
"dictionary":{
 "stringTable":["","samples","count","cpu","nanoseconds","main","computeTax","renderPage","controller","checkout"],
 "mappingTable":[{}],"linkTable":[{}],
 "functionTable":[{},{"nameStrindex":5},{"nameStrindex":6},{"nameStrindex":7}],
 "locationTable":[{},{"lines":[{"functionIndex":1}]},{"lines":[{"functionIndex":2}]},{"lines":[{"functionIndex":3}]}],
 "attributeTable":[{},{"keyStrindex":8,"value":{"stringValue":"checkout"}}],
 "stackTable":[{},{"locationIndices":[2,1]},{"locationIndices":[3,1]}]}}`

// TestCollector: an OpenTelemetry collector passes profiles on while the server is killed twice. It
// tries again, over HTTP as over gRPC: nothing is missing, nothing is there twice, and what the
// server refuses of a request does not take the rest with it.
func TestCollector(t *testing.T) {
	needSDK(t)
	dir := t.TempDir()
	binary := filepath.Join(dir, "collector")
	if err := run(t.Context(), "testdata/collector", "go", "build", "-o", binary, "."); err != nil {
		t.Fatal(err)
	}
	serve := func(http, grpc string) *program.Server {
		s, err := program.StartServer(dir, "--continuous", "--agent-token", agentsToken, "--http-listen", http, "--grpc-listen", grpc)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(s.Kill)
		return s
	}
	s := serve("127.0.0.1:0", "127.0.0.1:0")
	// where their pipelines receive
	services := map[string]string{"collected.http": program.FreeAddress(t), "collected.grpc": program.FreeAddress(t)}
	config := filepath.Join(dir, "collector.yaml")
	text := fmt.Sprintf(collectorConfig, services["collected.http"], services["collected.grpc"], s.HTTP, s.GRPC)
	if err := os.WriteFile(config, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	collector, err := start(t.Context(), exec.CommandContext(t.Context(), binary, "--config", config,
		"--feature-gates=+service.profilesSupport"),
		func(line string) bool { return strings.Contains(line, "Everything is ready") })
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if t.Failed() {
			t.Logf("the collector said\n%s", collector.Output())
		}
		if err := collector.Stop(); err != nil {
			t.Error(err)
		}
	}()
	const requests, period = 60, 50_000_000
	began, hot := time.Now().Add(-10*time.Minute), int64(0)
	for n := range int64(requests) {
		for service, address := range services {
			collect(t, address, fmt.Sprintf(collected, service, began.Add(time.Duration(n)*time.Second).UnixNano(), 10+n))
		}
		if hot += 10 + n; n == 20 || n == 40 {
			s.Kill()
			s = serve(strings.TrimPrefix(s.HTTP, "http://"), s.GRPC)
		}
	}
	for service := range services {
		k := sdk{service: service, hot: "computeTax", cold: "renderPage"}
		for selector, want := range map[string]int64{
			`service_name="` + service + `"`:                           hot + requests,
			`service_name="` + service + `","service.version"="1.2.3"`: hot + requests,
			`service_name="` + service + `",controller="checkout"`:     hot,
			`service_name="` + service + `.untimed"`:                   requests,
		} {
			id := cpuType + "{" + selector + "}"
			var got int64
			for ended := time.Now().Add(time.Minute); got < want*period && time.Now().Before(ended); time.Sleep(100 * time.Millisecond) {
				got, _ = flame(t, s.HTTP, id)
			}
			if _, names := flame(t, s.HTTP, id); got != want*period || !slices.Contains(names, k.hot) {
				t.Errorf("%s: %d of %d samples, functions %q", id, got/period, want, names)
			}
		}
		k.first(t, s, cpuType)
		if total, _ := flame(t, s.HTTP, cpuType+`{service_name="`+service+`.broken"}`); total != 0 {
			t.Errorf("%s: a broken profile has %d", service, total)
		}
	}
}

// collect sends a request to a collector, which takes all of it.
func collect(t *testing.T, address, body string) {
	t.Helper()
	resp, err := http.Post("http://"+address+"/v1development/profiles", "application/json", bytes.NewReader([]byte(body)))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	var answer struct {
		PartialSuccess struct{ RejectedProfiles, ErrorMessage string }
	}
	if err == nil {
		err = json.Unmarshal(text, &answer)
	}
	if err != nil || resp.StatusCode != http.StatusOK || answer.PartialSuccess.RejectedProfiles != "" {
		t.Fatalf("%s: %s %v %.500s", address, resp.Status, err, text)
	}
}
