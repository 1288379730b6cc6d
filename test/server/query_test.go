package server

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/dendroprof/dendro/test/program"
)

// serveWithin is serve with 4 GiB of address space: a server that needs more ends.
func serveWithin(t *testing.T, dir string, args ...string) *process {
	t.Helper()
	s, err := program.StartServerWithin(4<<30, dir, args...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Kill)
	return &process{Cmd: s.Cmd, http: s.HTTP, grpc: s.GRPC, log: s.Log}
}

// clientAt returns a client with an address of this machine.
func clientAt(address string) *http.Client {
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(address)}}
	return &http.Client{Timeout: 3 * time.Minute, Transport: &http.Transport{DialContext: d.DialContext}}
}

// answerOf sends a request and returns status and body.
func answerOf(client *http.Client, method, address, body string, headers ...string) (int, string, error) {
	r, err := http.NewRequestWithContext(context.Background(), method, address, strings.NewReader(body))
	if err != nil {
		return 0, "", err
	}
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		r.Header.Set(name, value)
	}
	resp, err := client.Do(r)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(b), err
}

// request is one request of an honest client.
type request struct{ method, path, body string }

// honest are what the client at 127.0.0.2 does all the time.
var honest = []request{{"GET", "/readyz", ""}, {"GET", "/metrics", ""}, {"GET", "/api/v1/runs", ""}}

// push is a push of an honest client.
func push(app string) request {
	now := time.Now().Unix()
	return request{"POST", fmt.Sprintf("/ingest?name=%s&from=%d&until=%d&format=folded&units=samples", url.QueryEscape(app), now-10, now), "main;work 1\n"}
}

// underAttack runs an attack from 127.0.0.1, while another client sends its requests one
// after the other, all of which must succeed. It logs the longest of them, and how often the
// client was served.
func underAttack(t *testing.T, p *process, requests []request, attack func(client *http.Client)) {
	t.Helper()
	client := clientAt("127.0.0.2")
	over := make(chan bool)
	go func() {
		defer close(over)
		attack(clientAt("127.0.0.1"))
	}()
	var worst time.Duration
	what, rounds := "", 0
	for ended := false; !ended; rounds++ {
		select {
		case <-over:
			ended = true
		default:
		}
		for _, r := range requests {
			began := time.Now()
			status, body, err := answerOf(client, r.method, p.http+r.path, r.body)
			if err != nil || status != http.StatusOK {
				t.Errorf("%s %s: %d %.200s %v", r.method, r.path, status, body, err)
				<-over
				return
			}
			if took := time.Since(began); took > worst {
				worst, what = took, r.path
			}
		}
	}
	t.Logf("another client was served %d times; the longest took %s: %.20s", rounds*len(requests), worst.Round(time.Millisecond), what)
}

// ended ends the server, and checks that it ends in order and its peak memory.
func (p *process) ended(t *testing.T, most int64) {
	t.Helper()
	if status := p.end(t, syscall.SIGTERM); status != 0 {
		t.Errorf("status %d: %s", status, p.log)
	}
	peak := program.PeakMemory(p.ProcessState)
	t.Logf("peak memory %d MB", peak>>20)
	if peak > most {
		t.Errorf("peak memory %d MB, more than %d MB", peak>>20, most>>20)
	}
}

// TestSelectorAttack sends patterns that take minutes: each ends at the limit of its steps,
// others push and query meanwhile, and the server ends in order while more of them run.
func TestSelectorAttack(t *testing.T) {
	t.Parallel()
	p := serveWithin(t, t.TempDir(), "--continuous", "--drain", "3s")
	client := clientAt("127.0.0.1")
	for i := range 200 {
		r := push(fmt.Sprintf(`victim{v="%s%d"}`, strings.Repeat("a", 4000), i))
		if status, body, err := answerOf(client, r.method, p.http+r.path, r.body); err != nil || status != http.StatusOK {
			t.Fatalf("push: %d %s %v", status, body, err)
		}
	}
	query := url.QueryEscape(`process_cpu:cpu:nanoseconds:cpu:nanoseconds{v=~"` + strings.Repeat(".?", 2000) + `Z"}`)
	attack := func(n int) (answers []string) {
		var wg sync.WaitGroup
		var mu sync.Mutex
		for range n {
			wg.Go(func() {
				status, body, err := answerOf(clientAt("127.0.0.1"), "GET", p.http+"/pyroscope/render?from=now-1h&query="+query, "")
				mu.Lock()
				defer mu.Unlock()
				answers = append(answers, fmt.Sprintf("%d %s %v", status, body, err))
			})
		}
		wg.Wait()
		return answers
	}
	underAttack(t, p, append([]request{push("honest")}, honest...), func(*http.Client) {
		for _, answer := range attack(4) {
			counted := strings.HasPrefix(answer, "400 ") && strings.Contains(answer, "steps of the patterns") &&
				strings.Contains(answer, "--max-steps")
			slow := strings.HasPrefix(answer, "504 ") // the steps take more than a minute on a machine that has other work
			if !counted && !slow {
				t.Errorf("an expensive pattern: %s", answer)
			}
		}
	})
	done := make(chan bool)
	go func() { attack(4); close(done) }()
	p.measures(t, "dendro_http_requests_in_flight 5")
	p.ended(t, 900<<20)
	<-done
}

// overlapping returns a zip archive with n entries of its directory for one member.
func overlapping(t *testing.T, n int, content string) string {
	var b bytes.Buffer
	archive := zip.NewWriter(&b)
	member, err := archive.Create("a.folded")
	if err == nil {
		_, err = io.WriteString(member, content)
	}
	if err = errors.Join(err, archive.Close()); err != nil {
		t.Fatal(err)
	}
	end := bytes.LastIndex(b.Bytes(), []byte("PK\x05\x06"))
	tail := b.Bytes()[end:]
	directory := int(binary.LittleEndian.Uint32(tail[16:]))
	entries := bytes.Repeat(b.Bytes()[directory:end], n)
	last := slices.Clone(tail)
	binary.LittleEndian.PutUint16(last[8:], uint16(n))
	binary.LittleEndian.PutUint16(last[10:], uint16(n))
	binary.LittleEndian.PutUint32(last[12:], uint32(len(entries)))
	return b.String()[:directory] + string(entries) + string(last)
}

// TestArchiveAttack sends archives of 1 MB that stand for gigabytes: to be shown, and to be
// imported.
func TestArchiveAttack(t *testing.T) {
	t.Parallel()
	p := serveWithin(t, t.TempDir(), "--max-view", "33554432", "--max-work", "629145600")
	var stacks strings.Builder
	for i := range 130_000 {
		fmt.Fprintf(&stacks, "main;handler%d;service%d;query%d 1\n", i%97, i*7919%1009, i)
	}
	archive := overlapping(t, 3000, stacks.String())
	t.Logf("an archive of %d bytes for %d", len(archive), 3000*stacks.Len())
	underAttack(t, p, honest, func(client *http.Client) {
		for _, path := range []string{"/api/v1/view?name=x.zip", "/api/v1/import?run=r&name=x.zip"} {
			if status, body, err := answerOf(client, "POST", p.http+path, archive); err != nil || !strings.Contains(body, "overlap") ||
				strings.Contains(body, `"stored"`) {
				t.Errorf("%s: %d %.300s %v", path, status, body, err)
			}
		}
		// A directory of a zip that is larger than what it lists.
		for _, path := range []string{"/api/v1/view?name=x.zip", "/api/v1/import?run=r&name=x.zip"} {
			if status, body, err := answerOf(client, "POST", p.http+path, overlapping(t, 200_000, "main 1\n")); err != nil ||
				!strings.Contains(body, "at most 100000 entries") {
				t.Errorf("%s: %d %.300s %v", path, status, body, err)
			}
		}
		// More than a view may have, and more than the views of one client may have together.
		large := strings.Repeat(stacks.String(), 9)
		if status, body, err := answerOf(client, "POST", p.http+"/api/v1/view?name=x.folded", large); err != nil ||
			status != http.StatusUnprocessableEntity || !strings.Contains(body, "--max-view") {
			t.Errorf("a large view: %d %.300s %v", status, body, err)
		}
		var wg sync.WaitGroup
		var shown atomic.Int64
		for range 12 {
			wg.Go(func() {
				status, body, err := answerOf(clientAt("127.0.0.1"), "POST", p.http+"/api/v1/view?name=x.folded", stacks.String())
				if err != nil || status != http.StatusOK && (status != http.StatusServiceUnavailable ||
					!strings.Contains(body, "bytes of requests being computed")) {
					t.Errorf("views at the same time: %d %.300s %v", status, body, err)
				}
				if status == http.StatusOK {
					shown.Add(1)
				}
			})
		}
		wg.Wait()
		if t.Logf("%d of 12 views at the same time were shown", shown.Load()); shown.Load() == 0 {
			t.Error("no view was shown")
		}
	})
	p.ended(t, 800<<20)
}

// TestSQLAttack runs statements that make large values and large aggregates with a read token:
// they fail or end, and what is left of one ends with its client.
func TestSQLAttack(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	const token = "read-0123456789ab"
	writeOne(t, dir, "token", token)
	p := serveWithin(t, dir, "--read-token-file", "token", "--open-metrics")
	auth := "Authorization: Bearer " + token
	underAttack(t, p, []request{{"GET", "/readyz", ""}, {"GET", "/metrics", ""}}, func(client *http.Client) {
		for _, statement := range []string{
			"SELECT length(repeat('a', 4000000000))", "SELECT length(repeat('a', 4000000000 + i)) FROM range(3) r(i)", "SELECT length(lpad('a', 2000000000, 'b'))",
			"SELECT len(list_resize([1], 500000000))", "SELECT len(range(500000000))", "SELECT length(string_agg('aaaaaaaaaaaaaaaa', '')) FROM range(1000000000)",
			"SELECT len(list(i)) FROM range(1000000000) r(i)", "SELECT 1 WHERE 1 IN (" + strings.Repeat("1,", 1<<19) + "1)",
		} {
			status, body, err := answerOf(client, "POST", p.http+"/api/v1/sql", statement, auth)
			if err != nil || status != http.StatusBadRequest && status != http.StatusRequestEntityTooLarge {
				t.Errorf("%.80s: %d %.300s %v", statement, status, body, err)
			}
			t.Logf("%.60s: %.200s", statement, body)
		}
		leaving := clientAt("127.0.0.1")
		leaving.Timeout = time.Second
		if status, _, err := answerOf(leaving, "POST", p.http+"/api/v1/sql", "SELECT sum(a.i * b.i) FROM range(100000000) a(i), range(100000000) b(i)", auth); err == nil {
			t.Errorf("an endless statement: %d", status)
		}
		p.measures(t, "dendro_http_requests_in_flight 1") // its own
	})
	p.ended(t, 3000<<20)
}
