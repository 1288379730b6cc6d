package api

import (
	"encoding/json"
	"errors"
	"math"
	"net/http"
	"strconv"
	"strings"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/format"
	"github.com/dendroprof/dendro/traceprof"
	tracearchive "github.com/dendroprof/dendro/traceprof/archive"
	"github.com/dendroprof/dendro/traceprof/excerpt"
	"github.com/dendroprof/dendro/traceprof/spans"
)

// tracesFor returns the store of traces once the parameters are known to be right.
func (a *api) tracesFor(p *params) (traceprof.Store, error) {
	if err := p.finish(); err != nil {
		return nil, err
	}
	return a.traces()
}

// millis returns an instant in ms since 1970, 0 without the parameter.
func (p *params) millis(name string) int64 {
	if t := p.date(name); !t.IsZero() {
		return t.UnixMilli()
	}
	return 0
}

// writeStatus answers with a value and a status of its own.
func writeStatus(w http.ResponseWriter, status int, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(append(data, '\n')) // the client may have gone: the log says so
	return nil
}

// writeList answers with rows.
func writeList[T, R any](w http.ResponseWriter, list []T, row func(T) R) error {
	d := newDocument(w)
	d.list("rows", len(list), func(i int) any { return row(list[i]) })
	d.close()
	return nil
}

// serviceAnswer is a service with how many instances it has.
type serviceAnswer struct {
	Service   string `json:"service"`
	Instances int    `json:"instances"`
	LastSeen  int64  `json:"lastSeen"`
}

// services lists the services whose instances reported.
func (a *api) services(w http.ResponseWriter, r *http.Request) error {
	p := paramsOf(r)
	since := p.millis("since")
	st, err := a.tracesFor(p)
	if err != nil {
		return err
	}
	list, err := st.Instances(r.Context(), "", since)
	if err != nil {
		return err
	}
	var services []serviceAnswer
	for _, i := range list { // by service
		if n := len(services); n == 0 || services[n-1].Service != i.Service {
			services = append(services, serviceAnswer{Service: i.Service})
		}
		s := &services[len(services)-1]
		s.Instances++
		s.LastSeen = max(s.LastSeen, i.LastSeen)
	}
	return writeList(w, services, func(s serviceAnswer) serviceAnswer { return s })
}

// instances lists instances.
func (a *api) instances(w http.ResponseWriter, r *http.Request) error {
	p := paramsOf(r)
	service, since := p.text("service", ""), p.millis("since")
	st, err := a.tracesFor(p)
	if err != nil {
		return err
	}
	list, err := st.Instances(r.Context(), service, since)
	if err != nil {
		return err
	}
	return writeList(w, list, func(i traceprof.Instance) traceprof.Instance { return i })
}

// endpoints lists the endpoints of a service.
func (a *api) endpoints(w http.ResponseWriter, r *http.Request) error {
	p := paramsOf(r)
	service, keyword, rows := p.text("service", ""), p.text("keyword", ""), p.whole("rows", 1000, 0)
	if service == "" {
		p.fail("service is missing: endpoints are of one")
	}
	st, err := a.tracesFor(p)
	if err != nil {
		return err
	}
	list, err := st.Endpoints(r.Context(), service, keyword, rows)
	if err != nil {
		return err
	}
	return writeList(w, list, func(e traceprof.Endpoint) traceprof.Endpoint { return e })
}

// segmentAnswer is a segment as it is listed; with its spans if it is asked for
// alone.
type segmentAnswer struct {
	traceprof.Segment
	Latency int64        `json:"latency"` // ms
	Spans   []spans.Span `json:"spans,omitempty"`
}

func segmentOf(s traceprof.Segment) segmentAnswer {
	s.Raw = nil
	return segmentAnswer{Segment: s, Latency: s.Latency()}
}

// segments lists segments, newest first.
func (a *api) segments(w http.ResponseWriter, r *http.Request) error {
	p := paramsOf(r)
	q := traceprof.SegmentQuery{IDs: p.texts("segment"), Traces: p.texts("trace"), Service: p.text("service", ""), Instance: p.text("instance", ""),
		Endpoint: p.text("endpoint", ""), From: p.millis("since"), To: p.millis("until"),
		Shortest: int64(p.whole("shortest", 0, 0)), Longest: int64(p.whole("longest", 0, 0)),
		BySlowest: p.choice("sort", "start", "latency") == "latency", NoRaw: true, Offset: p.whole("offset", 0, 0), Limit: p.whole("rows", 1000, 1)}
	if _, given := p.values["failed"]; given {
		failed := p.flag("failed")
		q.Failed = &failed
	}
	p.read["failed"] = true
	st, err := a.tracesFor(p)
	if err != nil {
		return err
	}
	list, err := st.Segments(r.Context(), q)
	if err != nil {
		return err
	}
	return writeList(w, list, segmentOf)
}

// segment answers about one segment, with its spans.
func (a *api) segment(w http.ResponseWriter, r *http.Request) error {
	st, err := a.tracesFor(paramsOf(r))
	if err != nil {
		return err
	}
	list, err := st.Segments(r.Context(), traceprof.SegmentQuery{IDs: []string{r.PathValue("segment")}})
	if err != nil {
		return err
	}
	if len(list) == 0 {
		return notSampledError{"there is no segment " + strconv.Quote(r.PathValue("segment"))}
	}
	answer := segmentOf(list[0])
	if answer.Spans, err = spans.Of(list[0].Raw); err != nil {
		return err
	}
	return writeJSON(w, answer)
}

// excerpt reads which part of the sampled time is meant.
func (p *params) excerpt() *excerpt.Choice {
	c := &excerpt.Choice{Task: p.text("task", ""), Trace: p.text("trace", ""), Segments: p.texts("segment"), Own: p.flag("own")}
	if text := p.text("span", ""); text != "" {
		n, err := strconv.ParseInt(text, 10, 32)
		if err != nil {
			p.fail("span is %.60q; it is a span's number", text)
		}
		id := int32(n)
		c.Span = &id
	}
	from, to := p.text("from", ""), p.text("to", "")
	if from == "" && to == "" {
		return c
	}
	c.Part = &excerpt.Part{To: math.MaxInt32}
	for _, end := range []struct {
		name, text string
		to         *int64
	}{{"from", from, &c.Part.From}, {"to", to, &c.Part.To}} {
		if end.text == "" {
			continue
		}
		n, err := strconv.ParseInt(end.text, 10, 32)
		if err != nil {
			p.fail("%s is %.60q; it is in ms since the start of the segment", end.name, end.text)
		}
		*end.to = n
	}
	return c
}

// notSampledError is a part of the sampled time that is not there.
type notSampledError struct{ what string }

func (e notSampledError) Error() string { return e.what }

// choiceMistake makes a choice that cannot be the caller's mistake.
func choiceMistake(err error) error {
	if errors.Is(err, excerpt.ErrChoice) {
		return mistake{err}
	}
	if errors.Is(err, excerpt.ErrNothing) || errors.Is(err, tracearchive.ErrNotProfiled) {
		return notSampledError{err.Error()}
	}
	return err
}

// analysis merges snapshots into trees, in columns.
func (a *api) analysis(w http.ResponseWriter, r *http.Request) error {
	p := paramsOf(r)
	c, limit := p.excerpt(), p.whole("limit", traceprof.DefaultLimit, 1)
	st, err := a.tracesFor(p)
	if err != nil {
		return err
	}
	ranges, err := c.Ranges(r.Context(), st)
	if err != nil {
		return choiceMistake(err)
	}
	result, err := traceprof.Analyze(r.Context(), st, ranges, traceprof.AnalyzeOptions{Limit: limit})
	if err != nil {
		return err
	}
	writeAnalysis(w, result)
	return nil
}

func writeAnalysis(w http.ResponseWriter, result *traceprof.Analysis) {
	var used []int32
	number := make([]int64, len(result.Functions))
	columns := func(d *document, t *traceprof.StackTree) {
		n := t.Len()
		d.numbers("parent", n, func(i int) int64 { return int64(t.Parent[i]) - 1 })
		d.numbers("signature", n, func(i int) int64 {
			fn := t.Function[i]
			if number[fn] == 0 {
				used = append(used, fn)
				number[fn] = int64(len(used))
			}
			return number[fn] - 1
		})
		d.numbers("duration", n, func(i int) int64 { return int64(t.Duration[i]) })
		d.numbers("self", n, func(i int) int64 { return int64(t.Self[i]) })
		d.numbers("count", n, func(i int) int64 { return int64(t.Count[i]) })
	}
	d := newDocument(w)
	d.member("tip", result.Tip)
	d.member("found", result.Found)
	d.member("snapshots", result.Snapshots)
	d.name("trees")
	d.w.WriteByte('[')
	for i := range result.Trees {
		if i > 0 {
			d.w.WriteByte(',')
		}
		d.w.WriteByte('{')
		outer := d.n
		d.n = 0
		columns(d, &result.Trees[i])
		d.n = outer
		d.w.WriteByte('}')
	}
	d.w.WriteByte(']')
	d.list("signatures", len(used), func(i int) any { return result.Functions[used[i]].Name })
	d.close()
}

// traceProfile writes snapshots as a profile with times.
func (a *api) traceProfile(w http.ResponseWriter, r *http.Request) error {
	p := paramsOf(r)
	c, name := p.excerpt(), p.text("format", "firefox")
	f, err := format.Lookup(name)
	var packed format.Compression
	if err == nil {
		_, packed, err = format.Target("trace"+f.Extensions[0], name)
	}
	switch {
	case err != nil:
		p.fail("%w", err)
	case f.Encode == nil:
		p.fail("%s is read, not written", f.Title)
	}
	st, err := a.tracesFor(p)
	if err != nil {
		return err
	}
	timed, err := c.Timed(r.Context(), st)
	if err != nil {
		return choiceMistake(err)
	}
	h := w.Header()
	h.Set("Content-Type", "application/octet-stream")
	h.Set("Content-Disposition", "attachment; filename="+strconv.Quote("trace"+f.Extensions[0]))
	brokenOff(format.Write(w, timed, -1, f, packed))
	return nil
}

// traceArchive writes a trace as SkyWalking's exporter does.
func (a *api) traceArchive(w http.ResponseWriter, r *http.Request) error {
	p := paramsOf(r)
	trace := p.text("trace", "")
	if trace == "" {
		p.fail("trace is missing: an archive holds one")
	}
	st, err := a.tracesFor(p)
	if err != nil {
		return err
	}
	all, err := tracearchive.Collect(r.Context(), st, r.PathValue("task"), trace)
	if err != nil {
		return choiceMistake(err)
	}
	h := w.Header()
	h.Set("Content-Type", "application/gzip")
	h.Set("Content-Disposition", "attachment; filename="+strconv.Quote(fileName(trace)+".tar.gz"))
	brokenOff(tracearchive.Write(w, all))
	return nil
}

// fileName makes an id the name of a file.
func fileName(id string) string {
	return strings.Map(func(r rune) rune {
		if r == '.' || r == '-' || r == '_' || r == '@' || '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' {
			return r
		}
		return '_'
	}, id)
}

// snapshotAnswer is one snapshot with its stack, outermost frame first.
type snapshotAnswer struct {
	Task     string   `json:"task"`
	Segment  string   `json:"segment"`
	Sequence int32    `json:"sequence"`
	Time     int64    `json:"time"`
	Stack    []string `json:"stack"`
}

// snapshots streams snapshots one by one.
func (a *api) snapshots(w http.ResponseWriter, r *http.Request) error {
	p := paramsOf(r)
	q := traceprof.SnapshotQuery{Tasks: p.texts("task"), Segments: p.texts("segment")}
	if len(q.Tasks)+len(q.Segments) == 0 {
		p.fail("neither a task nor a segment is given")
	}
	st, err := a.tracesFor(p)
	if err != nil {
		return err
	}
	d := newDocument(w)
	d.name("rows")
	d.w.WriteByte('[')
	n := 0
	for s, err := range st.Snapshots(r.Context(), q) {
		brokenOff(err)
		for i, path := range s.Path {
			if n++; n > 1 {
				d.w.WriteByte(',')
			}
			stack := []string{}
			if path != calltree.NoNode {
				stack = s.Stacks.Names(path)
			}
			brokenOff(d.value(snapshotAnswer{s.Task, s.Segment, s.Sequence[i], s.Time[i], stack}))
		}
	}
	d.w.WriteByte(']')
	d.close()
	return nil
}
