package server

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// stacks returns folded stacks with equal values.
func stacks(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "main;handler%d;service%d;query%d 1\n", i%97, i*7919%1009, i)
	}
	return b.String()
}

// TestGraphAttack: 60 clients read graphs of 130,000 equal stacks at a byte per second. With a
// maximum of one node an answer is small; without one, all of them share the memory of answers
// and of what is computed, and others are served. A tree of the store is counted as well.
func TestGraphAttack(t *testing.T) {
	t.Parallel()
	p := serveWithin(t, t.TempDir(), "--continuous", "--max-work", "134217728", "--drain", "2s")
	now := time.Now().Unix()
	client := clientAt("127.0.0.1")
	path := fmt.Sprintf("/ingest?name=equal&from=%d&until=%d&format=folded&units=samples", now-10, now)
	if status, body, err := answerOf(client, "POST", p.http+path, stacks(130_000)); err != nil || status != http.StatusOK {
		t.Fatalf("push: %d %s %v", status, body, err)
	}
	graph := "/pyroscope/render?from=now-1h&query=" + url.QueryEscape(`process_cpu:cpu:nanoseconds:cpu:nanoseconds{service_name="equal"}`) + "&maxNodes="
	if status, body, err := answerOf(client, "GET", p.http+graph+"1", ""); err != nil || status != http.StatusOK || len(body) > 10_000 {
		t.Errorf("one node: %d, %d bytes, %v", status, len(body), err)
	}
	underAttack(t, p, append([]request{push("honest")}, honest...), func(*http.Client) {
		var wg sync.WaitGroup
		var answered, refused atomic.Int64
		for i := range 60 {
			wg.Go(func() {
				c := dial(t, p, "127.0.0.1")
				fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", graph+[]string{"1", "0"}[i%2])
				head := make([]byte, len("HTTP/1.1 200"))
				_ = c.SetReadDeadline(time.Now().Add(2 * time.Minute))
				if _, err := io.ReadFull(c, head); err != nil {
					t.Errorf("no answer: %v", err)
					return
				}
				switch string(head[9:]) {
				case "200":
					answered.Add(1)
				case "503", "504": // 504: not within a minute, on a machine that has other work
					refused.Add(1)
				default:
					rest, _ := io.ReadAll(io.LimitReader(c, 1000))
					t.Errorf("%s%s", head, rest)
				}
				for range 5 {
					if _, err := c.Read(head[:1]); err != nil {
						return
					}
					time.Sleep(time.Second)
				}
			})
		}
		wg.Wait()
		if t.Logf("%d answered, %d refused", answered.Load(), refused.Load()); answered.Load() < 30 {
			t.Error("graphs of one node were refused")
		}
	})
	p.ended(t, 1100<<20)
}

// TestTreesAreCounted: a tree of the store has its memory from --max-work, before it is made.
func TestTreesAreCounted(t *testing.T) {
	t.Parallel()
	p := serveWithin(t, t.TempDir(), "--max-work", "8388608")
	client := clientAt("127.0.0.1")
	for i := range 2 { // of one profile, of several
		path := fmt.Sprintf("/api/v1/import?run=r%d&benchmark=b&name=x.folded", i)
		if status, body, err := answerOf(client, "POST", p.http+path, stacks(60_000)); err != nil || status != http.StatusOK {
			t.Fatalf("import: %d %s %v", status, body, err)
		}
		status, body, err := answerOf(client, "GET", p.http+"/api/v1/tree?benchmark=b", "")
		if err != nil || status != http.StatusServiceUnavailable || !strings.Contains(body, "--max-work") {
			t.Errorf("a tree of %d profiles: %d %.300s %v", i+1, status, body, err)
		}
	}
	if status, body, err := answerOf(client, "GET", p.http+"/api/v1/tree?benchmark=none", ""); err != nil ||
		status == http.StatusServiceUnavailable {
		t.Errorf("a small tree: %d %.300s %v", status, body, err)
	}
	p.ended(t, 700<<20)
}

// TestSQLWhileCompacted: while the store is compacted, statements are answered, or with 503 and
// when to try again: the mistake is not theirs.
func TestSQLWhileCompacted(t *testing.T) {
	t.Parallel()
	p := serveWithin(t, t.TempDir())
	client := clientAt("127.0.0.1")
	if status, body, err := answerOf(client, "POST", p.http+"/api/v1/import?run=r&benchmark=b&name=x.folded", stacks(20_000)); err != nil ||
		status != http.StatusOK {
		t.Fatalf("import: %d %s %v", status, body, err)
	}
	end := time.Now().Add(5 * time.Second)
	var wg sync.WaitGroup
	var answered, refused, compacted atomic.Int64
	wg.Go(func() {
		for time.Now().Before(end) {
			if status, body, err := answerOf(client, "POST", p.http+"/api/v1/compact", ""); err != nil || status != http.StatusOK {
				t.Errorf("compact: %d %s %v", status, body, err)
				return
			}
			compacted.Add(1)
		}
	})
	for i := range 4 {
		wg.Go(func() {
			for client := clientAt("127.0.0.1"); time.Now().Before(end); {
				statement := []string{"SELECT * FROM node LIMIT 100", "SELECT count(*) FROM node a, range(2000) b(i)"}[i%2]
				resp, err := client.Post(p.http+"/api/v1/sql", "application/sql", strings.NewReader(statement))
				if err != nil {
					t.Errorf("SQL: %v", err)
					return
				}
				body, err := io.ReadAll(resp.Body)
				resp.Body.Close()
				switch {
				case resp.StatusCode == http.StatusOK && err == nil:
					answered.Add(1)
				case resp.StatusCode == http.StatusServiceUnavailable && resp.Header.Get("Retry-After") != "":
					refused.Add(1)
				default:
					t.Errorf("SQL: %s %s %.300s %v", resp.Status, resp.Header.Get("Retry-After"), body, err)
					return
				}
			}
		})
	}
	wg.Wait()
	t.Logf("compacted %d times; %d statements answered, %d refused", compacted.Load(), answered.Load(), refused.Load())
	if compacted.Load() == 0 || answered.Load() == 0 {
		t.Error("nothing was compacted, or no statement answered")
	}
	p.ended(t, 1500<<20)
}

// TestHostileSVG uploads flame graphs in SVG: what they say is text, and entities and depth are
// bounded.
func TestHostileSVG(t *testing.T) {
	t.Parallel()
	p := serveWithin(t, t.TempDir(), "--max-work", "536870912")
	client := clientAt("127.0.0.1")
	svg := func(before, title, inside string) string {
		return before + `<svg version="1.1" width="1200" height="100" onload="alert(1)" xmlns="http://www.w3.org/2000/svg"><script>alert(2)</script><image href="http://127.0.0.1:1/x"/>` +
			`<g id="frames"><g><title>all (10 samples, 100%)</title><rect x="10" y="50" width="1180" height="15"/></g>` +
			`<g><title>` + title + ` (10 samples, 100%)</title><rect x="10" y="34" width="1180" height="15"/></g>` + inside + `</g></svg>`
	}
	name := "&lt;/script&gt;&lt;script&gt;alert(3)&lt;/script&gt;"
	status, tree, err := answerOf(client, "POST", p.http+"/api/v1/view?name=x.svg", svg("", name, ""))
	if err != nil || status != http.StatusOK || !strings.Contains(tree, "alert(3)") {
		t.Fatalf("a flame graph: %d %.300s %v", status, tree, err)
	}
	status, page, err := answerOf(client, "POST", p.http+"/api/v1/view?name=x.svg&format=html", svg("", name, ""))
	if err != nil || status != http.StatusOK {
		t.Fatalf("its page: %d %.300s %v", status, page, err)
	}
	for _, code := range []string{"<script>alert(", "alert(1)", "alert(2)", "127.0.0.1:1/"} {
		if strings.Contains(page, code) {
			t.Errorf("the page has %s of the flame graph", code)
		}
	}
	bomb := `<!DOCTYPE svg [<!ENTITY a "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa">`
	for c := 'b'; c < 'k'; c++ {
		bomb += fmt.Sprintf(`<!ENTITY %c "%s">`, c, strings.Repeat(fmt.Sprintf("&%c;", c-1), 10))
	}
	for what, content := range map[string]string{
		"entities": svg(bomb+"]>", "&j;", ""), "a file of the server": svg(`<!DOCTYPE svg [<!ENTITY a SYSTEM "file:///etc/passwd">]>`, "&a;", ""),
		"depth": svg("", "f", strings.Repeat("<g>", 2<<20)), "boxes": svg("", "f", strings.Repeat(`<g><title>f (1 samples, 1%)</title><rect x="10" y="18" width="1" height="15"/></g>`, 100_000)),
	} {
		began := time.Now()
		status, body, err := answerOf(client, "POST", p.http+"/api/v1/view?name=x.svg", content)
		if err != nil || status >= 500 && status != http.StatusServiceUnavailable || strings.Contains(body, "root:") {
			t.Errorf("%s: %d %.300s %v", what, status, body, err)
		}
		t.Logf("%s: %d in %s: %.150s", what, status, time.Since(began).Round(time.Millisecond), body)
	}
	p.ended(t, 900<<20)
}
