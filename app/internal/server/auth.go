package server

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// minToken is the minimum length of a token: one that can be guessed protects nothing.
const minToken = 16

// CheckTokens returns an error that names the first token that is too short.
func (o *Options) CheckTokens() error {
	for _, t := range []struct{ flag, token string }{{"--http-token", o.HTTPToken}, {"--read-token", o.ReadToken},
		{"--agent-token", o.AgentToken}} {
		if t.token != "" && len(t.token) < minToken {
			return fmt.Errorf("%s: the token has %d characters; give at least %d random ones, for example from `openssl rand -hex 16`", t.flag, len(t.token), minToken)
		}
	}
	return nil
}

// same compares secrets in constant time, whatever their content and length.
func same(a, b string) bool {
	x, y := sha256.Sum256([]byte(a)), sha256.Sum256([]byte(b))
	return subtle.ConstantTimeCompare(x[:], y[:]) == 1
}

// openHTTP reports whether HTTP clients need no token.
func (o *Options) openHTTP() bool { return o.HTTPToken == "" && o.ReadToken == "" }

// allowedBy returns what a token allows: All, Reading or Nothing.
func (o *Options) allowedBy(token string) Needs {
	switch {
	case o.HTTPToken != "" && same(token, o.HTTPToken):
		return All
	case o.ReadToken != "" && same(token, o.ReadToken):
		return Reading
	}
	return Nothing
}

// granted returns what a request may do by its credential, a token or the id of a session.
// With agents, the agents' token allows everything. The problem tells why a credential grants
// nothing; it is nil if there is none.
func (s *Server) granted(r *http.Request, agents bool) (Needs, *Problem) {
	credential := credentialOf(r)
	switch {
	case s.opts.openHTTP():
		return All, nil
	case credential == "":
		return Nothing, nil
	case isSession(credential):
		if may := s.sessions.granted(credential, time.Now()); may != Nothing {
			return may, nil
		}
		return Nothing, &Problem{Type: TypeUnauthorized, Title: "The session has ended", Status: http.StatusUnauthorized, Detail: "log in again"}
	}
	may := s.opts.allowedBy(credential)
	agent := s.opts.AgentToken != "" && same(credential, s.opts.AgentToken)
	if agents && agent {
		may = All
	}
	if wait := s.guesses.judge(Client(r.Context()), credential, may != Nothing || agent, time.Now()); wait > 0 {
		return Nothing, &Problem{Type: TypeGuesses, Title: "Too many wrong tokens from this address", Status: http.StatusTooManyRequests,
			Detail: "try again in " + wait.String(), retryAfter: wait}
	}
	switch {
	case may != Nothing:
		return may, nil
	case agent: // known, so it is no guess
		return Nothing, &Problem{Type: TypeForbidden, Title: "The agents' token does not read", Status: http.StatusForbidden,
			Detail: "this request needs the server's HTTP token or read token"}
	}
	return Nothing, &Problem{Type: TypeUnauthorized, Title: "The token is not this server's", Status: http.StatusUnauthorized}
}

// authorize returns the problem if what a request was granted does not allow a route, or nil.
func authorize(may Needs, refused *Problem, needs Needs) *Problem {
	switch {
	case may <= needs:
		return nil
	case refused != nil:
		return refused
	case may == Nothing:
		return &Problem{Type: TypeUnauthorized, Title: "A token is needed", Status: http.StatusUnauthorized,
			Detail: "send the header `Authorization: Bearer TOKEN`, or HTTP Basic with the token as password"}
	}
	return &Problem{Type: TypeForbidden, Title: "The token is for reading only", Status: http.StatusForbidden,
		Detail: "this request changes something and needs the server's full token"}
}

// credentialOf returns the credential of a request: a bearer token or, for clients that have
// only that, the password of HTTP Basic with any user.
func credentialOf(r *http.Request) string {
	if _, password, ok := r.BasicAuth(); ok {
		return password
	}
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.TrimSpace(token)
}

type readingKey struct{}

// MayChange reports whether the request of a context may use a route that needs All. It is
// for routes that need less but can also change something.
func MayChange(ctx context.Context) bool { return ctx.Value(readingKey{}) == nil }

// healthService needs no token: load balancers call it.
const healthService = "/grpc.health.v1.Health/"

// authenticate refuses calls without the agents' token.
func (s *Server) authenticate(ctx context.Context, method string) error {
	if s.opts.AgentToken == "" || strings.HasPrefix(method, healthService) {
		return nil
	}
	md, _ := metadata.FromIncomingContext(ctx)
	given := md.Get("authentication")
	for _, header := range md.Get("authorization") { // of clients that know no other
		given = append(given, credentialOf(&http.Request{Header: http.Header{"Authorization": {header}}}))
	}
	right := slices.ContainsFunc(given, func(token string) bool { return same(token, s.opts.AgentToken) })
	if len(given) > 0 {
		if wait := s.guesses.judge(Client(ctx), given[0], right, time.Now()); wait > 0 {
			return status.Errorf(codes.ResourceExhausted, "too many wrong tokens from this address: try again in %s", wait)
		}
	}
	if !right {
		return status.Error(codes.PermissionDenied, "the metadata authentication is not this server's token")
	}
	return nil
}

// clientOf returns what stands for a client where clients share something: its IP address, of
// IPv6 the network, which is what one client gets.
func clientOf(address string) string {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return address
	}
	if ip := net.ParseIP(host); ip != nil && ip.To4() == nil {
		return ip.Mask(net.CIDRMask(64, 128)).String()
	}
	return host
}

// trusted reports whether an address is one of Options.Proxies.
func (o *Options) trusted(host string) bool {
	ip, err := netip.ParseAddr(host)
	return err == nil && slices.ContainsFunc(o.Proxies, func(p netip.Prefix) bool { return p.Contains(ip.Unmap()) })
}

// client returns what stands for the client of a request: behind a trusted proxy, the last
// forwarded address that is none.
func (o *Options) client(address string, forwarded []string) string {
	host, _, err := net.SplitHostPort(address)
	if err != nil || !o.trusted(host) {
		return clientOf(address)
	}
	list := strings.Split(strings.Join(forwarded, ","), ",")
	for _, next := range slices.Backward(list) {
		next = strings.TrimSpace(next)
		if net.ParseIP(next) == nil { // whoever wrote it is no client
			break
		}
		if host = next; !o.trusted(host) {
			break
		}
	}
	return clientOf(net.JoinHostPort(host, "0"))
}

// placeOf returns what stands for a client among connections: each of a trusted proxy is one.
func (o *Options) placeOf(address string) string {
	if host, _, err := net.SplitHostPort(address); err == nil && o.trusted(host) {
		return address
	}
	return clientOf(address)
}

// Client returns what stands for the client of a request or gRPC call in budgets.
func Client(ctx context.Context) string {
	if a := infoOf(ctx); a != nil {
		return a.client
	}
	return ""
}
