package agents

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dendroprof/dendro/test/program"
	"github.com/dendroprof/dendro/traceprof"
)

// What tasks ask for: ms between two dumps, and requests per instance.
const (
	period      = 20
	maxSegments = 6
)

func TestMain(m *testing.M) {
	flag.Parse()
	if err := flag.Set("test.parallel", "4"); err != nil { // they wait, and compute nothing
		panic(err)
	}
	os.Exit(program.Main(m.Run))
}

// needReal skips tests where no real agents were asked for.
func needReal(t *testing.T) {
	t.Helper()
	if os.Getenv("DENDRO_TEST_REAL") == "" {
		t.Skip("needs real agents: make test-real")
	}
}

// needAgents is needReal for tests that run side by side: most of their time is that of a task.
func needAgents(t *testing.T) {
	t.Helper()
	needReal(t)
	t.Parallel()
}

// makers start a shop with an agent that reports to a gRPC address.
var makers = map[string]func(ctx context.Context, dir, server, service string) (*Shop, error){
	"python": Python, "java": Java, "go": Go, "skywalking-go": SkyWalkingGo,
}

// begin starts a server and a shop whose agent reports to it.
func begin(t *testing.T, language, service string) (client, *Shop) {
	t.Helper()
	server, err := Serve(t.Context(), program.Path(), filepath.Join(t.TempDir(), "store.duckdb"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Stop(); err != nil {
			t.Error(err)
		}
		if t.Failed() {
			t.Logf("the server said\n%s", server.Output())
		}
	})
	p := newTap(t, server.GRPC)
	shop, err := makers[language](t.Context(), t.TempDir(), p.in.Addr().String(), service)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := shop.Kill(); err != nil { // the agents take their time to end
			t.Error(err)
		}
		if t.Failed() {
			t.Logf("the shop said\n%s", shop.Output())
		}
	})
	return client{t, server, p}, shop
}

// warm lets requests through before a task: the first ones load classes.
func warm(t *testing.T, c client, shop *Shop) {
	t.Helper()
	for range 3 {
		if _, err := shop.Request(t.Context(), "/checkout"); err != nil {
			t.Fatal(err)
		}
	}
	var list struct{ Rows []struct{ Name string } }
	until(t, 40*time.Second, "the endpoint is known", func() bool {
		c.get(&list, "endpoints", url.Values{"service": {shop.Service}})
		return len(list.Rows) > 0
	})
	if list.Rows[0].Name != shop.Endpoint {
		t.Errorf("the endpoint is %q", list.Rows[0].Name)
	}
}

// sample makes requests until a task has all the segments that it may have, and
// returns how long they took.
func sample(t *testing.T, c client, shop *Shop, task string) []Took {
	t.Helper()
	until(t, 30*time.Second, "the task is delivered", func() bool { return strings.Contains(c.logs(task), "NOTIFIED") })
	var took []Took
	until(t, 45*time.Second, "all segments are sampled", func() bool {
		one, err := shop.Request(t.Context(), "/checkout")
		if err != nil {
			t.Fatal(err)
		}
		took = append(took, one)
		return len(c.segments(task)) >= maxSegments-1 // the agents count in what their threads began
	})
	return took
}

// finish waits for the agent's report.
func finish(t *testing.T, c client, shop *Shop, task string) {
	t.Helper()
	until(t, 80*time.Second, "the agent has finished", func() bool { return strings.Contains(c.logs(task), "EXECUTION_FINISHED") })
	for line := range strings.Lines(c.logs(task)) {
		if !strings.HasPrefix(line, shop.Instance+" ") {
			t.Errorf("the log has the line %q", line)
		}
	}
}

func TestPython(t *testing.T) {
	needAgents(t)
	c, shop := begin(t, "python", "shop-py")
	round(t, c, shop)
}

func TestJava(t *testing.T) {
	needAgents(t)
	c, shop := begin(t, "java", "shop-java")
	round(t, c, shop)
	recording(t, c, shop)
}

// round goes with a task from its order to the profile in the forest.
func round(t *testing.T, c client, shop *Shop) {
	t.Helper()
	warm(t, c, shop)
	task := c.create(shop)
	took := sample(t, c, shop, task)
	finish(t, c, shop, task)
	answers(t, c, shop, task, took)
}

// answers holds everything that is answered about a task against what the shop
// measured, and against each other.
func answers(t *testing.T, c client, shop *Shop, task string, took []Took) {
	t.Helper()
	list := c.segments(task)
	covered(t, c, task, list)
	for i := range list {
		id, from, to := list[i].root()
		one := slices.IndexFunc(took, func(o Took) bool { return o.began <= from && from <= o.ended })
		if one < 0 {
			t.Fatalf("segment %s, from %d to %d, is of no request: %v", id, from, to, took)
		}
		elements, sent := c.analyze(&list[i]), c.p.dumps(id)
		rest := strings.Replace(strings.Replace(shop.Slow, "load_prices", "render", 1), "loadPrices", "render", 1)
		for name, ms := range map[string]float64{shop.Slow: took[one].Slow, rest: took[one].Rest} {
			is := func(signature string) bool { return strings.Contains(signature, name) }
			sent.true(t, name, is, ms, from, to)
			if got, want := duration(elements, name), sent.total(is, from, to); got != want {
				t.Errorf("%s: the analysis says %v ms, the agent's snapshots %v", name, got, want)
			}
		}
		sameElsewhere(t, c, id, list[i].Spans[len(list[i].Spans)-1].SpanID, shop.Slow, duration(elements, shop.Slow))
	}
	inForest(t, c, shop, task)
	archived(t, c, shop, task, list[0].TraceID)
}

// duration returns how long an element whose signature contains a text took.
func duration(elements []element, part string) float64 {
	var sum int64
	for _, e := range elements {
		if strings.Contains(e.CodeSignature, part) {
			sum += e.Duration
		}
	}
	return float64(sum)
}

func median(list []float64) float64 {
	list = slices.Sorted(slices.Values(list))
	if len(list) == 0 {
		return 0
	}
	return list[len(list)/2]
}

// sameElsewhere wants the command and /api/v1 to say the same of a segment as
// GraphQL.
func sameElsewhere(t *testing.T, c client, segment string, span int, slow string, want float64) {
	t.Helper()
	var rows analyzed
	c.get(&rows, "analysis", url.Values{"segment": {segment}, "span": {fmt.Sprint(span)}})
	if got := rows.total(slow); got != want {
		t.Errorf("segment %s: /api/v1 says %v ms, GraphQL %v", segment, got, want)
	}
	rows = analyzed{}
	out := c.dendro("task", "analyze", "--segment", segment, "--span", fmt.Sprint(span), "-o", "json")
	if err := json.Unmarshal(out, &rows); err != nil {
		t.Fatal(err)
	}
	if got := rows.total(slow); got != want {
		t.Errorf("segment %s: task analyze says %v ms, GraphQL %v", segment, got, want)
	}
}

// analyzed is an analysis as /api/v1 and `dendro task analyze` write it.
type analyzed struct {
	Rows []struct {
		Function string
		Total    int64
	}
}

func (a *analyzed) total(part string) float64 {
	var sum int64
	for _, r := range a.Rows {
		if strings.Contains(r.Function, part) {
			sum += r.Total
		}
	}
	return float64(sum)
}

// covered wants the coverage that the agent's snapshots have, and nothing to explain but what they
// lack: on a busy machine an agent is late, which is no fault of the server.
func covered(t *testing.T, c client, task string, list []segment) {
	t.Helper()
	sum := c.stored(task)
	if len(sum.Segments) != len(list) {
		t.Errorf("%d of %d segments are covered", len(sum.Segments), len(list))
	}
	var shortest, longest int64 = period * 100, 0
	var slow bool
	for i := range list {
		id, from, to := list[i].root()
		sent, least, most := c.p.dumps(id), int64(0), int64(0)
		steps := slices.Sorted(slices.Values(sent.steps(from, to)))
		for _, step := range steps {
			if most += step; step <= 50 { // which is never a hole
				least += step
			}
		}
		n := slices.IndexFunc(sum.Segments, func(c cover) bool { return c.Segment == id })
		if n < 0 || len(steps) == 0 {
			t.Fatalf("segment %s has %d steps, and coverage %+v", id, len(steps), sum)
		}
		if got := sum.Segments[n]; got.Covered < least || got.Covered > most || got.Span != to-from {
			t.Errorf("segment %s: coverage %+v; of %d ms from %d to %d are covered", id, got, to-from, least, most)
		}
		shortest, longest = min(shortest, steps[0]), max(longest, steps[len(steps)-1])
		slow = slow || 2*steps[len(steps)/2] > 3*period
	}
	if t.Logf("of %d ms %d are covered by %d snapshots, steps from %d to %d ms", sum.Span, sum.Covered, sum.Received, shortest, longest); shortest >= 2*period {
		t.Errorf("the agent's shortest step is %d ms, the task's %d", shortest, period)
	}
	var why struct {
		Rows []struct {
			Code traceprof.CauseCode
			Text string
		}
	}
	c.get(&why, "tasks/"+url.PathEscape(task)+"/why", nil)
	for _, r := range why.Rows {
		if !(r.Code == traceprof.AgentSlow && slow) && !(r.Code == traceprof.SamplingHole && longest > 3*period) {
			t.Errorf("a task without problems reports %s: %s", r.Code, r.Text)
		}
	}
}

// cover is what the server says of the coverage of a segment, or of all.
type cover struct {
	Segment                       string
	Received, Lost, Span, Covered int64
	Share                         float64
	Segments                      []cover
}

// stored returns the coverage of a task once the server has all that agents sent of its segments.
func (c client) stored(task string) (sum cover) {
	c.t.Helper()
	until(c.t, 30*time.Second, "the server has all snapshots", func() bool {
		sum = cover{}
		c.get(&sum, "tasks/"+url.PathEscape(task)+"/coverage", nil)
		return !slices.ContainsFunc(sum.Segments, func(s cover) bool { return int(s.Received) != len(c.p.dumps(s.Segment)) })
	})
	for _, s := range sum.Segments {
		if s.Lost != 0 || int(c.p.dumps(s.Segment)[s.Received-1].number) != int(s.Received)-1 {
			c.t.Errorf("snapshots of segment %s were lost: %+v", s.Segment, s)
		}
	}
	return sum
}

// inForest wants the task as a profile that commands select like any other.
func inForest(t *testing.T, c client, shop *Shop, task string) {
	t.Helper()
	var list struct {
		Rows []struct{ Function string }
	}
	until(t, 40*time.Second, "the task is a profile", func() bool {
		var runs struct{ Rows []struct{ Run string } }
		c.get(&runs, "runs", nil) // a group that nothing has yet is not found
		return slices.ContainsFunc(runs.Rows, func(r struct{ Run string }) bool { return r.Run == task })
	})
	out := c.dendro("top", "--group", shop.Service, "--benchmark", shop.Endpoint, "--run", task, "--type", "trace", "-o", "json")
	if err := json.Unmarshal(out, &list); err != nil {
		t.Fatal(err)
	}
	name := strings.TrimSuffix(strings.TrimPrefix(shop.Slow, "shop.py."), ":")
	if !slices.ContainsFunc(list.Rows, func(r struct{ Function string }) bool { return strings.HasPrefix(r.Function, name) }) {
		t.Errorf("%s is not in the forest: %s", name, out)
	}
}

// archived wants the archive of a trace to say what the server says.
func archived(t *testing.T, c client, shop *Shop, task, trace string) {
	t.Helper()
	dir := t.TempDir()
	c.dendro("task", "export", task, "--trace", trace, "-d", dir)
	files, err := filepath.Glob(filepath.Join(dir, "*.tar.gz"))
	if err != nil || len(files) != 1 {
		t.Fatalf("the export made %q, %v", files, err)
	}
	var of [2]analyzed
	for i, args := range [][]string{{"task", "analyze", files[0], "-o", "json"}, {"task", "analyze", task, "--trace", trace, "-o", "json"}} {
		if err := json.Unmarshal(c.dendro(args...), &of[i]); err != nil {
			t.Fatal(err)
		}
	}
	if a, b := of[0].total(shop.Slow), of[1].total(shop.Slow); a != b || a == 0 {
		t.Errorf("the archive says %v ms, the server %v", a, b)
	}
}

// TestKilled kills the server in mid-task, twice.
func TestKilled(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long")
	}
	needAgents(t)
	c, shop := begin(t, "python", "shop-killed")
	warm(t, c, shop)
	task := c.create(shop)
	restart := func() {
		t.Helper()
		if err := c.s.Kill(); err != nil {
			t.Fatal(err)
		}
		at := time.Now().UnixMilli()
		if err := c.s.Restart(t.Context()); err != nil {
			t.Fatal(err)
		}
		// What an agent sends while nobody answers is lost: it does not try again.
		var list struct{ Rows []struct{ Polled int64 } }
		until(t, 30*time.Second, "the agent asks for tasks again", func() bool {
			c.get(&list, "instances", url.Values{"service": {shop.Service}})
			return len(list.Rows) == 1 && list.Rows[0].Polled > at
		})
	}
	until(t, 30*time.Second, "the task is delivered", func() bool { return strings.Contains(c.logs(task), "NOTIFIED") })
	restart()
	took := sample(t, c, shop, task)
	time.Sleep(5 * time.Second) // what the agent holds it sends within two
	before := fmt.Sprintf("%+v", c.segments(task))
	restart()
	if after := fmt.Sprintf("%+v", c.segments(task)); after != before {
		t.Errorf("before the kill\n%s\nand after it\n%s", before, after)
	}
	finish(t, c, shop, task)
	if n := strings.Count(c.logs(task), "NOTIFIED"); n != 1 {
		t.Errorf("the instance was told %d times:\n%s", n, c.logs(task))
	}
	answers(t, c, shop, task, took)
}
