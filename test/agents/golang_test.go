package agents

import (
	"cmp"
	"encoding/json"
	"io"
	"net/http"
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
	// Requests that begin before the agent has the task are not sampled.
	var took []parts
	var list []segment
	until(t, 40*time.Second, "all segments have arrived", func() bool {
		var others sync.WaitGroup
		for range 2 { // one concurrent, one that leaves its connection to the next request
			others.Go(func() { request(t, shop, "/stock/pear") })
		}
		took = append(took, checkout(t, shop))
		others.Wait()
		list = c.segments(task)
		return len(list) == maxSegments
	})
	// The end of the program is that of the task, and comes after all snapshots.
	if err := shop.Stop(); err != nil {
		t.Fatal(err)
	}
	finish(t, c, shop, task)
	list = c.segments(task)
	sum := c.stored(task)
	best := 0.0
	for i := range list {
		root := list[i]
		root.Spans = root.Spans[:1] // the last ones are those of the receipt
		id, from, to := root.root()
		elements, sent := c.analyze(&root), c.p.dumps(id)
		for name, ms := range took[at(took, from)].ms {
			is := func(signature string) bool {
				return strings.HasPrefix(signature, "main.") && strings.Contains(signature, name+":")
			}
			sent.true(t, name, is, ms, from, to)
			if got, want := duration(topmost(elements, "main.", name+":"), name), sent.total(is, from, to); got != want {
				t.Errorf("%s: the analysis says %v ms, the agent's snapshots %v", name, got, want)
			}
		}
		for _, e := range elements {
			if strings.Contains(e.CodeSignature, "main.(*shop).stock:") || strings.Contains(e.CodeSignature, "dendro/agent.") {
				t.Errorf("%s is in segment %d", e.CodeSignature, i)
			}
		}
		for _, s := range sum.Segments {
			if s.Segment == id {
				best = max(best, s.Share)
			}
		}
	}
	if !slices.ContainsFunc(list, func(s segment) bool { return len(s.Spans) > 2 }) {
		t.Error("the spans of the receipt, which is printed in a goroutine of its own, are missing")
	}
	// A busy machine makes coverage worse, and nothing makes it better than the agent is.
	if t.Logf("%+v", sum); best < 0.7 {
		t.Errorf("of no request more than %v is covered", best)
	}
}

// parts is how long the parts of a request took, in ms.
type parts struct {
	began int64
	ms    map[string]float64
}

func checkout(t *testing.T, shop *Shop) parts {
	t.Helper()
	began := time.Now().UnixMilli()
	return parts{began, request(t, shop, "/checkout")}
}

// at returns which of the requests, one after the other, was under way at a time.
func at(took []parts, ms int64) int {
	n, _ := slices.BinarySearchFunc(took, ms+1, func(p parts, ms int64) int { return cmp.Compare(p.began, ms) })
	return n - 1
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
	// Requests that begin before the agent has the task are not sampled.
	var took []parts
	until(t, 30*time.Second, "a segment has arrived", func() bool {
		took = append(took, checkout(t, shop))
		for range 20 {
			if len(c.segments(task)) > 0 {
				return true
			}
			time.Sleep(100 * time.Millisecond)
		}
		return false
	})
	if err := c.s.Kill(); err != nil {
		t.Fatal(err)
	}
	took = append(took, checkout(t, shop))
	if err := c.s.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	took = append(took, checkout(t, shop))
	var list []segment
	until(t, 30*time.Second, "the segments of all requests since the first have arrived", func() bool {
		list = c.segments(task)
		first := len(took)
		for i := range list {
			first = min(first, at(took, list[i].Spans[0].StartTime))
		}
		return len(list) >= 3 && len(list) == len(took)-first
	})
	if err := shop.Stop(); err != nil {
		t.Fatal(err)
	}
	finish(t, c, shop, task)
	c.stored(task)
	for i := range list {
		root := list[i]
		root.Spans = root.Spans[:1]
		id, from, to := root.root()
		is := func(signature string) bool { return strings.Contains(signature, "main.(*shop).lockPrices:") }
		sent := c.p.dumps(id)
		sent.true(t, "lockPrices", is, took[at(took, from)].ms["lockPrices"], from, to)
		if got, want := duration(c.analyze(&root), "main.(*shop).lockPrices:"), sent.total(is, from, to); got != want {
			t.Errorf("segment %s: the analysis says %v ms, the agent's snapshots %v", id, got, want)
		}
	}
}
