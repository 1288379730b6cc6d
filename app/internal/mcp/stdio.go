package mcp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"sync"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/dendroprof/dendro/app/internal/endpoint"
)

// maxLine is the maximum size of a message of a client, in bytes.
const maxLine = 1 << 20

// Serve serves the tools to a client that writes lines to in and reads them from out,
// until the client is done or the context ends. A line that is no message is answered with
// an error, and what came before the end of the input is answered before Serve returns.
func Serve(ctx context.Context, a endpoint.Asker, in io.Reader, out io.Writer, o Options) error {
	c := &client{out: out, pending: map[string]bool{}, answered: make(chan struct{}, 1)}
	lines, forwarded := io.Pipe()
	defer lines.Close()
	go func() { forwarded.CloseWithError(c.forward(ctx, in, forwarded)) }()
	err := New(a, o).Run(ctx, &sdk.IOTransport{Reader: lines, Writer: c})
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// client is what writes to the input and reads the output. The protocol's library ends a
// session with the first line that is no message, and drops what it has not answered at the
// end of the input, so it sees neither.
type client struct {
	mu       sync.Mutex
	out      io.Writer
	pending  map[string]bool // ids of the requests that wait for their answer
	answered chan struct{}   // an answer was written
}

// message is what a client looks at in a line.
type message struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Method  string          `json:"method"`
	Result  json.RawMessage `json:"result"`
	Error   json.RawMessage `json:"error"`
	Params  struct {
		RequestID json.RawMessage `json:"requestId"`
	} `json:"params"`
}

// forward writes the messages of in to the session, until in ends and all are answered.
func (c *client) forward(ctx context.Context, in io.Reader, to io.Writer) error {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, maxLine)
	for lines.Scan() {
		line := bytes.TrimSpace(lines.Bytes())
		if len(line) == 0 {
			continue
		}
		var m message
		err := json.Unmarshal(line, &m)
		switch {
		case err != nil && !json.Valid(line):
			err = c.refuse(-32700, "the line is no JSON")
		case err != nil, m.Version != "2.0", m.Method == "" && m.Result == nil && m.Error == nil:
			err = c.refuse(-32600, "the line is no message of JSON-RPC 2.0")
		default:
			c.expect(&m)
			_, err = to.Write(append(line, '\n'))
		}
		if err != nil {
			return err
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("a message of the client has more than %d bytes, or its input is broken: %w", maxLine, err)
	}
	for c.waits() {
		select {
		case <-c.answered:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// refuse answers a line that is no message.
func (c *client) refuse(code int, why string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, err := fmt.Fprintf(c.out, `{"jsonrpc":"2.0","id":null,"error":{"code":%d,"message":%q}}`+"\n", code, why)
	return err
}

// expect notes that a request waits for its answer, and that one no longer does.
func (c *client) expect(m *message) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case m.Method == "notifications/cancelled":
		delete(c.pending, string(m.Params.RequestID))
	case m.Method != "" && m.ID != nil:
		c.pending[string(m.ID)] = true
	}
}

func (c *client) waits() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.pending) > 0
}

// Write writes a message of the session.
func (c *client) Write(line []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n, err := c.out.Write(line)
	var m message
	if json.Unmarshal(line, &m) == nil && m.Method == "" {
		delete(c.pending, string(m.ID))
	}
	select {
	case c.answered <- struct{}{}:
	default:
	}
	return n, err
}

// Close leaves the output open: it belongs to the caller of Serve.
func (c *client) Close() error { return nil }
