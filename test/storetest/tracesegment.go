package storetest

import (
	"bytes"
	"fmt"
	"math"
	"slices"

	"github.com/dendroprof/dendro/traceprof"
)

// segment is one with everything set.
func segment(id string, start, latency int64) traceprof.Segment {
	return traceprof.Segment{ID: id, Trace: "trace of " + id, Service: "s", Instance: "i", Endpoint: "/x", Operation: "GET:/x",
		Start: start, End: start + latency, Raw: []byte("raw of " + id)}
}

func testSegments(l *traceLab) {
	hostile := segment("a \x00';\nü", math.MinInt64, 0)
	hostile.End, hostile.Error, hostile.Raw = math.MaxInt64, true, []byte{0, 255, 254, 0}
	large := segment("large", 5, 1)
	large.Raw = bytes.Repeat([]byte("0123456789abcdef"), 1<<16)
	bare := traceprof.Segment{}
	list := []traceprof.Segment{large, bare, hostile}
	changed := segment("large", 9, 9)
	l.ok(l.s.PutSegments(l.ctx, large, changed, hostile))
	l.ok(l.s.PutSegments(l.ctx, bare, changed))
	l.reopen()
	l.ok(l.s.PutSegments(l.ctx, changed, bare, hostile))
	got, err := l.s.Segments(l.ctx, traceprof.SegmentQuery{})
	l.ok(err)
	l.same("segments", got, list)
	for i := range got {
		clear(got[i].Raw)
	}
	got, err = l.s.Segments(l.ctx, traceprof.SegmentQuery{IDs: []string{hostile.ID, "large", "none"}, NoRaw: true})
	l.ok(err)
	large.Raw, hostile.Raw = nil, nil
	l.same("segments without their raw bytes", got, []traceprof.Segment{large, hostile})
	got, err = l.s.Segments(l.ctx, traceprof.SegmentQuery{IDs: []string{"large"}})
	l.ok(err)
	if len(got) != 1 || len(got[0].Raw) != 1<<20 || got[0].Raw[1] != '1' {
		l.t.Error("the raw bytes of a large segment are others")
	}
}

func testSegmentQueries(l *traceLab) {
	var all []traceprof.Segment
	for i := range 60 {
		s := segment(fmt.Sprintf("%02d", (i*37)%60), int64(1000+10*(i%20)), int64(100+i%7))
		s.Trace = fmt.Sprint("t", i%9)
		s.Service, s.Instance = fmt.Sprint("s", i%2), fmt.Sprint("i", i%3)
		s.Endpoint, s.Operation = fmt.Sprint("/", i%4), fmt.Sprint("GET:/", i%5)
		s.Error = i%11 == 0
		all = append(all, s)
	}
	l.ok(l.s.PutSegments(l.ctx, all[:20]...))
	l.ok(l.s.PutSegments(l.ctx, all[20:]...))
	yes, no := true, false
	for _, q := range []traceprof.SegmentQuery{
		{}, {IDs: []string{"03", "59", "x"}}, {Traces: []string{"t3"}},
		{Traces: []string{"t3", "t8"}, IDs: []string{"03", "04", "05", "06", "07", "08"}},
		{Service: "s1"}, {Instance: "i2"}, {Endpoint: "/3"}, {Operation: "GET:/4"}, {Service: "s0", Endpoint: "/2", Failed: &no},
		{From: 1100}, {To: 1100}, {From: 1050, To: 1060}, {Shortest: 104}, {Longest: 101}, {Shortest: 102, Longest: 103, BySlowest: true},
		{Failed: &yes}, {Failed: &no, Limit: 5}, {BySlowest: true}, {BySlowest: true, Offset: 3, Limit: 8}, {Offset: 58}, {Offset: 99},
		{Limit: 3}, {Service: "s9"},
		{IDs: numbers2(60)}, {NoRaw: true, Limit: 60},
	} {
		got, err := l.s.Segments(l.ctx, q)
		l.ok(err)
		l.same(fmt.Sprintf("%+v", q), got, q.Filter(slices.Clone(all)))
	}
}

// numbers2 lists the numbers below n with two digits.
func numbers2(n int) (list []string) {
	for i := range n {
		list = append(list, fmt.Sprintf("%02d", i))
	}
	return list
}

func testEndpoints(l *traceLab) {
	at := func(id, service, endpoint string, start, latency int64) traceprof.Segment {
		s := segment(id, start, latency)
		s.Service, s.Endpoint = service, endpoint
		return s
	}
	l.ok(l.s.PutSegments(l.ctx, at("1", "s", "/Cart", 10, 5), at("2", "s", "/cart/é_%", 20, 7), at("3", "s", "/Cart", 30, 2),
		at("4", "r", "/Cart", 40, 9), at("5", "s", "/user", 50, -4)))
	l.ok(l.s.PutSegments(l.ctx, at("1", "s", "/Cart", 99, 99)))
	cart := traceprof.Endpoint{Service: "s", Name: "/Cart", Segments: 2, Slowest: 5, LastSeen: 30}
	accent := traceprof.Endpoint{Service: "s", Name: "/cart/é_%", Segments: 1, Slowest: 7, LastSeen: 20}
	user := traceprof.Endpoint{Service: "s", Name: "/user", Segments: 1, Slowest: -4, LastSeen: 50}
	for _, c := range []struct {
		service, keyword string
		limit            int
		want             []traceprof.Endpoint
	}{
		{"s", "", 0, []traceprof.Endpoint{cart, accent, user}},
		{"s", "", 2, []traceprof.Endpoint{cart, accent}},
		{"s", "CART", 0, []traceprof.Endpoint{cart, accent}},
		{"s", "É", 0, []traceprof.Endpoint{accent}},
		{"s", "_", 1, []traceprof.Endpoint{accent}},
		{"s", "c%t", 0, nil},
		{"", "", 0, nil},
	} {
		got, err := l.s.Endpoints(l.ctx, c.service, c.keyword, c.limit)
		l.ok(err)
		l.same(fmt.Sprint(c.service, " ", c.keyword, c.limit), got, c.want)
	}
}
