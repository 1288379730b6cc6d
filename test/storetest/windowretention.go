package storetest

import (
	"fmt"

	"github.com/dendroprof/dendro/continuous"
)

func testRetentionByBytes(l *windowLab) {
	for hour := range 50 {
		l.put(l.make.Window("shop", at(hour, 10, 0), nil, stack("main;work", int64(hour)+1), stack("main;idle", 3)))
	}
	l.rollUp(at(50, 0, 0), continuous.Policy{})
	bytes := l.stats().Bytes
	l.rollUp(at(50, 0, 0), continuous.Policy{Bytes: bytes})
	l.same("windows within the limit", l.stats().Windows, [3]int64{50, 50, 2})
	l.rollUp(at(50, 0, 0), continuous.Policy{Bytes: [3]int64{bytes[0] / 2, 0, 0}})
	stats := l.stats()
	if stats.Bytes[0] > bytes[0]/2 || stats.Windows[0] < 20 || stats.Windows[1] != 50 {
		l.t.Errorf("with a limit of %d bytes: %+v", bytes[0]/2, stats)
	}
	l.checkAll("raw limited", continuous.Query{})
	l.rollUp(at(50, 0, 0), continuous.Policy{Bytes: [3]int64{0, 1, 0}})
	l.same("windows", l.stats().Windows, [3]int64{2, 2, 2})
	l.checkAll("hours limited", continuous.Query{})
}

// testRetentionShares removes the windows of a service with more than its share before those of
// others. Every query has each window once, of that service and of all.
func testRetentionShares(l *windowLab) {
	for hour := range 60 {
		var list []*continuous.Window
		for n := range 8 {
			stacks := []Sample{stack("main;work", 2)}
			for k := range 5 {
				stacks = append(stacks, stack(fmt.Sprint("main;noise", 5*n+k), int64(hour)+1))
			}
			list = append(list, l.make.Window("noisy", at(hour, 5*n, 0), nil, stacks...))
		}
		l.put(append(list, l.make.Window("quiet", at(hour, 10, 0), nil, stack("main;work", int64(hour)+1)))...)
	}
	l.rollUp(at(60, 0, 0), continuous.Policy{})
	before := l.stats()
	raw := func(service string) (n int64) {
		for _, t := range l.totals(ofService(service), 0).Totals {
			if t.Level == continuous.Raw {
				n++
			}
		}
		return n
	}
	// policy leaves all but a quarter of a level's bytes.
	policy := func(level continuous.Level) continuous.Policy {
		p := continuous.Policy{Share: 40}
		p.Bytes[level] = before.Bytes[level] * 3 / 4
		return p
	}
	check := func(what string) {
		l.checkAll(what+": all", continuous.Query{})
		l.checkAll(what+": quiet", ofService("quiet"))
		l.checkAll(what+": noisy", ofService("noisy"))
		for _, service := range []string{"quiet", "noisy"} {
			q := ofService(service)
			q.From, q.Until = at(3, 0, 0), at(50, 0, 0)
			l.checkAll(what+": whole hours of "+service, q)
		}
		quiet := ofService("quiet")
		quiet.From, quiet.Until = at(3, 7, 0), at(3, 20, 0)
		l.checkAll(what+": a part of an hour of quiet", quiet)
	}
	l.rollUp(at(60, 0, 0), policy(continuous.Raw))
	stats := l.stats()
	l.same("raw windows of quiet", raw("quiet"), int64(60))
	if n := raw("noisy"); stats.Bytes[0] > before.Bytes[0]*3/4 || n < 200 || n > 400 {
		l.t.Errorf("%d of 480 raw windows of noisy, %d bytes of %d", n, stats.Bytes[0], before.Bytes[0])
	}
	check("raw shared")
	l.reopen()
	check("raw shared, reopened")
	l.same("again", l.rollUp(at(60, 0, 0), policy(continuous.Raw)), continuous.Rolled{})

	// A late window of what was removed is in the sums, once.
	l.put(l.make.Window("noisy", at(1, 50, 0), nil, stack("main;late", 9)))
	check("late")
	l.rollUp(at(60, 0, 0), policy(continuous.Raw))
	check("late, rolled up")

	l.rollUp(at(60, 0, 0), policy(continuous.Hour))
	if got := l.stats().Bytes[1]; got > before.Bytes[1]*3/4 || got == 0 {
		l.t.Errorf("%d bytes of hours of %d", got, before.Bytes[1])
	}
	quiet := ofService("quiet")
	quiet.From, quiet.Until = at(3, 7, 0), at(3, 20, 0)
	l.checkAll("hours shared: a part of an hour of quiet", quiet)
	for _, service := range []string{"quiet", "noisy"} {
		l.checkAll("hours shared: "+service, ofService(service))
	}
	// If all have their shares and more, the oldest of all are removed.
	p := continuous.Policy{Share: 40, Bytes: [3]int64{1, 0, 0}}
	l.rollUp(at(60, 0, 0), p)
	l.same("raw windows of quiet, without room", raw("quiet"), int64(0))
	l.checkAll("without room", continuous.Query{})
}

func ofService(name string) continuous.Query {
	return continuous.Query{Matchers: []continuous.Matcher{{Name: continuous.ServiceLabel, Op: continuous.Equal, Value: name}}}
}
