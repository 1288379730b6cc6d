package server

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/dendroprof/dendro/test/program"
)

// TestAttacks attacks servers from 127.0.0.1, while a client at 127.0.0.2 is served, and logs
// the peak memory: `go test ./test/server -run Attacks -v`.
func TestAttacks(t *testing.T) {
	if testing.Short() {
		t.Skip("takes a minute")
	}
	t.Parallel()
	dir := t.TempDir()
	var stacks strings.Builder
	for i := range 200_000 {
		fmt.Fprintf(&stacks, "main;handler%d;service%d;store;query%d 1\n", i%100, i%1000, i)
	}
	writeOne(t, dir, "b.folded", stacks.String())
	program.Must(t, dir, "import", "--store", "s.duckdb", "--run", "r", "b.folded")
	content, err := os.ReadFile(filepath.Join(dir, "s.duckdb"))
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range []struct {
		name   string
		most   int64 // bytes of memory
		attack func(t *testing.T, p *process)
	}{
		{"nothing", 800 << 20, func(t *testing.T, p *process) { served(t, p) }},
		{"one reader", 1200 << 20, func(t *testing.T, p *process) {
			if n := read(t, p, "127.0.0.2", 1<<40); n < 10<<20 {
				t.Errorf("the tree has %d bytes", n)
			}
		}},
		{"slow readers", 2000 << 20, func(t *testing.T, p *process) {
			var wg sync.WaitGroup
			for range 20 {
				wg.Go(func() { read(t, p, "127.0.0.1", 20) })
			}
			served(t, p)
			wg.Wait()
		}},
		{"unfinished bodies", 900 << 20, func(t *testing.T, p *process) {
			for range 600 {
				c := dial(t, p, "127.0.0.1")
				fmt.Fprint(c, "POST /api/v1/import?run=x HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n\r\nmain;a")
			}
			served(t, p)
		}},
		{"messages of 49 MiB", 900 << 20, func(t *testing.T, p *process) { messages(t, p, 30, 49<<20) }},
		{"messages of 7 MiB", 1200 << 20, func(t *testing.T, p *process) { messages(t, p, 210, 7<<20) }},
	} {
		t.Run(a.name, func(t *testing.T) {
			t.Parallel()
			own := t.TempDir() // a server has its file for itself
			if err := os.WriteFile(filepath.Join(own, "s.duckdb"), content, 0o600); err != nil {
				t.Fatal(err)
			}
			p := serve(t, own, "--drain", "1s")
			a.attack(t, p)
			p.end(t, syscall.SIGTERM)
			peak := program.PeakMemory(p.ProcessState)
			t.Logf("peak memory %d MB", peak>>20)
			if peak > a.most {
				t.Errorf("peak memory %d MB", peak>>20)
			}
		})
	}
}

// dial connects to the server from an address of this machine.
func dial(t *testing.T, p *process, from string) net.Conn {
	t.Helper()
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
	c, err := d.Dial("tcp", strings.TrimPrefix(p.http, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// read reads the whole tree: some bytes, one per second, or if there are many as fast as it
// can.
func read(t *testing.T, p *process, from string, most int64) (n int64) {
	c := dial(t, p, from)
	defer c.Close()
	fmt.Fprint(c, "GET /api/v1/tree?benchmark=b&rows=0 HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
	if most > 1<<20 {
		n, _ = io.Copy(io.Discard, c)
		return n
	}
	for range most {
		if _, err := c.Read(make([]byte, 1)); err != nil {
			break
		}
		n++
		time.Sleep(time.Second)
	}
	return n
}

// served expects another client to be served for some seconds.
func served(t *testing.T, p *process) {
	t.Helper()
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP("127.0.0.2")}}
	client := &http.Client{Timeout: 30 * time.Second, Transport: &http.Transport{DialContext: d.DialContext, DisableKeepAlives: true}}
	for range 5 {
		for _, path := range []string{"/api/v1/runs", "/metrics", "/readyz"} {
			resp, err := client.Get(p.http + path)
			if err != nil {
				t.Error(err)
				continue
			}
			if resp.Body.Close(); resp.StatusCode != http.StatusOK {
				t.Errorf("%s: %s", path, resp.Status)
			}
		}
		time.Sleep(time.Second)
	}
}

// bytesCodec sends bytes as they are.
type bytesCodec struct{}

func (bytesCodec) Marshal(v any) ([]byte, error)      { return *v.(*[]byte), nil }
func (bytesCodec) Unmarshal(data []byte, v any) error { *v.(*[]byte) = data; return nil }
func (bytesCodec) Name() string                       { return "proto" }

// messages sends large messages at the same time.
func messages(t *testing.T, p *process, n, size int) {
	var wg sync.WaitGroup
	message := make([]byte, size) // protobuf does not accept it, but gRPC does
	//nolint:staticcheck // simple
	conn, err := grpc.NewClient(p.grpc, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.ForceCodec(bytesCodec{})))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	ctx, stop := context.WithTimeout(t.Context(), 10*time.Second)
	defer stop()
	for range n {
		wg.Go(func() {
			var reply []byte
			_ = conn.Invoke(ctx, "/skywalking.v3.TraceSegmentReportService/collectInSync", &message, &reply)
		})
	}
	served(t, p)
	wg.Wait()
}
