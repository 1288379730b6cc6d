package agents

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/dendroprof/dendro/test/program"
	"github.com/dendroprof/dendro/traceprof/ids"
)

// client asks a server as SkyWalking's clients do, and as Dendro's own.
type client struct {
	t *testing.T
	s *Server
	p *tap // between the agents and the server
}

// query asks over GraphQL.
func (c client) query(into any, document string, variables map[string]any) {
	c.t.Helper()
	body, err := json.Marshal(map[string]any{"query": document, "variables": variables})
	if err != nil {
		c.t.Fatal(err)
	}
	resp, err := http.Post(c.s.HTTP+"/graphql", "application/json", bytes.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	defer resp.Body.Close()
	var answer struct {
		Data   json.RawMessage
		Errors []struct{ Message string }
	}
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil {
		c.t.Fatalf("%s: %v", resp.Status, err)
	}
	if len(answer.Errors) > 0 {
		c.t.Fatalf("%s: %s\n%s", resp.Status, answer.Errors[0].Message, document)
	}
	if err := json.Unmarshal(answer.Data, into); err != nil {
		c.t.Fatalf("%v in %s", err, answer.Data)
	}
}

// get asks /api/v1.
func (c client) get(into any, path string, parameters url.Values) {
	c.t.Helper()
	resp, err := http.Get(c.s.HTTP + "/api/v1/" + path + "?" + parameters.Encode())
	if err != nil {
		c.t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		c.t.Fatalf("%s: %s: %v\n%s", path, resp.Status, err, body)
	}
	if err := json.Unmarshal(body, into); err != nil {
		c.t.Fatalf("%s: %v in %s", path, err, body)
	}
}

// dendro runs a command against the server and returns what it prints.
func (c client) dendro(args ...string) []byte {
	c.t.Helper()
	return []byte(program.Must(c.t, "", append(args, "--store", c.s.HTTP)...))
}

// create creates a task and returns its id.
func (c client) create(shop *Shop) string {
	c.t.Helper()
	var data struct {
		Task struct {
			ID          *string
			ErrorReason *string
		}
	}
	c.query(&data, `mutation ($request: ProfileTaskCreationRequest!) { task: createProfileTask(creationRequest: $request) { id errorReason } }`,
		map[string]any{"request": map[string]any{"serviceId": ids.Service(shop.Service), "endpointName": shop.Endpoint,
			"duration": 1, "minDurationThreshold": 0, "dumpPeriod": period, "maxSamplingCount": maxSegments}})
	if data.Task.ID == nil {
		c.t.Fatalf("the task was refused: %v", data.Task.ErrorReason)
	}
	return *data.Task.ID
}

// logs returns what happened to a task, "instance event".
func (c client) logs(task string) string {
	c.t.Helper()
	var data struct {
		Logs []struct{ InstanceName, OperationType string }
	}
	c.query(&data, `query ($task: String) { logs: getProfileTaskLogs(taskID: $task) { id instanceName operationType operationTime } }`, map[string]any{"task": task})
	var b strings.Builder
	for _, l := range data.Logs {
		fmt.Fprintf(&b, "%s %s\n", l.InstanceName, l.OperationType)
	}
	return b.String()
}

// segment is a profiled segment as clients see it.
type segment struct {
	TraceID  string
	Duration int64
	Start    string
	Spans    []struct {
		SpanID       int
		SegmentID    string
		EndpointName string
		StartTime    int64
		EndTime      int64
		Profiled     bool
	}
}

// segments lists the profiled segments of a task.
func (c client) segments(task string) []segment {
	c.t.Helper()
	var data struct{ Segments []segment }
	c.query(&data, `query ($task: ID!) { segments: getProfileTaskSegments(taskID: $task) { traceId duration start
		spans { spanId segmentId endpointName startTime endTime profiled } } }`, map[string]any{"task": task})
	return data.Segments
}

// root returns the segment of the request itself, and the time of its span.
func (s *segment) root() (id string, from, to int64) {
	span := s.Spans[len(s.Spans)-1]
	return span.SegmentID, span.StartTime, span.EndTime
}

// element is an element of an analysis, as clients see it.
type element struct {
	ID, ParentID         string
	CodeSignature        string
	Duration             int64
	DurationChildExclude int64 `json:"durationChildExcluded"`
	Count                int64
}

// analyze returns the elements of the analysis of a segment's whole time.
func (c client) analyze(s *segment) []element {
	c.t.Helper()
	var data struct {
		Analyze struct {
			Tip   *string
			Trees []struct{ Elements []element }
		}
	}
	id, from, to := s.root()
	c.query(&data, `query ($queries: [SegmentProfileAnalyzeQuery!]!) { analyze: getSegmentsProfileAnalyze(queries: $queries) { tip
		trees { elements { id parentId codeSignature duration durationChildExcluded count } } } }`,
		map[string]any{"queries": []any{map[string]any{"segmentId": id,
			"timeRange": map[string]any{"start": from, "end": to}}}})
	if data.Analyze.Tip != nil {
		c.t.Errorf("the analysis of segment %s has the tip %q", id, *data.Analyze.Tip)
	}
	var all []element
	for _, t := range data.Analyze.Trees {
		all = append(all, t.Elements...)
	}
	return all
}

// until asks again until something holds.
func until(t *testing.T, most time.Duration, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(most); !holds(); time.Sleep(200 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not within %v: %s", most, what)
		}
	}
}
