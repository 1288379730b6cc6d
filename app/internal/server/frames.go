package server

import (
	"bufio"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"net"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc/credentials"
)

// gRPC reads a whole message into memory before any handler or interceptor can refuse it. So
// each connection is watched: the length of a message, which is sent before it, is reserved in
// the budget of messages until the call ends or its next message arrives. If the budget has no
// room, the length is replaced by one that gRPC refuses: the call ends with RESOURCE_EXHAUSTED,
// and its connection goes on. Only frames of HTTP/2 that carry messages are looked into.

const (
	smallMessage = 64 << 10       // bytes; smaller ones are not reserved: flow control lets a call send as much ahead
	copies       = 2              // of a message: as it arrives, and in one piece for its handler
	refusedSize  = math.MaxUint32 // the length that gRPC refuses
	preface      = len("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
)

// Types and flags of frames of HTTP/2 (RFC 9113, section 6).
const (
	frameData, frameHeaders, frameReset = 0, 1, 3
	flagEnd, flagPadded                 = 1, 8
)

// watcher watches the connections of a listener.
type watcher struct {
	credentials.TransportCredentials
	budget  *Budget
	opts    *Options
	refused prometheus.Counter
}

// ServerHandshake returns a connection that is watched.
func (w watcher) ServerHandshake(raw net.Conn) (net.Conn, credentials.AuthInfo, error) {
	conn, info, err := w.TransportCredentials.ServerHandshake(raw)
	if err != nil {
		return conn, info, err
	}
	return w.watch(conn), acceptedInfo{info, raw}, nil
}

// acceptedInfo is what is known of a connection, with the connection of the listener.
type acceptedInfo struct {
	credentials.AuthInfo
	conn net.Conn
}

// Clone returns a copy.
func (w watcher) Clone() credentials.TransportCredentials {
	w.TransportCredentials = w.TransportCredentials.Clone()
	return w
}

func (w watcher) watch(conn net.Conn) *watched {
	c := &watched{Conn: conn, watcher: w, client: w.opts.placeOf(conn.RemoteAddr().String()), in: bufio.NewReaderSize(conn, 32<<10),
		preface: preface, calls: map[uint32]*arriving{}}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	return c
}

// watched is a connection that is watched.
type watched struct {
	net.Conn
	watcher watcher
	client  string
	ctx     context.Context // until the connection is closed
	cancel  context.CancelFunc

	// Of Read, which one goroutine calls.
	in      *bufio.Reader
	pending []byte    // to pass on first
	buffer  [16]byte  // of pending
	preface int       // bytes left
	data    int       // bytes of the current frame that carry messages
	rest    int       // bytes of the current frame behind them
	err     error     // to return from now on
	call    *arriving // of the current frame; nil: unknown or ended
	short   bool      // there was no memory for the last message

	out frameHeads // of Write

	mu    sync.Mutex
	calls map[uint32]*arriving // open calls, by stream
	last  uint32               // the highest stream
}

// arriving is the message that arrives in a call.
type arriving struct {
	head         [5]byte // compressed or not, and the length
	have, passed int     // bytes of the head that are here, and that were passed on
	left         int     // bytes of the message that did not arrive yet

	// Under the lock of the connection:
	held  int64
	late  *time.Timer // closes the connection
	ended bool
}

// Read passes on what arrives.
func (c *watched) Read(p []byte) (n int, err error) {
	for n < len(p) {
		if c.err != nil && n == 0 && len(c.pending) == 0 {
			return 0, c.err
		}
		if len(c.pending) > 0 {
			k := copy(p[n:], c.pending)
			c.pending, n = c.pending[k:], n+k
			continue
		}
		if n > 0 && c.in.Buffered() < 16 { // more than a step needs: it would block
			break
		}
		if c.err != nil {
			break
		}
		var k int
		k, c.err = c.step(p[n:])
		n += k
	}
	return n, nil
}

// step reads the next part into p or pending.
func (c *watched) step(p []byte) (n int, err error) {
	pass := func(left *int, most int) {
		n, err = c.in.Read(p[:min(len(p), *left, most)])
		*left -= n
	}
	switch {
	case c.preface > 0:
		pass(&c.preface, c.preface)
	case c.data > 0 && c.call != nil && c.call.left == 0:
		err = c.messageHead()
	case c.data > 0:
		most := c.data
		if c.call != nil {
			most = c.call.left
		}
		pass(&c.data, most)
		if c.call != nil {
			if c.call.left -= n; c.call.left == 0 {
				c.arrived(c.call)
			}
		}
	case c.rest > 0:
		pass(&c.rest, c.rest)
	default:
		err = c.frameHead()
	}
	return n, err
}

// frameHead reads the head of the next frame.
func (c *watched) frameHead() error {
	head := c.buffer[:9]
	if _, err := io.ReadFull(c.in, head); err != nil {
		return err
	}
	c.pending, c.data, c.call = head, 0, nil
	kind, flags, stream := head[3], head[4], binary.BigEndian.Uint32(head[5:])&math.MaxInt32
	c.rest = int(head[0])<<16 | int(head[1])<<8 | int(head[2])
	padding := 0
	if kind == frameData && flags&flagPadded != 0 && c.rest > 0 {
		b, err := c.in.ReadByte()
		if err != nil {
			return err
		}
		c.pending = append(head, b)
		padding, c.rest = int(b), c.rest-1
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch kind {
	case frameHeaders:
		if stream > c.last { // others are trailers, or of calls that have ended
			c.last = stream
			c.calls[stream] = &arriving{}
		}
	case frameReset:
		c.end(stream)
	case frameData:
		c.call = c.calls[stream]
		c.data = max(0, c.rest-padding)
		c.rest -= c.data
	}
	return nil
}

// messageHead reads the head of a message, or as much of it as the frame has.
func (c *watched) messageHead() error {
	call := c.call
	n := min(len(call.head)-call.have, c.data)
	if _, err := io.ReadFull(c.in, call.head[call.have:call.have+n]); err != nil {
		return err
	}
	call.have, c.data = call.have+n, c.data-n
	complete := call.have == len(call.head)
	if complete {
		if err := c.reserve(call); err != nil {
			return err
		}
	}
	c.pending = append(c.buffer[:0], call.head[call.passed:call.have]...)
	if call.passed = call.have; complete {
		call.have, call.passed = 0, 0
	}
	return nil
}

// reserve reserves memory for the message whose head is complete.
func (c *watched) reserve(call *arriving) error {
	size := binary.BigEndian.Uint32(call.head[1:])
	call.left = int(size)
	c.mu.Lock()
	c.release(call) // the message before was handled
	ended := call.ended
	c.mu.Unlock()
	if size < smallMessage || int64(size) > int64(c.watcher.opts.Limits.Message) || ended {
		return nil // gRPC refuses what is too large
	}
	n, wait := copies*int64(size), c.watcher.budget.wait
	if c.short { // waiting for each of many messages would keep the connection, and the end of the server, for hours
		wait = 0
	}
	err := c.watcher.budget.Acquire(c.ctx, c.client, n, wait)
	if c.short = err != nil; c.short {
		c.watcher.refused.Inc()
		if call.passed > 1 {
			return fmt.Errorf("a message of %d bytes: %w", size, err) // the length was passed on in part
		}
		binary.BigEndian.PutUint32(call.head[1:], refusedSize)
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	call.held = n
	l := &c.watcher.opts.Limits
	call.late = time.AfterFunc(l.Stall+time.Duration(float64(size)/float64(l.Rate)*float64(time.Second)), func() { c.Close() })
	if call.ended {
		c.release(call)
	}
	return nil
}

// arrived notes that a message is complete. Its memory is in use until it was handled.
func (c *watched) arrived(call *arriving) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if call.late != nil {
		call.late.Stop()
	}
}

// end ends a call. The caller holds the lock.
func (c *watched) end(stream uint32) {
	if call := c.calls[stream]; call != nil {
		c.release(call)
		call.ended = true
		delete(c.calls, stream)
	}
}

// release frees the memory of a call. The caller holds the lock.
func (c *watched) release(call *arriving) {
	if call.late != nil {
		call.late.Stop()
	}
	c.watcher.budget.Release(c.client, call.held)
	call.held, call.late = 0, nil
}

// Write sends frames of the server, some of which end a call.
func (c *watched) Write(p []byte) (int, error) {
	c.out.scan(p, func(kind, flags byte, stream uint32) {
		if kind == frameReset || kind == frameHeaders && flags&flagEnd != 0 {
			c.mu.Lock()
			c.end(stream)
			c.mu.Unlock()
		}
	})
	return c.Conn.Write(p)
}

// Close frees what the connection has.
func (c *watched) Close() error {
	c.cancel()
	c.mu.Lock()
	for stream := range c.calls {
		c.end(stream)
	}
	c.mu.Unlock()
	return c.Conn.Close()
}

// frameHeads finds the heads of frames in what is written piece by piece.
type frameHeads struct {
	head [9]byte
	have int // bytes of head
	skip int // bytes of the current frame
}

func (f *frameHeads) scan(p []byte, found func(kind, flags byte, stream uint32)) {
	for len(p) > 0 {
		if f.skip > 0 {
			n := min(f.skip, len(p))
			f.skip, p = f.skip-n, p[n:]
			continue
		}
		n := copy(f.head[f.have:], p)
		if f.have, p = f.have+n, p[n:]; f.have == len(f.head) {
			f.have, f.skip = 0, int(f.head[0])<<16|int(f.head[1])<<8|int(f.head[2])
			found(f.head[3], f.head[4], binary.BigEndian.Uint32(f.head[5:])&math.MaxInt32)
		}
	}
}
