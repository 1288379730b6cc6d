package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/dendroprof/dendro/continuous"
	"github.com/dendroprof/dendro/store"
)

// lineStore returns the store of a lab as one of lines.
func (l *windowLab) lineStore() continuous.LineStore {
	l.t.Helper()
	s, ok := store.As[continuous.LineStore](l.s)
	if !ok {
		l.t.Fatal("the engine keeps windows, and no lines")
	}
	return s
}

// linesOf returns a profile of a service and version on a day of the suite.
func linesOf(service, version string, day int, profile string) *continuous.Lines {
	l := &continuous.Lines{Series: continuous.Series{Service: service, Type: CPUWindows}, Day: day0.AddDate(0, 0, day),
		Windows: int64(len(profile)), Covered: 15 * time.Second, Profile: []byte(profile)}
	if version != "" {
		l.Series.Labels = continuous.Labels{{Name: "version", Value: version}}
	}
	return l
}

// lineNames returns the profiles of a selection as texts.
func (l *windowLab) lineNames(q continuous.Query) (names []string) {
	l.t.Helper()
	list, err := l.lineStore().Lines(l.ctx, q)
	l.ok(err)
	for i := range list {
		one := &list[i]
		names = append(names, fmt.Sprintf("%s %s %s %d=%s", one.Series.Service, one.Series.Type.SampleType, one.Series.Labels.Get("version"),
			int(one.Day.Sub(day0)/(24*time.Hour)), one.Profile))
	}
	return names
}

func testLines(l *windowLab) {
	s, none := l.lineStore(), continuous.LineRoom{}
	if names := l.lineNames(continuous.Query{}); names != nil {
		l.t.Errorf("a new store has %q", names)
	}
	heap := linesOf("shop", "1", 1, "heap")
	heap.Series.Type = HeapWindows
	hostile := linesOf("a'); DROP TABLE fn; --", "\"x\n", 1, "\x00\xff'")
	put := func(list ...*continuous.Lines) {
		l.t.Helper()
		l.ok(s.PutLines(l.ctx, list, none))
	}
	put()
	put(linesOf("shop", "2", 1, "b"), linesOf("shop", "", 1, "bare"), linesOf("shop", "1", 1, "old"), linesOf("cart", "1", 0, "c"),
		heap, hostile, linesOf("shop", "1", 2, "later"))
	put(linesOf("shop", "1", 1, "first"), linesOf("shop", "1", 1, "a")) // in place of "old"
	of := func(op continuous.MatchOp, name, value string) []continuous.Matcher {
		return []continuous.Matcher{{Name: name, Op: op, Value: value}}
	}
	cart, a, b, bare := "cart cpu 1 0=c", "shop cpu 1 1=a", "shop cpu 2 1=b", "shop cpu  1=bare"
	heapName, later, odd := "shop inuse_space 1 1=heap", "shop cpu 1 2=later", "a'); DROP TABLE fn; -- cpu \"x\n 1=\x00\xff'"
	for range 2 {
		for _, test := range []struct {
			q    continuous.Query
			want []string
		}{
			{continuous.Query{}, []string{cart, odd, heapName, bare, a, b, later}},
			{continuous.Query{Type: HeapWindows}, []string{heapName}},
			{continuous.Query{Type: CPUWindows, Matchers: of(continuous.Equal, "service_name", "shop")}, []string{bare, a, b, later}},
			{continuous.Query{Type: CPUWindows, Matchers: of(continuous.Matches, "version", "[12]")}, []string{cart, a, b, later}},
			{continuous.Query{Type: CPUWindows, Matchers: of(continuous.Equal, "version", "")}, []string{bare}},
			{continuous.Query{Until: at(24, 0, 0)}, []string{cart}},
			{continuous.Query{From: at(47, 59, 59), Until: at(48, 0, 0).Add(1)}, []string{odd, heapName, bare, a, b, later}},
			{continuous.Query{From: at(48, 0, 0)}, []string{later}},
			{continuous.Query{From: at(72, 0, 0)}, nil},
		} {
			if got := l.lineNames(test.q); !slices.Equal(got, test.want) {
				l.t.Errorf("%+v:\n%q, not\n%q", test.q, got, test.want)
			}
		}
		l.compact()
		l.reopen()
		s = l.lineStore()
	}
	list, err := s.Lines(l.ctx, continuous.Query{Type: HeapWindows})
	if err != nil || len(list) != 1 {
		l.t.Fatalf("%+v, %v", list, err)
	}
	l.same("lines", list[0], *heap)
	clear(list[0].Profile) // it is the caller's
	l.same("again", l.lineNames(continuous.Query{Type: HeapWindows}), []string{heapName})

	bad := linesOf("shop", "1", 1, "x")
	bad.Day = bad.Day.Add(time.Hour)
	two := linesOf("shop", "1", 1, "x")
	two.Series.Labels = append(two.Series.Labels, continuous.Label{Name: "x", Value: "y"})
	for _, wrong := range []*continuous.Lines{bad, two, linesOf("", "", 1, "x"), linesOf("shop", "", 1, "")} {
		if err := s.PutLines(l.ctx, []*continuous.Lines{linesOf("other", "", 1, "x"), wrong}, none); err == nil {
			l.t.Errorf("%+v was stored", wrong)
		}
	}
	ended, end := context.WithCancel(l.ctx)
	end()
	if _, err := s.Lines(ended, continuous.Query{}); !errors.Is(err, context.Canceled) {
		l.t.Errorf("an ended context: %v", err)
	}
	if err := s.PutLines(ended, []*continuous.Lines{linesOf("other", "", 1, "x")}, none); !errors.Is(err, context.Canceled) {
		l.t.Errorf("an ended context: %v", err)
	}
	if got := l.lineNames(continuous.Query{Matchers: of(continuous.Equal, "service_name", "other")}); got != nil {
		l.t.Errorf("a failed call stored %q", got)
	}
}

// testLineRoom: the oldest days go first, and one service cannot take everybody's room.
func testLineRoom(l *windowLab) {
	s := l.lineStore()
	text := func(n int) string { return strings.Repeat("x", n) }
	room := continuous.LineRoom{Bytes: 100, Share: 60}
	l.ok(s.PutLines(l.ctx, []*continuous.Lines{linesOf("shop", "1", 0, text(30)), linesOf("cart", "1", 0, text(31))}, room))
	l.ok(s.PutLines(l.ctx, []*continuous.Lines{linesOf("shop", "1", 1, text(32)), linesOf("shop", "2", 1, text(33))}, room))
	sizes := func() (out []string) {
		for _, name := range l.lineNames(continuous.Query{}) {
			name, profile, _ := strings.Cut(name, "=")
			out = append(out, fmt.Sprint(name, "=", len(profile)))
		}
		return out
	}
	// Of the service's 60 bytes the version with the most windows has 33; 32 more are too many.
	l.same("a share", sizes(), []string{"cart cpu 1 0=31", "shop cpu 2 1=33"})
	l.ok(s.PutLines(l.ctx, []*continuous.Lines{linesOf("api", "1", 2, text(40))}, room))
	l.same("the oldest", sizes(), []string{"shop cpu 2 1=33", "api cpu 1 2=40"})
	l.ok(s.PutLines(l.ctx, []*continuous.Lines{linesOf("api", "1", 3, text(101))}, room))
	l.same("too large", sizes(), []string{"shop cpu 2 1=33"})
}
