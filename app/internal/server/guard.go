package server

import (
	"net"
	"net/http"
	"slices"
	"strings"
)

// guard refuses requests of other sites' web pages, which browsers let send requests to
// this machine. It recognises them by their origin or by the host name in the request.
func (o *Options) guard(r *http.Request) *Problem {
	if o.openHTTP() && !o.knownHost(r.Host) {
		return &Problem{Type: TypeForbidden, Title: "Unknown host name", Status: http.StatusForbidden,
			Detail: "use the server's address or localhost, allow the name with --allow-host, or set a token"}
	}
	if !sameOrigin(r) {
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

// sameOrigin reports whether a request does not come from a page of another site, or is a
// GET by which a user opens a link. A GET by a script of another site is rejected too: it
// could probe for this server.
func sameOrigin(r *http.Request) bool {
	if r.Method == http.MethodGet && r.Header.Get("Sec-Fetch-Mode") == "navigate" {
		return true
	}
	strict := *r
	strict.Method = http.MethodPost
	return protection.Check(&strict) == nil
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
