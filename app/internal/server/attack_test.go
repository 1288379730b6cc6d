package server

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// as returns an HTTP client at an address of this machine.
func as(address string) *http.Client {
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(address)}}
	return &http.Client{Timeout: 20 * time.Second, Transport: &http.Transport{DialContext: d.DialContext, DisableKeepAlives: true}}
}

// statusOf returns the status of a request, 0 if it was not answered.
func statusOf(c *http.Client, method, url, body string) int {
	r, err := http.NewRequest(method, url, strings.NewReader(body))
	if err != nil {
		return 0
	}
	answer, err := c.Do(r)
	if err != nil {
		return 0
	}
	defer answer.Body.Close()
	_, _ = io.Copy(io.Discard, answer.Body)
	return answer.StatusCode
}

// TestStalledBodies: bodies that do not arrive keep nobody from asking, nor from sending: the
// slowest are evicted. They once held all slots.
func TestStalledBodies(t *testing.T) {
	s, _ := start(t, Options{Limits: Limits{Requests: 16, Stall: 30 * time.Second}}, echo())
	for _, path := range []string{"/upload", "/change"} {
		for range 60 {
			c, err := net.Dial("tcp", s.HTTPAddr())
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			fmt.Fprintf(c, "POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n\r\nhalf", path)
		}
	}
	eventually(t, "stalled bodies", func() bool { return s.slots.stages[Imports][receiving].Used() == 8 })
	time.Sleep(minReceiving)
	url := "http://" + s.HTTPAddr()
	for _, path := range []string{"/read", "/long", "/metrics", "/healthz", "/readyz"} {
		if got := statusOf(as("127.0.0.1"), "GET", url+path, ""); got != 200 {
			t.Errorf("GET %s meanwhile: %d", path, got)
		}
	}
	if got := statusOf(as("127.0.0.1"), "POST", url+"/change", "body"); got != 200 {
		t.Errorf("another body of the client: %d", got)
	}
	if got := statusOf(as("127.0.0.2"), "POST", url+"/change", "body"); got != 200 {
		t.Errorf("a body of another client: %d", got)
	}
}

// TestTrickle: a body that arrives byte by byte is refused, and one that is slow enough is not.
func TestTrickle(t *testing.T) {
	s, _ := start(t, Options{Limits: Limits{Stall: 300 * time.Millisecond, Rate: 20_000}}, echo())
	send := func(block string, pause time.Duration, blocks int) string {
		c, err := net.Dial("tcp", s.HTTPAddr())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		fmt.Fprintf(c, "POST /change HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: %d\r\n\r\n", len(block)*blocks)
		for range blocks {
			if _, err := io.WriteString(c, block); err != nil {
				break
			}
			time.Sleep(pause)
		}
		c.SetReadDeadline(time.Now().Add(20 * time.Second))
		line, _ := bufio.NewReader(c).ReadString('\n')
		return strings.TrimSpace(line)
	}
	if got := send("x", 20*time.Millisecond, 100); !strings.Contains(got, "408") {
		t.Errorf("a byte in 20 ms: %q", got)
	}
	if got := send(strings.Repeat("x", 4000), 20*time.Millisecond, 50); !strings.Contains(got, "200") {
		t.Errorf("4,000 bytes in 20 ms: %q", got)
	}
}

// document is a part with a large answer that is made from memory.
func document(size int, made *atomic.Int32) Part {
	return Part{Name: "document", Routes: []Route{{Pattern: "GET /document", Needs: Reading,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/octet-stream")
			noise, block := uint64(1), make([]byte, 32<<10)
			for n := 0; n < size; n += len(block) {
				for i := range block { // nothing that compresses
					noise = noise*6364136223846793005 + 1442695040888963407
					block[i] = byte(noise >> 33)
				}
				if _, err := w.Write(block); err != nil {
					return
				}
			}
			made.Add(1)
		})}}}
}

// TestSlowReaders: answers wait for slow readers within a budget of bytes; what is beyond it
// is refused, and others are served.
func TestSlowReaders(t *testing.T) {
	var made atomic.Int32
	const budget, size = 64 << 20, 20 << 20
	s, _ := start(t, Options{Limits: Limits{Answers: budget, Stall: 2 * time.Second, Rate: 1 << 20}}, document(size, &made), echo())
	s.answers.wait = 300 * time.Millisecond
	var slow []net.Conn
	open := func(address string) {
		d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(address)}}
		c, err := d.Dial("tcp", s.HTTPAddr())
		if err != nil {
			t.Fatal(err)
		}
		c.(*net.TCPConn).SetReadBuffer(4 << 10)
		io.WriteString(c, "GET /document HTTP/1.1\r\nHost: localhost\r\n\r\n")
		slow = append(slow, c)
		t.Cleanup(func() { c.Close() })
	}
	open("127.0.0.1")
	eventually(t, "an answer that waits for its reader", func() bool { return made.Load() == 1 && s.answers.Used() > size/2 })
	if used := s.slots.stages[Queries][computing].Used(); used != 0 {
		t.Errorf("%d slots are held by slow readers", used)
	}
	for range 9 {
		open("127.0.0.1")
	}
	peak := int64(0)
	eventually(t, "slow readers are dropped", func() bool {
		peak = max(peak, s.answers.Used())
		if got := statusOf(as("127.0.0.2"), "GET", "http://"+s.HTTPAddr()+"/long", ""); got != 200 {
			t.Errorf("another client meanwhile: %d", got)
		}
		return s.answers.Used() == 0 && s.slots.stages[Queries][sending].Used() == 0
	})
	if peak > budget/2 {
		t.Errorf("one client held %d bytes", peak)
	}
	refused := 0
	for _, c := range slow {
		c.SetReadDeadline(time.Now().Add(5 * time.Second))
		line, _ := bufio.NewReader(c).ReadString('\n')
		if strings.Contains(line, "503") {
			refused++
		}
	}
	if refused == 0 {
		t.Error("no reader was refused")
	}
	if got := statusOf(as("127.0.0.1"), "GET", "http://"+s.HTTPAddr()+"/document", ""); got != 200 {
		t.Errorf("afterwards: %d", got)
	}
}

// TestSpool: answers arrive as they were written, compressed or not, of every size.
func TestSpool(t *testing.T) {
	s, _ := start(t, Options{}, Part{Name: "sizes", Routes: []Route{{Pattern: "GET /{size}", Needs: Reading,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			var size int
			fmt.Sscan(r.PathValue("size"), &size)
			w.Header().Set("Content-Type", "text/plain")
			for i := 0; i < size; {
				n, err := io.WriteString(w, pattern(i, min(size-i, 7001)))
				if err != nil {
					t.Error(err)
				}
				i += n
			}
		})}}})
	for _, size := range []int{0, 1, 1023, 64 << 10, 64<<10 + 1, 128 << 10, 3<<20 + 5} {
		for _, encoding := range []string{"gzip", "identity"} {
			r, err := http.NewRequest("GET", fmt.Sprintf("http://%s/%d", s.HTTPAddr(), size), nil)
			if err != nil {
				t.Fatal(err)
			}
			if encoding == "identity" {
				r.Header.Set("Accept-Encoding", encoding)
			}
			answer, err := http.DefaultClient.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			got, err := io.ReadAll(answer.Body)
			answer.Body.Close()
			if err != nil || string(got) != pattern(0, size) {
				t.Errorf("%d bytes, %s: %d bytes, %v", size, encoding, len(got), err)
			}
		}
	}
	if used := s.answers.Used(); used != 0 {
		t.Errorf("%d bytes of the budget are not freed", used)
	}
}

// pattern returns n characters from a position of an endless text.
func pattern(from, n int) string {
	var b strings.Builder
	for i := from / 10; b.Len() < n+10; i++ {
		fmt.Fprintf(&b, "%09d\n", i)
	}
	return b.String()[from%10 : from%10+n]
}

// TestDrainIgnoresClientsThatLeft: shutdown does not wait for work that nobody waits for.
func TestDrainIgnoresClientsThatLeft(t *testing.T) {
	begun, release := make(chan struct{}), make(chan struct{})
	s, end := start(t, Options{Limits: Limits{Drain: time.Minute}}, Part{Name: "busy", Routes: []Route{{Pattern: "GET /busy", Needs: Reading,
		Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) { close(begun); <-release })}}})
	defer close(release)
	ctx, leave := context.WithCancel(t.Context())
	go func() { <-begun; leave() }()
	r, err := http.NewRequestWithContext(ctx, "GET", "http://"+s.HTTPAddr()+"/busy", nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := as("127.0.0.1").Do(r); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- end() }()
	select {
	case err := <-ended:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(20 * time.Second):
		t.Error("shutdown waits for a client that has left")
	}
}

// TestConnections: a client cannot take all connections.
func TestConnections(t *testing.T) {
	s, _ := start(t, Options{Limits: Limits{Connections: 20}}, echo())
	for range 50 {
		c, err := net.Dial("tcp", s.HTTPAddr())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
	}
	time.Sleep(100 * time.Millisecond)
	if got := statusOf(as("127.0.0.1"), "GET", "http://"+s.HTTPAddr()+"/read", ""); got != 0 {
		t.Errorf("a connection beyond the share: %d", got)
	}
	time.Sleep(minIdle)
	if got := statusOf(as("127.0.0.1"), "GET", "http://"+s.HTTPAddr()+"/read", ""); got != 200 {
		t.Errorf("a connection in place of one without a request: %d", got)
	}
	if got := statusOf(as("127.0.0.2"), "GET", "http://"+s.HTTPAddr()+"/read", ""); got != 200 {
		t.Errorf("another client: %d", got)
	}
}

// TestBodiesInMemory: bodies that handlers keep in memory have a budget over all requests.
func TestBodiesInMemory(t *testing.T) {
	began, end := make(chan bool), make(chan bool)
	s, _ := start(t, Options{Limits: Limits{Messages: 10 << 20}},
		Part{Name: "keeps", Routes: []Route{{Pattern: "POST /keep", Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			data, err := io.ReadAll(r.Body)
			if p := BodyProblem(err); p != nil {
				WriteProblem(w, r, p)
				return
			}
			began <- true
			<-end
			fmt.Fprint(w, len(data))
		})}}})
	url := "http://" + s.HTTPAddr() + "/keep"
	got := make(chan int, 2)
	go func() { got <- statusOf(as("127.0.0.1"), "POST", url, strings.Repeat("x", 4<<20)) }()
	<-began
	if code := statusOf(as("127.0.0.1"), "POST", url, strings.Repeat("x", 4<<20)); code != 503 {
		t.Errorf("beyond the share of a client: %d", code)
	}
	go func() { got <- statusOf(as("127.0.0.2"), "POST", url, strings.Repeat("x", 4<<20)) }()
	<-began
	close(end)
	for range 2 {
		if code := <-got; code != 200 {
			t.Errorf("within the share: %d", code)
		}
	}
	eventually(t, "memory is freed", func() bool { return s.messages.Used() == 0 })
}
