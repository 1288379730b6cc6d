package api

import (
	"fmt"
	"net/http"

	"github.com/dendroprof/dendro/internal/spans"
	"github.com/dendroprof/dendro/traceprof"
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
		return notSampled(fmt.Errorf("there is no segment %q", r.PathValue("segment")))
	}
	answer := segmentOf(list[0])
	if answer.Spans, err = spans.Of(list[0].Raw); err != nil {
		return err
	}
	return writeJSON(w, answer)
}
