package api

import (
	"context"
	"fmt"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dendroprof/dendro/app/internal/server"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/store/duckdb"
	"github.com/dendroprof/dendro/store/mem"
)

// TestLinks: a page has one short link, whose number and size are bounded before it is
// stored, which leads to no other server, and which another server of the store knows.
func TestLinks(t *testing.T) {
	file := filepath.Join(t.TempDir(), "x.duckdb")
	open := func() store.Store {
		st, err := duckdb.Open(t.Context(), file, duckdb.Options{})
		if err != nil {
			t.Fatal(err)
		}
		return st
	}
	l := labOf(t, open(), server.Options{}, Options{Links: 2})
	keep := func(address string) *httptest.ResponseRecorder {
		return l.serve(httptest.NewRequest("POST", "/api/v1/links?address="+url.QueryEscape(address), nil))
	}
	long := "/diff?benchmark=a;b%22&" + strings.Repeat("base-run=run-016&", 18)
	link := "/api/v1/links/" + store.LinkID(long)
	for range 2 {
		if w := keep(long); w.Code != 200 || !strings.Contains(w.Body.String(), store.LinkID(long)) {
			t.Fatalf("%d %s", w.Code, w.Body)
		}
	}
	for _, bad := range []string{"", "//evil.example", "https://evil.example/x", "/profile?x=<svg>",
		"/" + strings.Repeat("a", 8<<10), "/c\r\nSet-Cookie: a=b"} {
		l.problem(keep(bad), 400, "bad-request")
	}
	keep("/")
	l.problem(keep("/profile"), 507, "many-links")
	for _, id := range []string{"nosuch", "..%2F..%2Finfo", "%27%20OR%20true--", "%3Cscript%3E", strings.Repeat("x", 4000)} {
		l.problem(l.serve(httptest.NewRequest("GET", "/api/v1/links/"+id, nil)), 404, "nothing-selected")
	}
	if err := l.st.Close(); err != nil {
		t.Fatal(err)
	}
	l = labOf(t, open(), server.Options{}, Options{})
	var got struct{ ID, Address string }
	if l.get(link, &got); got.Address != long {
		t.Errorf("after a restart: %+v", got)
	}
	// Who may only read follows links and makes none; nor does a store that is not written to.
	l = labOf(t, mem.New(), server.Options{HTTPToken: "secret of 16 bytes", ReadToken: "reader of 16 bytes"}, Options{})
	r := httptest.NewRequest("POST", "/api/v1/links?address=/", nil)
	r.Header.Set("Authorization", "Bearer reader of 16 bytes")
	if w := l.serve(r); w.Code != 403 {
		t.Errorf("made by a reader: %d %s", w.Code, w.Body)
	}
	l = labOf(t, unlinked{mem.New()}, server.Options{}, Options{})
	l.problem(keep("/"), 409, "read-only")
	l.problem(l.serve(httptest.NewRequest("GET", link, nil)), 404, "nothing-selected")
}

// unlinked is a store that keeps no links, such as a lake.
type unlinked struct{ store.Store }

// TestLinksAtOnce: two clients cannot both take the last place.
func TestLinksAtOnce(t *testing.T) {
	st := mem.New()
	errs := make(chan error, 16)
	for i := range cap(errs) {
		go func() { errs <- st.KeepLink(context.Background(), fmt.Sprintf("/profile?run=%d", i), 3) }()
	}
	kept := 0
	for range cap(errs) {
		if <-errs == nil {
			kept++
		}
	}
	if kept != 3 {
		t.Errorf("%d of at most 3 links are kept", kept)
	}
}
