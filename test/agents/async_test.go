package agents

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dendroprof/dendro/traceprof/ids"
)

// recording runs an async-profiler task of the Java agent.
func recording(t *testing.T, c client, shop *Shop) {
	t.Helper()
	var created struct {
		Task struct{ Code, ID, ErrorReason *string }
	}
	c.query(&created, `mutation ($request: AsyncProfilerTaskCreationRequest!) { task: createAsyncProfilerTask(asyncProfilerTaskCreationRequest: $request) { code id errorReason } }`,
		map[string]any{"request": map[string]any{"serviceId": ids.Service(shop.Service),
			"serviceInstanceIds": []string{ids.Instance(shop.Service, shop.Instance)},
			"duration":           8, "events": []string{"CPU"}}})
	if created.Task.ID == nil {
		t.Fatalf("the task was refused: %+v", created.Task)
	}
	task := *created.Task.ID
	until(t, 60*time.Second, "the recording has come", func() bool {
		if _, err := shop.Request(t.Context(), "/spin"); err != nil {
			t.Fatal(err)
		}
		var progress struct {
			Progress struct{ SuccessInstanceIDs, ErrorInstanceIDs []string }
		}
		c.query(&progress, `query ($task: String!) { progress: queryAsyncProfilerTaskProgress(taskId: $task) { successInstanceIds errorInstanceIds } }`, map[string]any{"task": task})
		if len(progress.Progress.ErrorInstanceIDs) > 0 {
			t.Fatalf("the agent failed:\n%s\n%s", c.dendro("task", "logs", task), shop.Output())
		}
		return len(progress.Progress.SuccessInstanceIDs) > 0
	})
	var list struct{ Rows []struct{ Function string } }
	if err := json.Unmarshal(c.dendro("top", "--run", task, "--type", "cpu", "-o", "json"), &list); err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(list.Rows, func(r struct{ Function string }) bool { return strings.Contains(r.Function, "Shop.spin") }) {
		t.Errorf("Shop.spin is not among %+v", list.Rows)
	}
}
