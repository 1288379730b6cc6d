package graphql

import (
	"net/http/httptest"
	"testing"

	"github.com/dendroprof/dendro/app/internal/server"
)

// TestStatus asks for the addresses that Booster's settings read.
func TestStatus(t *testing.T) {
	b := newBench(t)
	s, err := server.New(server.Options{HTTPToken: "a-token-that-is-long-enough", ReadToken: "a-token-for-reading-only"}, b.handler.Part())
	b.must(err)
	for path, want := range map[string]string{
		"/status/config/ttl": `{"metrics":{"minute":3,"hour":3,"day":3,"coldMinute":-1,"coldHour":-1,"coldDay":-1},` +
			`"records":{"normal":3,"trace":3,"zipkinTrace":3,"log":3,"browserErrorLog":3,"coldNormal":-1,"coldTrace":-1,"coldZipkinTrace":-1,"coldLog":-1,"coldBrowserErrorLog":-1}}`,
		"/status/cluster/nodes":  `{"nodes":[]}`,
		"/debugging/config/dump": `{}`,
	} {
		for token, status := range map[string]int{"a-token-for-reading-only": 200, "": 401} {
			r := httptest.NewRequest("GET", path, nil)
			r.Header.Set("Authorization", "Bearer "+token)
			w := httptest.NewRecorder()
			s.Handler().ServeHTTP(w, r)
			if w.Code != status || status == 200 && w.Body.String() != want+"\n" {
				t.Errorf("%s with token %q: %d %s", path, token, w.Code, w.Body)
			}
		}
	}
}
