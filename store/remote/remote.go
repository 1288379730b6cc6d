// Package remote is a store that another Dendro keeps: the contract of package
// store, asked over HTTP of a `dendro serve`.
//
// Nothing is computed here. Every query travels as it is, the sums and merged
// trees of the optional fast paths too, and answers stream: what a caller does
// not read does not arrive, and what it leaves unread for longer than the server
// bears (a minute, unless told otherwise) breaks off. Files are put by upload, in
// the form of package transfer, and are stored when the server says so.
//
// Errors are those of the server's engine: errors.Is finds the errors of package
// store in them, and their texts are the engine's own. What can go wrong on the
// way besides (nobody there, no token, a server of another kind or version) says
// what to do. Queries that did not reach the server are asked again a few
// times; changes never are.
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

	"github.com/dendroprof/dendro/internal/transfer"
	"github.com/dendroprof/dendro/store"
)

// apiVersion is the version of the API that this client speaks.
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
	_ store.Store          = (*Store)(nil)
	_ store.FunctionSummer = (*Store)(nil)
	_ store.MomentCounter  = (*Store)(nil)
	_ store.TreeMerger     = (*Store)(nil)
	_ store.SQLSpeaker     = (*Store)(nil)
)

// Open connects to a server at http://host:port or https://host:port and asks what it
// is. Errors wrap store.ErrNewer when its API is newer than this program.
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
		s.client = &http.Client{Transport: transport(u.Hostname())}
	}
	s.life, s.end = context.WithCancel(context.Background())
	if _, err := s.hello(ctx); err != nil {
		s.end()
		return nil, err
	}
	return s, nil
}

// transport makes connections. Answers of this machine are not compressed: it
// would cost more than it saves.
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
	return fmt.Errorf("what answers at %s is not a Dendro server: look at the address and the port (HTTP is 12800 unless told otherwise)", s.base)
}

// attempts is the maximum number of attempts of a query.
const attempts = 3

// ask asks: it tries again when nobody took the query or the server was too
// busy for it.
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

// message is a query or a change, in the form of package transfer.
type message interface{ Encode() ([]byte, error) }

// methods stands before the name of a method of the contract.
const methods = "/api/v1/store/"

// query calls a method that only reads.
func (s *Store) query(ctx context.Context, method string, m message) (*http.Response, error) {
	data, err := m.Encode()
	if err != nil {
		return nil, err
	}
	return s.sendRetrying(ctx, http.MethodPost, methods+method, data)
}

// change sends a change, at most once.
func (s *Store) change(ctx context.Context, method string, m message) (*http.Response, error) {
	data, err := m.Encode()
	if err != nil {
		return nil, err
	}
	return s.do(ctx, http.MethodPost, methods+method, bytes.NewReader(data))
}

// upload sends a change, at most once, whose body write writes.
func (s *Store) upload(ctx context.Context, method string, write func(io.Writer) error) (*http.Response, error) {
	in, out := io.Pipe()
	written := make(chan struct{})
	go func() {
		defer close(written)
		out.CloseWithError(write(out))
	}()
	resp, err := s.do(ctx, http.MethodPost, methods+method, in)
	in.CloseWithError(errors.New("the server has answered"))
	<-written // what is written is the caller's again
	return resp, err
}

// whole sends a message, as query or order do, and reads an answer in one piece.
func (s *Store) whole(ctx context.Context, send func(context.Context, string, message) (*http.Response, error), method string, m message, into transfer.Answer) error {
	resp, err := send(ctx, method, m)
	if err != nil {
		return err
	}
	return s.read(ctx, resp, into)
}

// read reads an answer in one piece.
func (s *Store) read(ctx context.Context, resp *http.Response, into transfer.Answer) error {
	defer resp.Body.Close()
	if err := transfer.ReadAnswer(resp.Body, into); err != nil {
		return s.broken(ctx, err)
	}
	return nil
}

// do does one request. The answer's body ends with the context, and with the
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

// answer is the body of an answer. Its errors are the context's own when that has
// ended.
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

// Close ends every stream that is still being read. The server lives on.
func (s *Store) Close() error {
	s.end()
	s.client.CloseIdleConnections()
	return nil
}
