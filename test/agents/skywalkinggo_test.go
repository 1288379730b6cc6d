package agents

import (
	"encoding/json"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/dendroprof/dendro/traceprof/ids"
)

// TestSkyWalkingGo runs SkyWalking's own Go agent, which is woven in by -toolexec: a task of
// trace profiling, and a pprof task that finds the program's CPU profiler in use.
// DENDRO_SKYWALKING_GO is the unpacked release of the agent, a folder of the name skywalking-go;
// `none` leaves the test out, and without a decision it fails.
func TestSkyWalkingGo(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long")
	}
	needReal(t)
	release := os.Getenv("DENDRO_SKYWALKING_GO")
	switch {
	case release == "none":
		t.Skip("DENDRO_SKYWALKING_GO=none: SkyWalking's Go agent is not tested")
	case release == "":
		t.Fatal("SkyWalking's Go agent is not tested: set DENDRO_SKYWALKING_GO to the folder of its release, or to none")
	case filepath.Base(release) != "skywalking-go":
		t.Fatalf("DENDRO_SKYWALKING_GO: %s is not called skywalking-go, which the agent's tool looks for", release)
	}
	t.Parallel()
	c, shop := begin(t, "skywalking-go", "shop-sw")
	warm(t, c, shop)
	task := c.create(shop)
	until(t, 40*time.Second, "the task is delivered", func() bool { return strings.Contains(c.logs(task), "NOTIFIED") })

	var created struct {
		Task struct{ ID, ErrorReason *string }
	}
	c.query(&created, `mutation ($request: PprofTaskCreationRequest!) { task: createPprofTask(pprofTaskCreationRequest: $request) { code id errorReason } }`,
		map[string]any{"request": map[string]any{"serviceId": ids.Service(shop.Service),
			"serviceInstanceIds": []string{ids.Instance(shop.Service, shop.Instance)}, "duration": 1, "events": "CPU"}})
	if created.Task.ID == nil {
		t.Fatalf("the pprof task was refused: %v", created.Task.ErrorReason)
	}
	busy := *created.Task.ID
	var took []float64
	until(t, 90*time.Second, "the profile has come", func() bool {
		one, err := shop.Request(t.Context(), "/checkout")
		if err != nil {
			t.Fatal(err)
		}
		took = append(took, one.Slow/(one.Slow+one.Rest))
		return len(c.segments(task)) > 0
	})

	// One number of snapshots and one time, wherever they are asked.
	var cover struct {
		Received, Period int64
		Segments         []struct{ Received int64 }
	}
	c.get(&cover, "tasks/"+url.PathEscape(task)+"/coverage", nil)
	var analysis struct {
		Snapshots, RootTotal int64
		analyzed
	}
	if err := json.Unmarshal(c.dendro("task", "analyze", task, "-o", "json"), &analysis); err != nil {
		t.Fatal(err)
	}
	var sum int64
	for _, s := range cover.Segments {
		sum += s.Received
	}
	if cover.Received != analysis.Snapshots || cover.Received != sum || cover.Period != 10 || analysis.RootTotal != sum*cover.Period {
		t.Errorf("coverage %d snapshots (of segments %d) every %d ms, analysis %d in %d ms", cover.Received, sum, cover.Period, analysis.Snapshots, analysis.RootTotal)
	}
	// The shop computes all the time: shares of samples are those of its own clock.
	slow, rest := analysis.total("main.loadPrices:"), analysis.total("main.render:")
	t.Logf("%d snapshots of %d segments: slow %v ms, rest %v ms; the shop's median share %.2f", sum, len(cover.Segments), slow, rest, median(took))
	if share := slow / max(1, slow+rest); share < median(took)-0.1 || share > median(took)+0.1 {
		t.Errorf("the slow function has %.2f of the samples, by its own clock %.2f", share, median(took))
	}
	var why struct{ Rows []struct{ Code, Text string } }
	c.get(&why, "tasks/"+url.PathEscape(busy)+"/why", nil)
	if len(why.Rows) == 0 || why.Rows[0].Code != "cpu-profiler-busy" || !strings.Contains(why.Rows[0].Text, task) {
		t.Errorf("the pprof task gives the reasons %+v", why.Rows)
	}
}
