package server

import (
	"net"
	"net/http"
	"slices"
	"strings"
)

// guard refuses requests of other sites' web pages, which browsers let send requests to
// this machine. It recognises them by their origin or by the host name in the request. A page
// of another site may open a page of this server, and nothing else.
func (o *Options) guard(r *http.Request, page bool) *Problem {
	if o.openHTTP() && !o.knownHost(r.Host) {
		return &Problem{Type: TypeForbidden, Title: "Unknown host name", Status: http.StatusForbidden,
			Detail: "use the server's address or localhost, allow the name with --allow-host, or set a token"}
	}
	if !sameOrigin(r) && !(page && opened(r)) {
		return &Problem{Type: TypeForbidden, Title: "Requests from pages of other sites are rejected", Status: http.StatusForbidden}
	}
	return nil
}

// knownHost reports whether a host is an IP address, localhost or allowed, and so cannot be
// an attacker's name that resolves to this machine (DNS rebinding).
func (o *Options) knownHost(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.ToLower(strings.TrimSuffix(strings.Trim(host, "[]"), "."))
	return net.ParseIP(host) != nil || host == "localhost" || strings.HasSuffix(host, ".localhost") ||
		slices.ContainsFunc(o.Hosts, func(h string) bool { return strings.EqualFold(h, host) })
}

// protection rejects requests from pages of other sites, except GET.
var protection http.CrossOriginProtection

// sameOrigin reports whether a request does not come from a page of another site. A GET of
// one is no exception: it could probe for this server, or let it compute.
func sameOrigin(r *http.Request) bool {
	strict := *r
	strict.Method = http.MethodPost
	return protection.Check(&strict) == nil
}

// opened reports whether a browser opens the address as a page: somebody followed a link.
func opened(r *http.Request) bool {
	return (r.Method == http.MethodGet || r.Method == http.MethodHead) && r.Header.Get("Sec-Fetch-Mode") == "navigate"
}

// secure sets security headers. Pages set their own policy.
func secure(h http.Header) {
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
	h.Set("Cache-Control", "no-store")
}
