package storetest

import (
	"errors"
	"fmt"
	"strings"

	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/store"
)

// testLinks: an address has one id, no id leads out of the pages, and their number is bounded.
func testLinks(l *lab) {
	t := l.t
	s, ok := l.s.(store.LinkKeeper)
	if !ok {
		t.Logf("the engine keeps no links")
		return
	}
	const maximum = 3
	keep := func(address string) error { return s.KeepLink(t.Context(), address, maximum) }
	long := "/diff?" + strings.Repeat("base-run=r;", 700)
	addresses := []string{"/", long, "/profile?benchmark=a%20%22b%22&q='x'&sel=u.1;2&by=[a]"}
	for _, address := range append(addresses, addresses...) { // again it is the same link
		if err := keep(address); err != nil {
			t.Fatalf("%.40s: %v", address, err)
		}
	}
	if err := keep("/profile?benchmark=other"); !errors.Is(err, store.ErrManyLinks) || !strings.Contains(fmt.Sprint(err), "--max-links") {
		t.Errorf("one more than the maximum: %v", err)
	}
	for _, bad := range []string{"", "profile", "//evil.example/", "https://evil.example/", "/\\evil.example", "/a/../b",
		"/profile?a=<script>",
		"/profile?a=\n", "/profile?a=\x00", "/profile?a=\"", "/profile?a=#", "/profile?a=\\",
		"/profile?a=ü", "javascript:alert(1)", "/profile#x", "/x?" + strings.Repeat("a", 8<<10)} {
		if err := keep(bad); !errors.Is(err, profile.ErrMalformed) {
			t.Errorf("kept %.40q: %v", bad, err)
		}
	}
	check := func(when string, s store.LinkKeeper) {
		t.Helper()
		for _, want := range addresses {
			if got, err := s.Link(t.Context(), store.LinkID(want)); err != nil || got != want {
				t.Errorf("%s: %.40q, want %.40q: %v", when, got, want, err)
			}
		}
		for _, id := range []string{"", "nosuch", "%", "' OR true --", "link/", "../version", "version", "\x00", strings.Repeat("x", 1<<16)} {
			if got, err := s.Link(t.Context(), id); err != nil || got != "" {
				t.Errorf("%s: the id %.20q has the address %q: %v", when, id, got, err)
			}
		}
	}
	check("after keeping", s)
	if err := l.s.Compact(t.Context()); err != nil {
		t.Fatal(err)
	}
	check("after Compact", s)
	l.reopen()
	check("after opening again", l.s.(store.LinkKeeper))
}
