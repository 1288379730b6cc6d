package server

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// reports is a part whose handler takes a while, as pushes that wait for a commit.
func reports() Part {
	return Part{Name: "reports", Routes: []Route{{Pattern: "POST /report", Agents: true,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if _, err := io.ReadAll(r.Body); err != nil {
				WriteProblem(w, r, BodyProblem(err))
				return
			}
			time.Sleep(50 * time.Millisecond)
		})}}}
}

// TestBurst: of a burst of reports from behind one address none is dropped.
func TestBurst(t *testing.T) {
	s, _ := start(t, Options{}, reports())
	var wg sync.WaitGroup
	var wrong atomic.Int64
	for range 600 {
		wg.Go(func() {
			if statusOf(as("127.0.0.1"), "POST", "http://"+s.HTTPAddr()+"/report", "body") != 200 {
				wrong.Add(1)
			}
		})
	}
	wg.Wait()
	if n := wrong.Load(); n > 0 {
		t.Errorf("%d of 600 reports were dropped", n)
	}
}

// TestStalledReports: stalled bodies of several addresses, which are sent again and again, do not
// keep another client from reporting.
func TestStalledReports(t *testing.T) {
	s, _ := start(t, Options{Limits: Limits{Requests: 64}}, reports())
	end := make(chan bool)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer close(end)
	for i := range 200 {
		wg.Go(func() {
			d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(fmt.Sprintf("127.0.0.%d", 10+i%4))}}
			for {
				if c, err := d.Dial("tcp", s.HTTPAddr()); err == nil {
					fmt.Fprint(c, "POST /report HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n\r\nhalf")
					c.SetReadDeadline(time.Now().Add(5 * time.Second))
					_, _ = c.Read(make([]byte, 1)) // until it is evicted
					c.Close()
				}
				select {
				case <-end:
					return
				default:
				}
			}
		})
	}
	eventually(t, "stalled bodies", func() bool { return s.slots.stages[Reports][receiving].Used() == 64 })
	for range 20 {
		if got := statusOf(as("127.0.0.2"), "POST", "http://"+s.HTTPAddr()+"/report", "body"); got != 200 {
			t.Errorf("a report meanwhile: %d", got)
		}
	}
}

// TestRefusedBodyIsAnswered: a client that sends a large body reads the answer that refuses it,
// and does not find a connection that was reset.
func TestRefusedBodyIsAnswered(t *testing.T) {
	s, _ := start(t, Options{HTTPToken: "0123456789abcdef", Limits: Limits{Body: 1 << 20}}, echo())
	for name, c := range map[string]struct {
		token  string
		length int64 // announced; -1: not
		want   int
	}{"no token": {"", 64 << 20, 401}, "too large": {"0123456789abcdef", 64 << 20, 413},
		"too large, without a length": {"0123456789abcdef", -1, 413}} {
		t.Run(name, func(t *testing.T) {
			r, err := http.NewRequest("POST", "http://"+s.HTTPAddr()+"/change", io.MultiReader(bytes.NewReader(make([]byte, 64<<20))))
			if err != nil {
				t.Fatal(err)
			}
			r.ContentLength = c.length
			if c.token != "" {
				r.Header.Set("Authorization", "Bearer "+c.token)
			}
			for range 10 {
				answer, err := as("127.0.0.1").Do(r.Clone(t.Context()))
				if err != nil {
					t.Fatal(err)
				}
				answer.Body.Close()
				if answer.StatusCode != c.want {
					t.Errorf("%s", answer.Status)
				}
				r.Body = io.NopCloser(bytes.NewReader(make([]byte, 64<<20)))
			}
		})
	}
}

// TestProxies: behind a trusted proxy, a client is the last address that is none; others cannot
// say who they are.
func TestProxies(t *testing.T) {
	o := &Options{Proxies: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}}
	for _, c := range []struct {
		address   string
		forwarded []string
		want      string
	}{
		{"192.0.2.1:5", []string{"198.51.100.7"}, "192.0.2.1"},
		{"10.0.0.1:5", []string{"203.0.113.9, 198.51.100.7, 10.0.0.2"}, "198.51.100.7"},
		{"10.0.0.1:5", []string{"203.0.113.9", "198.51.100.7"}, "198.51.100.7"},
		{"10.0.0.1:5", []string{"198.51.100.7, nonsense"}, "10.0.0.1"},
		{"10.0.0.1:5", nil, "10.0.0.1"},
		{"10.0.0.1:5", []string{"2001:db8:1:2:3::4"}, "2001:db8:1:2::"},
	} {
		if got := o.client(c.address, c.forwarded); got != c.want {
			t.Errorf("%s for %q: %s, want %s", c.address, c.forwarded, got, c.want)
		}
	}
	if a, b := o.placeOf("10.0.0.1:5"), o.placeOf("10.0.0.1:6"); a == b || o.placeOf("192.0.2.1:5") != "192.0.2.1" {
		t.Errorf("connections: %s, %s", a, b)
	}
}
