package api

import (
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
)

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
