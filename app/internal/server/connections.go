package server

import (
	"context"
	"crypto/tls"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// connections is a listener with a maximum number of open connections, of which one client may
// have half. If there is no place, it closes a connection on which no request was accepted yet, or
// the new one.
type connections struct {
	net.Listener
	places  *Budget
	client  func(address string) string // in places
	refused prometheus.Counter

	mu   sync.Mutex
	idle map[*connection]bool // without an accepted request
}

// Accept returns the next connection for which there is a place.
func (l *connections) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		client := l.client(c.RemoteAddr().String())
		err = l.places.Acquire(context.Background(), client, 1, 0)
		if err != nil && l.evict(client, l.places.shareUsed(client), time.Now()) {
			err = l.places.Acquire(context.Background(), client, 1, 0)
		}
		if err != nil {
			l.refused.Inc()
			c.Close()
			continue
		}
		added := &connection{Conn: c, of: l, client: client, began: time.Now()}
		l.mu.Lock()
		l.idle[added] = true
		l.mu.Unlock()
		return added, nil
	}
}

// minIdle is how long a connection may be without a request while others need its place.
const minIdle = time.Second

// evict closes the oldest connection without an accepted request of the client that has the most
// of them, for one of a client. With own, or if no other client has more, it is one of its own.
func (l *connections) evict(client string, own bool, now time.Time) bool {
	l.mu.Lock()
	if !own {
		has := map[string]int{}
		for c := range l.idle {
			has[c.client]++
		}
		client = most(has, client)
	}
	var oldest *connection
	for c := range l.idle {
		if now.Sub(c.began) >= minIdle && c.client == client && (oldest == nil || c.began.Before(oldest.began)) {
			oldest = c
		}
	}
	l.mu.Unlock()
	if oldest == nil {
		return false
	}
	l.refused.Inc()
	oldest.Close()
	return true
}

// connection frees its place when it is closed.
type connection struct {
	net.Conn
	of     *connections
	client string
	began  time.Time
	left   atomic.Bool
}

func (c *connection) Close() error {
	if !c.left.Swap(true) {
		c.used()
		c.of.places.Release(c.client, 1)
	}
	return c.Conn.Close()
}

// used says that the connection is no longer without a request.
func (c *connection) used() {
	c.of.mu.Lock()
	defer c.of.mu.Unlock()
	delete(c.of.idle, c)
}

type connectionKey struct{}

// withConnection adds the connection of a request to its context.
func withConnection(ctx context.Context, c net.Conn) context.Context {
	if secured, ok := c.(*tls.Conn); ok {
		c = secured.NetConn()
	}
	return context.WithValue(ctx, connectionKey{}, c)
}

// useful says that a request of a connection was accepted: it is not evicted.
func useful(ctx context.Context) {
	if c, ok := ctx.Value(connectionKey{}).(*connection); ok {
		c.used()
	}
}
