package server

import (
	"context"
	"net"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
)

// connections is a listener with a maximum number of open connections, of which one client may
// have half. It closes others at once.
type connections struct {
	net.Listener
	places  *Budget
	refused prometheus.Counter
}

// Accept returns the next connection for which there is a place.
func (l *connections) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		client := clientOf(c.RemoteAddr().String())
		if l.places.Acquire(context.Background(), client, 1, 0) == nil {
			return &connection{Conn: c, leave: sync.OnceFunc(func() { l.places.Release(client, 1) })}, nil
		}
		l.refused.Inc()
		c.Close()
	}
}

// connection frees its place when it is closed.
type connection struct {
	net.Conn
	leave func()
}

func (c *connection) Close() error {
	c.leave()
	return c.Conn.Close()
}
