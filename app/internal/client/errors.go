package client

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"

	"github.com/dendroprof/dendro/app/internal/transfer"
	"github.com/dendroprof/dendro/query/facts"
	"github.com/dendroprof/dendro/query/param"
	"github.com/dendroprof/dendro/store"
)

// unavailableError is a store.ErrUnavailable with another text, for a request that the
// server has not begun to answer.
type unavailableError struct{ error }

func (e unavailableError) Unwrap() []error { return []error{store.ErrUnavailable, e.error} }

// spokeFirst is the message of net/http if a server sends something before the
// request, as mail servers do. It may also report a malformed answer.
const spokeFirst = "readLoopPeekFailLocked: %!w(<nil>)"

func (c *Client) stranger() error {
	return fmt.Errorf("%s is not a Dendro server: check the host and the port (12800 by default)", c.base)
}

// unreached explains why a request got no response.
func (c *Client) unreached(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return store.Ended(ctx, err)
	}
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = u.Err
	}
	switch text := err.Error(); {
	case strings.Contains(text, "server gave HTTP response to HTTPS client"):
		return fmt.Errorf("the server at %s does not speak TLS: use http://", c.base)
	case strings.Contains(text, "x509:") || strings.Contains(text, "tls:"):
		return fmt.Errorf("the certificate of %s is not trusted here: %w (SSL_CERT_FILE names a file of further authorities)", c.base, err)
	case strings.Contains(text, "malformed HTTP"), strings.Contains(text, spokeFirst):
		return c.stranger()
	}
	if op, ok := errors.AsType[*net.OpError](err); !ok || op.Op != "dial" {
		return unavailableError{fmt.Errorf("the connection to %s broke before it answered; it may have done the request: %w", c.base, err)}
	}
	return unavailableError{fmt.Errorf("no server answers at %s: %w (start one with `dendro serve`, or set --store to another address)", c.base, err)}
}

// broken explains why a response could not be read to its end.
func (c *Client) broken(ctx context.Context, err error) error {
	err = store.Ended(ctx, err)
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF), errors.As(err, new(*net.OpError)):
		return fmt.Errorf("the answer of %s broke off, the server or the connection to it may have ended: %w (repeat the command)", c.base, err)
	case errors.Is(err, transfer.ErrMalformed):
		return fmt.Errorf("the answer of %s: %w", c.base, err)
	}
	return err
}

// problem is an error as the server writes it: a problem of RFC 9457 with more members.
type problem struct {
	Type     string               `json:"type"`
	Title    string               `json:"title"`
	Detail   string               `json:"detail"`
	Conflict *store.ConflictError `json:"conflict"`
	Types    []string             `json:"types"`
	// Command is the detail as the command line says it, with the names of flags.
	Command string         `json:"command"`
	Needs   []facts.Needed `json:"needs"`
}

// problem returns the error in a response.
func (c *Client) problem(resp *http.Response) error {
	var p problem
	data, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	if err != nil {
		return fmt.Errorf("%s answers %s, and the response breaks off: %w", c.base, resp.Status, err)
	}
	if resp.Header.Get("Content-Type") != "application/problem+json" || json.Unmarshal(data, &p) != nil {
		return c.stranger()
	}
	switch resp.StatusCode {
	case http.StatusUnauthorized:
		if c.token == "" {
			return fmt.Errorf("the server at %s requires a token: set DENDRO_TOKEN, or name a file with --token-file", c.base)
		}
		return fmt.Errorf("the server at %s does not accept the token of DENDRO_TOKEN or --token-file", c.base)
	case http.StatusForbidden:
		return fmt.Errorf("the server at %s refuses: %s: %s", c.base, lower(p.Title), p.Detail)
	case http.StatusNotFound:
		if p.Type == transfer.ProblemPrefix+"not-found" {
			return fmt.Errorf("the server at %s does not know this request: it has another version of dendro", c.base)
		}
	}
	if p.Needs != nil {
		return &facts.NeededError{Facts: p.Needs}
	}
	if p.Command != "" {
		return param.Errorf("%s", p.Command)
	}
	f := transfer.Failure{Message: p.Detail, Conflict: p.Conflict, Types: p.Types}
	if kind, ok := strings.CutPrefix(p.Type, transfer.ProblemPrefix); ok {
		f.Kind = kind
	}
	f.Message = cmp.Or(f.Message, p.Title)
	if resp.StatusCode == http.StatusServiceUnavailable && f.Kind == "busy" {
		return unavailableError{f.Err()}
	}
	return f.Err()
}

func lower(s string) string {
	if s == "" {
		return s
	}
	return strings.ToLower(s[:1]) + s[1:]
}
