package normalize_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/dendroprof/dendro/normalize"
)

func TestThreadName(t *testing.T) {
	for _, c := range []struct{ raw, want string }{
		{"main", "main"},
		{"pricing-1", "pricing-*"},
		{"pool-2-thread-17", "pool-*-thread-*"},
		{"GC Thread#3", "GC Thread#*"},
		{"http-nio-8080-exec-10", "http-nio-*-exec-*"},
		{"[pool-2-thread-17 tid=4711]", "pool-*-thread-*"},
		{`[alloc worker; "quoted" tid=7173]`, `alloc worker; "quoted"`},
		{"[C2 CompilerThre tid=7116]", "C* CompilerThre"},
		{"[C2 CompilerThre]", "C* CompilerThre"},
		{"[tid=123]", ""},
		{"worker tid=123", "worker"},
		{"worker-tid=123", "worker-tid=*"},
		{"thread (12949): idle-wait; x", "idle-wait; x"},
		{"thread (12949)", ""},
		{"thread (pool)", "thread (pool)"},
		{"db writer-4711/4712", "db writer"},
		{"a/b", "a/b"},
		{"kworker/0", "kworker/*"}, // a processor, not an id
		{"kworker/0:1-events", "kworker/*:*-events"},
		{"reactor 0x7f12ab34cd56", "reactor *"},
		{"0xyz", "*xyz"},
		{"  padded  ", "padded"},
		{"нить-12", "нить-*"},
		{"", ""},
	} {
		if got := normalize.ThreadName(c.raw); got != c.want {
			t.Errorf("%q: %q, want %q", c.raw, got, c.want)
		}
	}
}

func TestThreadNamesHaveNoDigits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		raw := rapid.StringMatching(`(\[|thread \()?[a-z0-9x/ -]{0,12}( tid=[0-9]+\]|\)|: )?[a-z/0-9-]{0,5}`).Draw(t, "name")
		name := normalize.ThreadName(raw)
		for _, c := range name {
			if '0' <= c && c <= '9' {
				t.Fatalf("%q: %q", raw, name)
			}
		}
	})
}
