package storetest

import (
	"strings"
	"time"

	"github.com/dendroprof/dendro/store"
	"github.com/google/go-cmp/cmp"
)

// testAccepted: one acceptance per finding, which nothing but Withdraw removes; of a list all or none.
func testAccepted(l *lab) {
	t := l.t
	s, ok := l.s.(store.Accepter)
	if !ok {
		t.Logf("the engine keeps no accepted changes")
		return
	}
	at := time.Date(2026, 11, 26, 1, 2, 3, 4567, time.FixedZone("", 3600))
	first := store.Acceptance{Finding: "b", Benchmark: "g/b", By: "Ada", At: at, Until: at.AddDate(0, 1, 0), UpTo: 0.25,
		Reason: `a 'reason' with "quotes" and ünicode`}
	steps := []error{s.Accept(t.Context(), store.Acceptance{Finding: "b", Reason: "replaced", At: at}),
		s.Accept(t.Context(), first, store.Acceptance{Finding: "a", Reason: "twice", At: at}, store.Acceptance{Finding: "c", At: at},
			store.Acceptance{Finding: "a", At: at}),
		s.Accept(t.Context(), store.Acceptance{Finding: "d", At: at}), s.Withdraw(t.Context(), "c", "never accepted", "d"),
		s.Accept(t.Context()), s.Withdraw(t.Context())}
	for i, err := range steps {
		if err != nil {
			t.Fatalf("step %d: %v", i, err)
		}
	}
	first.At, first.Until = first.At.UTC().Truncate(time.Microsecond), first.Until.UTC().Truncate(time.Microsecond)
	want := []store.Acceptance{{Finding: "a", At: first.At}, first}
	check := func(when string, s store.Accepter) {
		t.Helper()
		got, err := s.Accepted(t.Context())
		if err != nil || cmp.Diff(want, got) != "" {
			t.Fatalf("%s: %v\n%s", when, err, cmp.Diff(want, got))
		}
	}
	check("after changes", s)
	for _, a := range []store.Acceptance{{}, {Finding: "x", UpTo: 2}, {Finding: "x", UpTo: -1}, {Finding: "\xff"},
		{Finding: strings.Repeat("x", 5000)}} {
		if err := s.Accept(t.Context(), store.Acceptance{Finding: "beside", At: at}, a); err == nil {
			t.Errorf("accepted %.40q up to %g", a.Finding, a.UpTo)
		}
	}
	check("after a list with one that is refused", s)
	if err := l.s.Compact(t.Context()); err != nil {
		t.Fatal(err)
	}
	check("after Compact", s)
	l.reopen()
	check("after opening again", l.s.(store.Accepter))
}
