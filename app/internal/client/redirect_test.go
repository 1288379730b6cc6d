package client_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/dendroprof/dendro/app/internal/client"
)

// TestTokenStays: a server that redirects to another does not pass the token on.
func TestTokenStays(t *testing.T) {
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("the other server was asked, with %q", r.Header.Get("Authorization"))
	}))
	defer other.Close()
	for _, status := range []int{http.StatusMovedPermanently, http.StatusFound, http.StatusTemporaryRedirect, http.StatusPermanentRedirect} {
		first := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, other.URL+r.URL.Path, status)
		}))
		_, err := client.Open(t.Context(), first.URL, client.Options{Token: "secret"})
		if err == nil || !strings.Contains(err.Error(), "redirected to "+other.URL) {
			t.Errorf("%d: %v", status, err)
		}
		first.Close()
	}
}
