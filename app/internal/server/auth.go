package server

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// same compares secrets in constant time, whatever their content and length.
func same(a, b string) bool {
	x, y := sha256.Sum256([]byte(a)), sha256.Sum256([]byte(b))
	return subtle.ConstantTimeCompare(x[:], y[:]) == 1
}

// openHTTP reports whether HTTP clients need no token.
func (o *Options) openHTTP() bool { return o.HTTPToken == "" && o.ReadToken == "" }

// authorize returns the problem if the token of a request does not allow a route, or nil.
func (o *Options) authorize(r *http.Request, needs Needs) *Problem {
	if needs == Nothing || o.openHTTP() {
		return nil
	}
	token := tokenOf(r)
	switch {
	case token == "":
		return &Problem{Type: TypeUnauthorized, Title: "A token is needed", Status: http.StatusUnauthorized,
			Detail: "send the header `Authorization: Bearer TOKEN`, or HTTP Basic with the token as password"}
	case o.HTTPToken != "" && same(token, o.HTTPToken):
		return nil
	case o.ReadToken != "" && same(token, o.ReadToken):
		if needs == Reading {
			return nil
		}
		return &Problem{Type: TypeForbidden, Title: "The token is for reading only", Status: http.StatusForbidden,
			Detail: "this request changes something and needs the server's full token"}
	}
	return &Problem{Type: TypeUnauthorized, Title: "The token is not this server's", Status: http.StatusUnauthorized}
}

// tokenOf returns the token of a request: a bearer token or, for clients that have
// only that, the password of HTTP Basic with any user, or the cookie of a page.
func tokenOf(r *http.Request) string {
	if r.Header.Get("Authorization") == "" {
		return cookieToken(r)
	}
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
func (o *Options) authenticate(ctx context.Context, method string) error {
	if o.AgentToken == "" || strings.HasPrefix(method, healthService) {
		return nil
	}
	md, _ := metadata.FromIncomingContext(ctx)
	for _, token := range md.Get("authentication") {
		if same(token, o.AgentToken) {
			return nil
		}
	}
	return status.Error(codes.PermissionDenied, "the metadata authentication is not this server's token")
}
