package client_test

import (
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/dendroprof/dendro/app/internal/client"
)

// TestWrongCertificate: a server that cannot prove its name, or that nobody knows, receives
// no request, and so no token.
func TestWrongCertificate(t *testing.T) {
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("a request with the token %q", r.Header.Get("Authorization"))
	}))
	server.Config.ErrorLog = nil
	server.StartTLS()
	defer server.Close()
	known := x509.NewCertPool()
	known.AddCert(server.Certificate()) // of 127.0.0.1 and example.com
	for name, c := range map[string]struct {
		address string
		config  *tls.Config
		want    string
	}{
		"another host":      {strings.Replace(server.URL, "127.0.0.1", "localhost", 1), &tls.Config{RootCAs: known}, "not localhost"},
		"unknown authority": {server.URL, &tls.Config{RootCAs: x509.NewCertPool()}, "unknown authority"},
		"old TLS":           {server.URL, &tls.Config{RootCAs: known, MaxVersion: tls.VersionTLS11, MinVersion: tls.VersionTLS10}, "tls"},
	} {
		_, err := client.Open(t.Context(), c.address, client.Options{Token: "secret",
			HTTP: &http.Client{Transport: &http.Transport{TLSClientConfig: c.config}}})
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), c.address) ||
			strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
