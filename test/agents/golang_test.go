package agents

import (
	"encoding/json"
	"io"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// request asks the Go shop for a path, over a connection that stays open, and
// returns what it measured.
func request(t *testing.T, shop *Shop, path string) (took map[string]float64) {
	t.Helper()
	resp, err := http.Get(shop.URL + path)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s: %v\n%s", path, resp.Status, err, body)
	}
	if err := json.Unmarshal(body, &took); path == "/checkout" && err != nil {
		t.Fatalf("%v in %s", err, body)
	}
	return took
}

// TestGo goes the whole round with the Go agent's example: the tree of its task has
// the times that the example measured itself, and nothing of other requests.
func TestGo(t *testing.T) {
	t.Parallel()
	c, shop := begin(t, "go", "shop")
	request(t, shop, "/checkout")
	task := c.create(shop)
	until(t, 30*time.Second, "the task is delivered", func() bool { return strings.Contains(c.logs(task), "NOTIFIED") })
	time.Sleep(100 * time.Millisecond)
	truth := map[string][]float64{}
	var others sync.WaitGroup
	for range maxSegments {
		for range 2 { // one concurrent, one that leaves its connection to the next request
			others.Go(func() { request(t, shop, "/stock/pear") })
		}
		for part, ms := range request(t, shop, "/checkout") {
			truth[part] = append(truth[part], ms)
		}
	}
	others.Wait()
	var list []segment
	until(t, 20*time.Second, "all segments have arrived", func() bool {
		list = c.segments(task)
		return len(list) == maxSegments
	})
	// The end of the program is that of the task, and comes after all snapshots.
	if err := shop.Stop(); err != nil {
		t.Fatal(err)
	}
	finish(t, c, shop, task)
	seen := map[string][]float64{}
	for i := range list {
		root := list[i]
		root.Spans = root.Spans[:1] // the last ones are those of the receipt
		elements := c.analyze(&root)
		for part := range truth {
			seen[part] = append(seen[part], duration(topmost(elements, "main.", part+":"), part))
		}
		for _, e := range elements {
			if strings.Contains(e.CodeSignature, "main.(*shop).stock:") || strings.Contains(e.CodeSignature, "dendro/agent.") {
				t.Errorf("%s is in segment %d", e.CodeSignature, i)
			}
		}
	}
	for part, want := range truth {
		t.Logf("%s took %.0f, seen %.0f", part, want, seen[part])
		if got, want := median(seen[part]), median(want); math.Abs(got-want) > max(want/10, 2*period)+10 { // 10 ms for a busy machine
			t.Errorf("%s took %.0f ms in the median and was seen %.0f ms", part, want, got)
		}
	}
	if !slices.ContainsFunc(list, func(s segment) bool { return len(s.Spans) > 2 }) {
		t.Error("the spans of the receipt, which is printed in a goroutine of its own, are missing")
	}
	var sum struct{ Received, Lost, Span, Covered int64 }
	c.get(&sum, "tasks/"+url.PathEscape(task)+"/coverage", nil)
	if t.Logf("%+v", sum); sum.Lost > 0 || 10*sum.Covered < 7*sum.Span {
		t.Errorf("coverage %+v", sum)
	}
}

// topmost returns the elements that are a function of the program.
func topmost(elements []element, prefix, name string) (list []element) {
	for _, e := range elements {
		if strings.HasPrefix(e.CodeSignature, prefix) && strings.Contains(e.CodeSignature, name) {
			list = append(list, e)
		}
	}
	return list
}

// TestGoKilled kills the server in mid-task. The Go agent sends again what the server
// has not accepted, so nothing is lost.
func TestGoKilled(t *testing.T) {
	t.Parallel()
	c, shop := begin(t, "go", "shop")
	task := c.create(shop)
	until(t, 30*time.Second, "the task is delivered", func() bool { return strings.Contains(c.logs(task), "NOTIFIED") })
	time.Sleep(100 * time.Millisecond)
	request(t, shop, "/checkout")
	if err := c.s.Kill(); err != nil {
		t.Fatal(err)
	}
	request(t, shop, "/checkout")
	if err := c.s.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	request(t, shop, "/checkout")
	until(t, 30*time.Second, "the segments of all requests have arrived", func() bool { return len(c.segments(task)) == 3 })
	if err := shop.Stop(); err != nil {
		t.Fatal(err)
	}
	finish(t, c, shop, task)
	list := c.segments(task)
	for i := range list {
		root := list[i]
		root.Spans = root.Spans[:1]
		if d := duration(c.analyze(&root), "main.(*shop).lockPrices:"); d < 60 {
			t.Errorf("request %d waited 120 ms for the lock and was seen %v ms", i, d)
		}
	}
}
