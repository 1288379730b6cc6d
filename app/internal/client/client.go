// Package client sends the requests of /api/v1 to a Dendro server, the same that the web
// page, Python and tools of assistants send, and reads its answers.
//
//	Ask       a query: parameters in the address, facts of the client in the body
//	Source    profiles to copy from the server (store.Origin)
//	Put       profiles to store there (store.Destination)
//	Sampled   snapshots of trace profiling
//
// Errors are those of the server's store: errors.Is finds the errors of package store in
// them, and their texts are those that the command line prints for a store of its own.
// Errors of the connection (no server, no token, a server of another kind or version) say
// what to do. Queries that did not reach the server are sent again a few times, changes
// never.
//
// Nothing is computed here. Package endpoint lists the queries.
package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/dendroprof/dendro/app/internal/transfer"
	"github.com/dendroprof/dendro/store"
)

// apiVersion is the version of the API that this client uses.
const apiVersion = 1

// Options define how a server is reached.
type Options struct {
	Token string // bearer token; empty: none

	// Missing is called with a sentence of the server that says what its answer lacks. It may be nil.
	Missing func(text string)

	// HTTP does the requests; nil: a client of this package's own. Tests give theirs.
	HTTP *http.Client
}

// Client is a connection to a server. It is safe for concurrent use.
type Client struct {
	base  string // "http://host:12800"
	token string
	http  *http.Client

	missing func(text string)
}

// missingHeader says what an answer lacks.
const missingHeader = "Dendro-Missing"

// Open connects to a server at http://host:port or https://host:port and requests its
// description. Errors wrap store.ErrNewer when its API is newer than this program.
func Open(ctx context.Context, address string, o Options) (*Client, error) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("%q is not the address of a server, as http://localhost:12800", address)
	}
	if u.User != nil {
		return nil, fmt.Errorf("the address %s has a password in it: give the token as DENDRO_TOKEN or --token-file", u.Redacted())
	}
	c := &Client{base: u.Scheme + "://" + u.Host + strings.TrimSuffix(u.Path, "/"), token: o.Token, http: o.HTTP,
		missing: o.Missing}
	if c.http == nil {
		c.http = &http.Client{Transport: transport(u.Hostname()), CheckRedirect: stay}
	}
	if _, err := c.Info(ctx); err != nil {
		return nil, err
	}
	return c, nil
}

// stay refuses redirections to another server or scheme: net/http would send the token there.
func stay(to *http.Request, via []*http.Request) error {
	from := via[0].URL
	if to.URL.Scheme != from.Scheme || to.URL.Host != from.Host {
		return fmt.Errorf("redirected to %s://%s: give that address", to.URL.Scheme, to.URL.Host)
	}
	if len(via) > 5 {
		return errors.New("redirected more than 5 times")
	}
	return nil
}

// transport makes connections. Between processes of one machine, compression would cost
// more than it saves.
func transport(host string) *http.Transport {
	ip := net.ParseIP(host)
	return &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		DialContext:         (&net.Dialer{Timeout: 10 * time.Second}).DialContext,
		TLSHandshakeTimeout: 10 * time.Second,
		ForceAttemptHTTP2:   true,
		MaxIdleConnsPerHost: 8,
		IdleConnTimeout:     30 * time.Second, // less than the server's: a change never meets a closed connection
		DisableCompression:  host == "localhost" || ip != nil && ip.IsLoopback(),
	}
}

// Close closes idle connections.
func (c *Client) Close() error {
	c.http.CloseIdleConnections()
	return nil
}

// About asks the server what it is.
func (c *Client) About(ctx context.Context) (*transfer.About, error) {
	body, err := c.Ask(ctx, Request{Method: http.MethodGet, Path: "/api/v1/info"})
	if err != nil {
		return nil, err
	}
	defer body.Close()
	data, err := io.ReadAll(io.LimitReader(body, 1<<20))
	if err != nil {
		return nil, err
	}
	a := &transfer.About{}
	if json.Unmarshal(data, a) != nil || a.Product != "dendro" {
		return nil, c.stranger()
	}
	if a.API > apiVersion {
		return nil, fmt.Errorf("%s: %w of Dendro (%s): use a newer dendro here", c.base, store.ErrNewer, a.Version)
	}
	return a, nil
}

// Info describes the server's store.
func (c *Client) Info(ctx context.Context) (store.Info, error) {
	a, err := c.About(ctx)
	if err != nil {
		return store.Info{}, err
	}
	return a.Store, nil
}

// Request is a request of the API.
type Request struct {
	Method string
	Path   string     // "/api/v1/tree"
	Values url.Values // parameters of the address
	Body   []byte     // nil: none
	Type   string     // media type of the body; empty: JSON

	Changes bool // the store: it is sent once
}

// Ask sends a request, again if it did not reach the server or the server was too busy, and
// returns the body of the answer. Its errors say whose answer broke off.
func (c *Client) Ask(ctx context.Context, r Request) (*Answer, error) {
	attempts := 3
	if r.Changes {
		attempts = 1
	}
	var err error
	for try := range attempts {
		if try > 0 {
			select {
			case <-time.After(time.Duration(try*try) * 100 * time.Millisecond):
			case <-ctx.Done():
				return nil, store.Ended(ctx, err)
			}
		}
		var body io.Reader
		if r.Body != nil {
			body = bytes.NewReader(r.Body)
		}
		var answer *Answer
		if answer, err = c.send(ctx, &r, body); err == nil {
			return answer, nil
		}
		if ctx.Err() != nil || !errors.Is(err, store.ErrUnavailable) {
			break
		}
	}
	return nil, err
}

// send sends a request once.
func (c *Client) send(ctx context.Context, r *Request, body io.Reader) (*Answer, error) {
	address := c.base + r.Path
	if len(r.Values) > 0 {
		address += "?" + r.Values.Encode()
	}
	req, err := http.NewRequestWithContext(ctx, r.Method, address, body)
	if err != nil {
		return nil, err
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
		if r.Type != "" {
			req.Header.Set("Content-Type", r.Type)
		}
	}
	if c.token != "" {
		req.Header.Set("Authorization", "Bearer "+c.token)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, c.unreached(ctx, err)
	}
	if text := resp.Header.Get(missingHeader); text != "" && c.missing != nil {
		c.missing(text)
	}
	if resp.StatusCode/100 != 2 {
		defer resp.Body.Close()
		return nil, c.problem(resp)
	}
	return &Answer{resp.Body, resp.Header, ctx, c}, nil
}

// Answer is the body of a response, and its header. Once the context has ended, its errors
// are those of the context.
type Answer struct {
	io.ReadCloser
	Header http.Header
	ctx    context.Context
	c      *Client
}

// Read reads on in the body.
func (a *Answer) Read(p []byte) (int, error) {
	n, err := a.ReadCloser.Read(p)
	if err != nil && err != io.EOF { // readers return io.EOF itself
		err = a.c.broken(a.ctx, err)
	}
	return n, err
}
