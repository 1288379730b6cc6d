// Package remote is a store on another Dendro: the contract of package store, called over
// HTTP at a `dendro serve`.
//
// Nothing is computed here. Every query is sent as it is, also the sums and merged trees
// of the optional fast paths, and results are streamed: the server sends only what the
// caller reads, and ends a stream that nobody reads for longer than its stall timeout (a
// minute by default). Files are uploaded in the format of package transfer.
//
// Errors are those of the server's engine: errors.Is finds the errors of package store in
// them, and their texts are the engine's. Errors of the connection (no server, no token,
// a server of another kind or version) say what to do. Queries that did not reach the
// server are sent again a few times, changes never.
package remote

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

// Options defines how a server is reached.
type Options struct {
	Token string // bearer token; empty: none

	// Client does the requests; nil: one of the store's own. Tests give theirs.
	Client *http.Client
}

// Store is a store behind a server. It is safe for concurrent use.
type Store struct {
	base   string // "http://host:12800"
	opts   Options
	client *http.Client

	life context.Context // ends with Close, and with it every stream
	end  context.CancelFunc
}

var (
	_ store.Store      = (*Store)(nil)
	_ store.Aggregator = (*Store)(nil)
	_ store.SQLSpeaker = (*Store)(nil)
)

// Open connects to a server at http://host:port or https://host:port and requests its
// description. Errors wrap store.ErrNewer when its API is newer than this program.
func Open(ctx context.Context, address string, opts Options) (*Store, error) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("%q is not the address of a server, as http://localhost:12800", address)
	}
	if u.User != nil {
		return nil, fmt.Errorf("the address %s has a password in it: give the token as DENDRO_TOKEN or --token-file", u.Redacted())
	}
	s := &Store{base: u.Scheme + "://" + u.Host + strings.TrimSuffix(u.Path, "/"), opts: opts, client: opts.Client}
	if s.client == nil {
		s.client = &http.Client{Transport: transport(u.Hostname()), CheckRedirect: stay}
	}
	s.life, s.end = context.WithCancel(context.Background())
	if _, err := s.hello(ctx); err != nil {
		s.end()
		return nil, err
	}
	return s, nil
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

// hello is a server's description of itself.
type hello struct {
	Product string     `json:"product"`
	Version string     `json:"version"`
	API     int        `json:"api"`
	Store   store.Info `json:"store"`
}

func (s *Store) hello(ctx context.Context) (*hello, error) {
	resp, err := s.sendRetrying(ctx, http.MethodGet, "/api/v1/info", nil)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	var h hello
	data, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	if err != nil {
		return nil, s.broken(ctx, err)
	}
	if json.Unmarshal(data, &h) != nil || h.Product != "dendro" {
		return nil, s.stranger()
	}
	if h.API > apiVersion {
		return nil, fmt.Errorf("%s: %w of Dendro (%s): use a newer dendro here", s.base, store.ErrNewer, h.Version)
	}
	return &h, nil
}

func (s *Store) stranger() error {
	return fmt.Errorf("%s is not a Dendro server: check the host and the port (12800 by default)", s.base)
}

// call calls a method.
func call[In, Out any](ctx context.Context, s *Store, m transfer.Method[In, Out], in In) (out Out, err error) {
	resp, err := send(ctx, s, m, &in)
	if err != nil {
		return out, err
	}
	return out, s.read(ctx, resp, func(r io.Reader) error { return transfer.Read(r, &out) })
}

// send sends the argument of a method.
func send[In, Out any](ctx context.Context, s *Store, m transfer.Method[In, Out], in *In) (*http.Response, error) {
	data, err := transfer.Encode(in)
	if err != nil {
		return nil, err
	}
	if m.Changes {
		return s.do(ctx, http.MethodPost, transfer.Path+m.Name, bytes.NewReader(data))
	}
	return s.sendRetrying(ctx, http.MethodPost, transfer.Path+m.Name, data)
}

// read reads a result.
func (s *Store) read(ctx context.Context, resp *http.Response, read func(io.Reader) error) error {
	defer resp.Body.Close()
	return s.broken(ctx, read(resp.Body))
}

// streamed calls a method whose result is a stream that read reads.
func streamed[In, T any](ctx context.Context, s *Store, m transfer.Method[In, transfer.Stream], in In, read func(io.ReadCloser) (T, error)) (result T, body io.Closer, err error) {
	resp, err := send(ctx, s, m, &in)
	if err != nil {
		return result, nil, err
	}
	if result, err = read(resp.Body); err != nil {
		resp.Body.Close()
		return result, nil, s.broken(ctx, err)
	}
	return result, resp.Body, nil
}

// upload calls a method whose argument is a stream that write writes.
func upload[Out any](ctx context.Context, s *Store, m transfer.Method[transfer.Stream, Out], write func(io.Writer) error) (out Out, err error) {
	in, w := io.Pipe()
	written := make(chan struct{})
	go func() {
		defer close(written)
		w.CloseWithError(write(w))
	}()
	resp, err := s.do(ctx, http.MethodPost, transfer.Path+m.Name, in)
	in.CloseWithError(errors.New("the server has answered"))
	<-written // now the caller may change what was written
	if err != nil {
		return out, err
	}
	err = s.read(ctx, resp, func(r io.Reader) error { return transfer.Read(r, &out) })
	if err != nil {
		err = fmt.Errorf("it is unknown what %s stored; put the same again: %w", s.base, err)
	}
	return out, err
}

// attempts is the maximum number of attempts of a query.
const attempts = 3

// sendRetrying sends a request again if it did not reach the server, or the server was
// too busy.
func (s *Store) sendRetrying(ctx context.Context, method, path string, body []byte) (*http.Response, error) {
	var err error
	for try := range attempts {
		if try > 0 {
			select {
			case <-time.After(time.Duration(try*try) * 100 * time.Millisecond):
			case <-ctx.Done():
				return nil, store.Ended(ctx, err)
			}
		}
		var resp *http.Response
		if resp, err = s.do(ctx, method, path, bytes.NewReader(body)); err == nil {
			return resp, nil
		}
		if ctx.Err() != nil || !errors.Is(err, store.ErrUnavailable) {
			break
		}
	}
	return nil, err
}

// do sends one request. The body of the response ends with the context, and with the
// store.
func (s *Store) do(ctx context.Context, method, path string, body io.Reader) (*http.Response, error) {
	if s.life.Err() != nil {
		return nil, errors.New("the store is closed")
	}
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(s.life, cancel)
	req, err := http.NewRequestWithContext(ctx, method, s.base+path, body)
	if err != nil {
		cancel()
		return nil, err
	}
	if method == http.MethodPost {
		req.Header.Set("Content-Type", transfer.ContentType)
	}
	if s.opts.Token != "" {
		req.Header.Set("Authorization", "Bearer "+s.opts.Token)
	}
	resp, err := s.client.Do(req)
	if err != nil {
		defer cancel()
		stop()
		return nil, s.unreached(ctx, err)
	}
	resp.Body = &answer{resp.Body, ctx, func() { stop(); cancel() }}
	if resp.StatusCode/100 != 2 {
		defer resp.Body.Close()
		return nil, s.problem(resp)
	}
	return resp, nil
}

// answer is the body of a response. Once the context has ended, its errors are those of
// the context.
type answer struct {
	io.ReadCloser
	ctx     context.Context
	release func()
}

func (a *answer) Read(p []byte) (int, error) {
	n, err := a.ReadCloser.Read(p)
	if err != nil && err != io.EOF { // readers return io.EOF itself
		err = store.Ended(a.ctx, err)
	}
	return n, err
}

func (a *answer) Close() error {
	a.release()
	return a.ReadCloser.Close()
}

// Close ends all open streams. The server continues to run.
func (s *Store) Close() error {
	s.end()
	s.client.CloseIdleConnections()
	return nil
}
