package neo4j

import (
	"bytes"
	"io"
	"net"
	"net/url"
	"sync/atomic"
	"testing"
)

// commitMessage is how a client of the Bolt protocol commits.
var commitMessage = []byte{0x00, 0x02, 0xb0, 0x12, 0x00, 0x00}

// breaker is a network between client and server that breaks once, at a commit:
// before the server hears of it, or after it has answered.
type breaker struct {
	address     string
	afterAnswer bool
	armed       atomic.Bool
	broke       atomic.Int32
	broken      chan struct{} // closed at the break
}

// newBreaker returns the address of the test server as it is behind a breaker.
func newBreaker(t *testing.T, where string, afterAnswer bool) (*breaker, string) {
	t.Helper()
	u := parsed(t, where)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	b := &breaker{address: u.Host, afterAnswer: afterAnswer, broken: make(chan struct{})}
	go func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			go b.serve(client)
		}
	}()
	return b, "bolt://" + u.User.Username() + "@" + l.Addr().String() + u.Path
}

func (b *breaker) serve(client net.Conn) {
	defer client.Close()
	server, err := net.Dial("tcp", b.address)
	if err != nil {
		return
	}
	defer server.Close()
	var cut atomic.Bool
	go func() {
		defer client.Close()
		buf := make([]byte, 64<<10)
		for {
			n, err := server.Read(buf)
			if err != nil || cut.Load() {
				return
			}
			client.Write(buf[:n])
		}
	}()
	buf := make([]byte, 64<<10)
	for {
		n, err := client.Read(buf)
		if err == nil && bytes.Contains(buf[:n], commitMessage) && b.armed.CompareAndSwap(true, false) {
			if b.broke.Add(1) == 1 {
				close(b.broken)
			}
			if !b.afterAnswer {
				return
			}
			cut.Store(true)
		}
		if err != nil {
			return
		}
		if _, err := io.Copy(server, bytes.NewReader(buf[:n])); err != nil {
			return
		}
	}
}

func parsed(t *testing.T, where string) *url.URL {
	t.Helper()
	u, err := url.Parse(where)
	if err != nil {
		t.Fatal(err)
	}
	return u
}
