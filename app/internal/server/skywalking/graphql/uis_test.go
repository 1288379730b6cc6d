package graphql

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/parser"

	"github.com/dendroprof/dendro/traceprof/ids"
)

// TestUIs plays every operation of SkyWalking's two UIs: each is answered, so that no page
// breaks.
func TestUIs(t *testing.T) {
	for name, operations := range map[string]int{"booster-ui": 66, "horizon-ui": 96} {
		t.Run(name, func(t *testing.T) {
			file := "testdata/uis/" + name + ".txtar"
			archive, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var played []txtar.File // each operation, and its answer
			for i, f := range archive.Files {
				if f.Name == "answer" {
					continue
				}
				got := play(t, &f)
				if want := archive.Files[min(i+1, len(archive.Files)-1)]; !*update && got != string(want.Data) {
					t.Errorf("%s: got\n%swant\n%s", f.Name, got, want.Data)
				}
				played = append(played, f, txtar.File{Name: "answer", Data: []byte(got)})
			}
			if n := len(played) / 2; n != operations {
				t.Errorf("%d operations", n)
			}
			if *update {
				archive.Files = played
				if err := os.WriteFile(file, txtar.Format(archive), 0o644); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// play sends an operation to a server with data and returns the answer.
func play(t *testing.T, operation *txtar.File) string {
	b := newBench(t)
	b.seed()
	r := b.ask(string(operation.Data), b.variables(string(operation.Data)))
	var body struct {
		Data   map[string]any
		Errors []any
	}
	b.must(json.Unmarshal([]byte(r.body), &body))
	if r.status != 200 || body.Data == nil || body.Errors != nil {
		t.Errorf("%s: refused: %s", operation.Name, r.body)
	}
	return fmt.Sprintf("%d %s\n", r.status, shortened(r.body))
}

// shortened cuts long answers: those of features that exist have goldens of their own.
func shortened(body string) string {
	const most = 1200
	if len(body) <= most {
		return body
	}
	return strings.ToValidUTF8(body[:most], "") + fmt.Sprintf("… %d bytes", len(body))
}

// variables returns values for the variables that a document declares, by name or type.
func (b *bench) variables(document string) string {
	b.Helper()
	doc, err := parser.ParseQuery(&ast.Source{Input: document})
	if err != nil {
		b.Fatal(err)
	}
	duration := map[string]any{"start": "2023-11-14 2103", "end": "2023-11-14 2213", "step": "MINUTE", "coldStage": true}
	paging := map[string]any{"pageNum": 1, "pageSize": 20}
	shop, instance := ids.Service("shop"), ids.Instance("shop", "shop-1")
	task := func(n int) string { return fmt.Sprintf("%d_%s", start+n, shop) } // as seed creates them
	kind := 0
	for i, k := range []string{"async", "pprof"} {
		if strings.Contains(strings.ToLower(document), k) {
			kind = i + 1
		}
	}
	byType := map[string]any{
		"Duration": duration, "Pagination": paging, "Scope": "Service", "Entity": map[string]any{"scope": "Service", "serviceName": "shop"},
		"TraceQueryCondition": map[string]any{"serviceId": shop, "queryDuration": duration, "traceState": "ALL",
			"queryOrder": "BY_START_TIME", "paging": paging},
		"LogQueryCondition": map[string]any{"serviceId": shop, "queryDuration": duration, "paging": paging,
			"tags": []any{map[string]any{"key": "level", "value": "ERROR"}}},
		"BrowserErrorLogQueryCondition":    map[string]any{"queryDuration": duration, "paging": paging, "category": "ALL"},
		"EventQueryCondition":              map[string]any{"time": duration, "paging": paging, "order": "DES", "source": map[string]any{"service": "shop"}},
		"AlarmQueryCondition":              map[string]any{"duration": duration, "paging": paging},
		"OndemandContainergQueryCondition": map[string]any{"serviceInstanceId": instance},
		"OndemandLogQueryCondition":        map[string]any{"serviceInstanceId": instance, "container": "main", "duration": duration},
		"NewDashboardSetting":              map[string]any{"configuration": "{}"},
		"DashboardSetting":                 map[string]any{"id": "1", "configuration": "{}"},
		"ProfileTaskCreationRequest": map[string]any{"serviceId": shop, "endpointName": "GET:/cart", "startTime": start + 600_000, "duration": 5,
			"minDurationThreshold": 0, "dumpPeriod": 10, "maxSamplingCount": 5},
		"SegmentProfileAnalyzeQuery":        []any{map[string]any{"segmentId": "s1", "timeRange": map[string]any{"start": 0, "end": start}}},
		"EBPFProfilingTargetType":           []any{"ON_CPU"},
		"EBPFProfilingTriggerType":          "FIXED_TIME",
		"EBPFProfilingAnalyzeTimeRange":     []any{map[string]any{"start": 0, "end": start}},
		"EBPFProfilingAnalyzeAggregateType": "COUNT",
		"EBPFProfilingTaskFixedTimeCreationRequest": map[string]any{"serviceId": shop, "processLabels": []any{}, "startTime": 0, "duration": 600,
			"targetType": "ON_CPU"},
		"EBPFProfilingNetworkTaskRequest": map[string]any{"instanceId": instance, "samplings": []any{}},
		"ContinuousProfilingTargetType":   "ON_CPU",
		"ContinuousProfilingPolicyCreation": map[string]any{"serviceId": shop, "targets": []any{map[string]any{"targetType": "ON_CPU",
			"checkItems": []any{map[string]any{"type": "PROCESS_CPU", "threshold": "70", "period": 10, "count": 3}}}}},
		"AsyncProfilerTaskListRequest": map[string]any{"serviceId": shop, "queryDuration": duration, "limit": 10},
		"PprofTaskListRequest":         map[string]any{"serviceId": shop, "limit": 10},
		"AsyncProfilerTaskCreationRequest": map[string]any{"serviceId": shop, "serviceInstanceIds": []any{instance}, "duration": 60,
			"events": []any{"CPU"}},
		"PprofTaskCreationRequest":        map[string]any{"serviceId": shop, "serviceInstanceIds": []any{instance}, "duration": 5, "events": "CPU"},
		"AsyncProfilerAnalyzationRequest": map[string]any{"taskId": task(1), "instanceIds": []any{instance}, "eventType": "EXECUTION_SAMPLE"},
		"PprofAnalyzationRequest":         map[string]any{"taskId": task(2), "instanceIds": []any{instance}},
	}
	byName := map[string]any{
		"serviceId": shop, "clientServiceId": shop, "serverServiceId": ids.Service("eu::cart"), "serviceIds": []any{shop},
		"instanceId": instance, "serviceInstanceId": instance, "endpointId": ids.Endpoint("shop", "GET:/checkout"),
		"processId": "p1", "traceId": "t1", "taskID": task(0), "taskId": task(kind), "id": "1", "layer": "GENERAL",
		"keyword": "", "limit": 20, "tagKey": "stage", "endpointName": "", "scheduleIdList": []any{"1"}, "expression": "service_cpm",
	}
	values := map[string]any{}
	for _, v := range doc.Operations[0].VariableDefinitions {
		typ := v.Type.Name()
		if value, ok := byType[typ]; ok {
			values[v.Variable] = value
		} else if value, ok := byName[v.Variable]; ok {
			values[v.Variable] = value
		} else if v.Type.NonNull {
			b.Fatalf("no value for $%s: %s", v.Variable, typ)
		}
	}
	text, err := json.Marshal(values)
	b.must(err)
	return string(text)
}
