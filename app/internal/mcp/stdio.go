package mcp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/dendroprof/dendro/app/internal/endpoint"
)

// maxLine is the maximum size of a message of a client, in bytes.
const maxLine = 1 << 20

// Serve serves the tools to a client that writes lines to in and reads them from out,
// until the client is done or the context ends. A line that is no message is answered with
// an error, and what came before the end of the input is answered before Serve returns.
func Serve(ctx context.Context, a endpoint.Asker, in io.Reader, out io.Writer, o Options) error {
	c := &connection{out: out, received: make(chan jsonrpc.Message), closed: make(chan struct{})}
	go c.receive(in)
	err := New(a, o).Run(ctx, c)
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// connection is the connection to a client. That of the protocol's library ends with the
// first line that is no message, and with the input before all is answered.
type connection struct {
	received chan jsonrpc.Message // closed when the input has ended and all is answered
	failed   error                // of the input, once received is closed
	pending  sync.WaitGroup       // requests that wait for their answer
	ids      sync.Map             // theirs

	closed chan struct{}
	close  sync.Once

	mu  sync.Mutex // held while a line is written
	out io.Writer
}

// receive reads the messages of the input.
func (c *connection) receive(in io.Reader) {
	defer close(c.received)
	c.failed = io.EOF
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, maxLine)
	for lines.Scan() {
		line := bytes.TrimSpace(lines.Bytes())
		if len(line) == 0 {
			continue
		}
		m, err := jsonrpc.DecodeMessage(line)
		if r, ok := m.(*jsonrpc.Request); ok && r.IsCall() {
			if _, waits := c.ids.LoadOrStore(r.ID, nil); waits {
				err = errSameID
			} else {
				c.pending.Add(1)
			}
		}
		if err != nil {
			if err := c.refuse(line, err); err != nil {
				c.failed = err
				return
			}
			continue
		}
		select {
		case c.received <- m:
		case <-c.closed:
			return
		}
	}
	if err := lines.Err(); err != nil {
		c.failed = fmt.Errorf("a message of the client has more than %d bytes, or its input is broken: %w", maxLine, err)
		return
	}
	c.pending.Wait()
}

// errSameID is the error for a request that has the id of one without an answer yet.
var errSameID = errors.New("another request with this id waits for its answer")

// refuse answers a line that is no message, or not one that the session may see.
func (c *connection) refuse(line []byte, err error) error {
	code, why := -32600, "the line is no message of JSON-RPC 2.0"
	switch {
	case err == errSameID:
		why = err.Error()
	case !json.Valid(line):
		code, why = -32700, "the line is no JSON"
	}
	return c.send(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":null,"error":{"code":%d,"message":%q}}`, code, why))
}

func (c *connection) send(line []byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, err := c.out.Write(append(line, '\n'))
	return err
}

// Connect implements mcp.Transport.
func (c *connection) Connect(context.Context) (sdk.Connection, error) { return c, nil }

// Read implements mcp.Connection.
func (c *connection) Read(context.Context) (jsonrpc.Message, error) {
	select {
	case m, ok := <-c.received:
		if !ok {
			return nil, c.failed
		}
		return m, nil
	case <-c.closed:
		return nil, io.EOF
	}
}

// Write implements mcp.Connection.
func (c *connection) Write(_ context.Context, m jsonrpc.Message) error {
	if r, ok := m.(*jsonrpc.Response); ok {
		if _, waits := c.ids.LoadAndDelete(r.ID); waits {
			defer c.pending.Done()
		}
	}
	line, err := jsonrpc.EncodeMessage(m)
	if err != nil {
		return err
	}
	return c.send(line)
}

// Close implements mcp.Connection. It leaves the output open: it belongs to the caller of Serve.
func (c *connection) Close() error {
	c.close.Do(func() { close(c.closed) })
	return nil
}

// SessionID implements mcp.Connection.
func (c *connection) SessionID() string { return "" }
