package graphql

import "testing"

// TestAbsent: features that do not exist have the answer of a server without data, with any
// alias, fragment and other field beside them.
func TestAbsent(t *testing.T) {
	for _, c := range []struct{ document, want string }{
		{`{ queryEBPFProfilingTasks { taskId } }`, `{"data":{"queryEBPFProfilingTasks":[]}}`},
		{`{ typeOfMetrics(name: "service_cpm") v: readNullableMetricsValue(condition: {name: "service_cpm"}, duration: {start: "2023-11-14", end: "2023-11-14", step: DAY}) { value isEmptyValue } }`,
			`{"data":{"typeOfMetrics":"UNKNOWN","v":{"value":0,"isEmptyValue":true}}}`},
		{`{ p: getProcess(processId: "1") { id } }`, `{"data":{"p":null}}`},
		{`{ getAlarm(duration: {start: "2023-11-14", end: "2023-11-14", step: DAY}, paging: {pageSize: 1}) { __typename msgs { id } m: msgs { id } } }`,
			`{"data":{"getAlarm":{"__typename":"Alarms","msgs":[],"m":[]}}}`},
		{`{ estimateProcessScale(serviceId: "1", labels: []) supportQueryLogsByKeywords }`,
			`{"data":{"estimateProcessScale":0,"supportQueryLogsByKeywords":false}}`},
		{`{ ...A version a: listMetrics @skip(if: true) { name } } fragment A on Query { listMetrics { name } getTimeInfo { timezone } }`,
			`{"data":{"listMetrics":[],"getTimeInfo":{"timezone":"+0000"},"version":"10.2.0-dendro-test"}}`},
		{`{ getEndpointTopology(endpointId: "1", duration: {start: "2023-11-14", end: "2023-11-14", step: DAY}) { ...T calls { id } } } fragment T on Topology { nodes { id } }`,
			`{"data":{"getEndpointTopology":{"nodes":[],"calls":[]}}}`},
		{`mutation { disableTemplate(id: "1") { id status message } }`,
			`{"data":{"disableTemplate":{"id":"","status":false,"message":"the dashboards of Dendro cannot be changed"}}}`},
		// A field without a value makes the whole answer null, as in GraphQL.
		{`{ listMetrics { name } listInstances(serviceId: "?", duration: {start: "2023-11-14", end: "2023-11-14", step: DAY}) { id } }`, ""},
	} {
		b := newBench(t)
		r := b.ask(c.document, "null")
		if c.want != "" && r.body != c.want {
			t.Errorf("%s: got\n%s\nwant\n%s", c.document, r.body, c.want)
		}
		if c.want == "" && (r.status != 200 || r.body[len(r.body)-len(`"data":null}`):] != `"data":null}`) {
			t.Errorf("%s: %s", c.document, r.body)
		}
	}
}
