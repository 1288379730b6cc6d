package fleet

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dendroprof/dendro/test/broker"
	"github.com/dendroprof/dendro/test/program"
)

func TestMain(m *testing.M) { os.Exit(program.Main(m.Run)) }

const token = "of-the-whole-fleet"

// span is the time that questions are about.
const span = 2 * time.Hour

// services is how many simulated programs push: many in a nightly run.
var services = 12

// process is a part of the fleet, which keeps its address and folder when it starts again.
type process struct {
	*program.Server
	t       *testing.T
	dir     string
	address string
	args    []string
}

func start(t *testing.T, name string, args ...string) *process {
	t.Helper()
	p := &process{t: t, dir: filepath.Join(t.TempDir(), name), address: program.FreeAddress(t), args: args}
	if err := os.Mkdir(p.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	p.again()
	t.Cleanup(func() {
		p.Kill()
		if t.Failed() {
			t.Logf("%s:\n%s", name, last(p.Log.String(), 3000))
		}
	})
	return p
}

func last(text string, n int) string { return text[max(0, len(text)-n):] }

// again starts the process, on what it has.
func (p *process) again() {
	p.t.Helper()
	s, err := program.StartServer(p.dir, append([]string{"--http-listen", p.address, "--http-token", token, "--grpc-listen", "127.0.0.1:0"},
		p.args...)...)
	if err != nil {
		p.t.Fatal(err)
	}
	p.Server = s
}

// fleet is a fleet beside one process.
type fleet struct {
	t        *testing.T
	topic    string
	one      *process
	gateways []*process
	workers  []*process
	reader   *process
	begin    time.Time
	every    time.Duration // from window to window
	pushed   atomic.Int64
}

func (f *fleet) worker() *process {
	return start(f.t, "worker", "--windows", f.topic, "--windows-session", "6s")
}

// push sends window n of a service to the one process, and to a gateway until it is acknowledged.
func (f *fleet) push(service, n int) {
	from := f.begin.Add(time.Duration(n) * f.every)
	path := fmt.Sprintf("/ingest?name=%s&from=%d&until=%d&format=folded", url.QueryEscape(fmt.Sprintf("s%d{pod=p%d}", service, n%3)),
		from.UnixMilli(), from.Add(time.Second).UnixMilli())
	body := fmt.Sprintf("main;handle%d;query %d\nmain;idle 1\nmain;handle%d;s%d 3\n", n%5, n+1, n%4, service)
	send := func(to *process) bool {
		reply, err := client.Do(request("POST", to.address, path, body))
		if err != nil {
			return false
		}
		defer reply.Body.Close()
		return reply.StatusCode == http.StatusOK
	}
	for _, way := range [][]*process{{f.one}, f.gateways} {
		for try := 0; !send(way[(service+n+try)%len(way)]); try++ {
			if try > 600 {
				f.t.Errorf("window %d of service %d was not acknowledged", n, service)
				return
			}
			time.Sleep(50 * time.Millisecond)
		}
	}
	f.pushed.Add(1)
}

var client = &http.Client{Timeout: 30 * time.Second}

func request(method, address, path, body string) *http.Request {
	r, err := http.NewRequest(method, "http://"+address+path, strings.NewReader(body))
	if err != nil {
		panic(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	if strings.HasPrefix(path, "/querier") {
		r.Header.Set("Content-Type", "application/json")
	}
	return r
}

// pushAll pushes windows of all services.
func (f *fleet) pushAll(from, until int) {
	var all sync.WaitGroup
	for s := range services {
		all.Go(func() {
			for n := from; n < until; n++ {
				f.push(s, n)
			}
		})
	}
	all.Wait()
}

// ask returns the answer of a process, and what it says is missing.
func (f *fleet) ask(p *process, path, body string) (answer, missing string) {
	f.t.Helper()
	method := "GET"
	if body != "" {
		method = "POST"
	}
	reply, err := client.Do(request(method, p.address, path, body))
	if err != nil {
		f.t.Fatal(err)
	}
	defer reply.Body.Close()
	content, err := io.ReadAll(reply.Body)
	if err != nil {
		f.t.Fatal(err)
	}
	if reply.StatusCode != http.StatusOK { // of a service that is not there yet
		return reply.Status + " " + string(content), reply.Header.Get("Dendro-Missing")
	}
	var indented bytes.Buffer
	if json.Indent(&indented, content, "", " ") == nil {
		content = indented.Bytes()
	}
	return string(content), reply.Header.Get("Dendro-Missing")
}

// questions are those of Grafana and of the page, of all services or of one.
func (f *fleet) questions(service string) map[string]string {
	const cpu = "process_cpu:cpu:nanoseconds:cpu:nanoseconds"
	from, until := f.begin.Add(-time.Minute).UnixMilli(), f.begin.Add(span).UnixMilli()
	selector := "{}"
	if service != "" {
		selector = fmt.Sprintf(`{service_name=\"%s\"}`, service)
	}
	q := func(method, rest string) (string, string) {
		return "/querier.v1.QuerierService/" + method, fmt.Sprintf(`{"start":%d,"end":%d%s}`, from, until, rest)
	}
	all := map[string]string{}
	add := func(path, body string) { all[path] = body }
	add(q("ProfileTypes", ""))
	add(q("LabelNames", `,"matchers":["`+selector+`"]`))
	add(q("LabelValues", `,"name":"pod","matchers":["`+selector+`"]`))
	add(q("Series", `,"matchers":["`+selector+`"],"labelNames":["service_name","pod"]`))
	add(q("SelectSeries", `,"profileTypeID":"`+cpu+`","labelSelector":"`+selector+`","groupBy":["service_name","pod"],"step":10`))
	add(q("SelectMergeStacktraces", `,"profileTypeID":"`+cpu+`","labelSelector":"`+selector+`","maxNodes":0`))
	add("/pyroscope/render?query="+url.QueryEscape(cpu+strings.ReplaceAll(selector, `\"`, `"`))+
		fmt.Sprintf("&from=%d&until=%d&maxNodes=0", from, until), "")
	page := fmt.Sprintf("&since=%s&until=%s", f.begin.Add(-time.Minute).Format(time.RFC3339), f.begin.Add(span).Format(time.RFC3339))
	add("/api/v1/pushed/services?"+page, "")
	add("/api/v1/pushed/series?type=cpu&by=service_name&step=10s"+page, "")
	if service != "" {
		page += "&service=" + service
		add("/api/v1/pushed/series?type=cpu&by=pod&step=1s&function=main"+page, "")
		for _, path := range []string{"tree?", "functions?", "flame?", "history?", "find?pattern=query", "runs?"} {
			add("/api/v1/"+path+page, "")
		}
	}
	return all
}

// same fails unless all answers of the reader are those of the one process, for which it waits some
// time. It returns what the reader says is missing.
func (f *fleet) same(when, service string) (missing string) {
	f.t.Helper()
	for path, body := range f.questions(service) {
		deadline := time.Now().Add(2 * time.Minute)
		for {
			want, _ := f.ask(f.one, path, body)
			got, says := f.ask(f.reader, path, body)
			if missing = says; got == want {
				break
			}
			if time.Now().After(deadline) {
				f.t.Fatalf("%s, %s %s (missing: %q):\n%s", when, path, body, says, cmp.Diff(want, got))
			}
			time.Sleep(50 * time.Millisecond)
		}
	}
	return missing
}

// equal is same for all services together and for two of them.
func (f *fleet) equal(when string) (missing string) {
	f.t.Helper()
	f.same(when, "s3")
	f.same(when, "s8")
	return f.same(when, "")
}

// holds returns how many partitions a worker holds.
func (f *fleet) holds(p *process) int {
	f.t.Helper()
	text, _ := f.ask(p, "/fleet/v1/partitions", "")
	var status struct{ Partitions []struct{ Complete bool } }
	if err := json.Unmarshal([]byte(text), &status); err != nil {
		f.t.Fatal(err)
	}
	n := 0
	for _, p := range status.Partitions {
		if p.Complete {
			n++
		}
	}
	return n
}

// services returns the services of the partitions that a worker holds.
func (f *fleet) services(p *process) (names []string) {
	f.t.Helper()
	text, _ := f.ask(p, "/fleet/v1/partitions", "")
	var status struct{ Partitions []struct{ Partition int } }
	if err := json.Unmarshal([]byte(text), &status); err != nil {
		f.t.Fatal(err)
	}
	for _, held := range status.Partitions {
		text, _ := f.ask(p, fmt.Sprintf("/fleet/v1/partitions/%d/services", held.Partition), "{}")
		var list []string
		if err := json.Unmarshal([]byte(text), &list); err != nil {
			f.t.Fatalf("%v: %s", err, text)
		}
		names = append(names, list...)
	}
	if len(names) == 0 {
		f.t.Fatalf("a worker holds no service: %s", text)
	}
	return names
}

func (f *fleet) eventually(what string, holds func() bool) {
	f.t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); !holds(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			f.t.Fatal(what)
		}
	}
}

// TestFleet pushes through two gateways to three workers, kills and restarts parts meanwhile, and
// adds a worker. Whoever is there answers like one process that received the same, and a reader
// says what is not there.
func TestFleet(t *testing.T) {
	if os.Getenv("DENDRO_TEST_REAL") == "" {
		t.Skip("needs Java and Maven: DENDRO_TEST_REAL=1 runs it, as make smoke-servers does")
	}
	if !testing.Short() {
		services = 200
	}
	began := time.Now()
	step := func(what string) { t.Logf("%s: %s", time.Since(began).Round(100*time.Millisecond), what) }
	b := broker.New(t)
	kafka := b.Address
	f := &fleet{t: t, topic: "kafka://" + kafka + "/windows", begin: time.Now().Truncate(time.Minute).Add(-10 * time.Minute),
		every: time.Second}
	step("Kafka runs")
	f.one = start(t, "one", "--continuous")
	for range 2 {
		f.gateways = append(f.gateways, start(t, "gateway", "--gateway", f.topic, "--kafka-partitions", "6"))
	}
	var addresses []string
	for range 4 {
		w := f.worker()
		f.workers, addresses = append(f.workers, w), append(addresses, "http://"+w.address)
	}
	fourth := f.workers[3]
	fourth.Kill()
	f.reader = start(t, "reader", "--windows-from", strings.Join(addresses, ","))
	f.pushAll(0, 10)
	f.equal("at first")
	step("equal")

	background := func(from int) (wait func()) {
		done := make(chan struct{})
		go func() {
			defer close(done)
			f.pushAll(from, from+10)
		}()
		return func() { <-done }
	}
	wait := background(10)
	f.gateways[0].Kill()
	f.gateways[0].again()
	f.reader.Kill()
	f.reader.again()
	wait()
	f.equal("after a gateway and the reader were killed")
	step("a gateway and the reader were killed")

	wait = background(20)
	f.workers[0].Kill()
	kept := f.services(f.workers[2])
	f.eventually("a killed worker is not missed", func() bool {
		_, missing := f.ask(f.reader, "/api/v1/pushed/services", "")
		return strings.Contains(missing, "2 of 4 workers do not answer") && strings.Contains(missing, "missing")
	})
	wait()
	f.same("while a worker is down", kept[0])
	f.workers[0].again()
	f.eventually("services are missing after a worker came back", func() bool {
		return !strings.Contains(f.equal("after a worker was killed"), "service")
	})
	step("a worker was killed and came back")

	wait = background(30)
	f.workers[1].Kill()
	wait()
	f.eventually("nobody takes the partitions of a worker that is gone", func() bool {
		return f.holds(f.workers[0])+f.holds(f.workers[2]) == 6
	})
	f.equal("after the others took over")
	step("a worker was killed for good")

	wait = background(40)
	fourth.again()
	f.workers[1].again()
	f.eventually("a new worker gets no partition", func() bool { return f.holds(fourth) > 0 && f.holds(f.workers[1]) > 0 })
	wait()
	f.equal("after workers were added")
	f.eventually("all workers answer, and something is missing", func() bool { return f.equal("in the end") == "" })
	step("workers were added")
	windows := 50
	if !testing.Short() {
		wait = background(windows)
		b.End(t, syscall.SIGKILL)
		b.Start(t)
		wait()
		f.eventually("something is missing after Kafka was killed", func() bool { return f.equal("after Kafka was killed") == "" })
		windows += 10
		step("Kafka was killed")
	}
	if n := int(f.pushed.Load()); n != windows*services {
		t.Errorf("%d windows were acknowledged", n)
	}
	f.demo(strings.Replace(f.topic, "/windows", "/demo", 1))
	step("the demo ran")
	handOver(t, kafka)
	step("hours were handed over")
}

// demo runs the demo twice: until its services are on the page of its reader, and until the lake has
// their hours, which workers hand over when they start again.
func (f *fleet) demo(topic string) {
	f.t.Helper()
	dir := f.t.TempDir()
	f.demoUntil(dir, topic, func(reader string) bool {
		reply, err := http.Get("http://" + reader + "/api/v1/pushed/services")
		if err != nil {
			return false
		}
		defer reply.Body.Close()
		content, _ := io.ReadAll(reply.Body)
		return strings.Contains(string(content), "demo-2")
	})
	f.demoUntil(dir, topic, func(string) bool {
		out, _, status := program.Run(f.t, dir, "top", "--store", "lake:fleet-demo/lake", "--service", "demo-2", "--since", "4h")
		return status == 0 && strings.Contains(out, "render")
	})
}

// demoUntil runs the demo in a folder until something holds.
func (f *fleet) demoUntil(dir, topic string, holds func(reader string) bool) {
	f.t.Helper()
	address := program.FreeAddress(f.t)
	_, port, _ := strings.Cut(address, ":")
	c := program.Command(dir, "fleet", "demo", topic, "--port", port, "--workers", "1", "--services", "3")
	var out bytes.Buffer
	c.Stdout, c.Stderr = &out, &out
	if err := c.Start(); err != nil {
		f.t.Fatal(err)
	}
	f.eventually("the demo has no services", func() bool { return holds(address) })
	if err := c.Process.Signal(os.Interrupt); err != nil {
		f.t.Fatal(err)
	}
	if err := c.Wait(); err != nil {
		f.t.Errorf("the demo ended with %v:\n%s", err, out.String())
	}
	if _, err := http.Get("http://" + address + "/healthz"); err == nil {
		f.t.Error("a part of the demo runs on")
	}
}
