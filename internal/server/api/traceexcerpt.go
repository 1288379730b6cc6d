package api

import (
	"errors"
	"math"
	"net/http"
	"strconv"
	"strings"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/internal/excerpt"
	"github.com/dendroprof/dendro/report"
	"github.com/dendroprof/dendro/traceprof"
	tracearchive "github.com/dendroprof/dendro/traceprof/archive"
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

// choiceMistake makes a choice that cannot be the caller's mistake.
func choiceMistake(err error) error {
	if errors.Is(err, excerpt.ErrChoice) {
		return mistake(err)
	}
	if errors.Is(err, excerpt.ErrNothing) || errors.Is(err, tracearchive.ErrNotProfiled) {
		return notSampled(err)
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

// stackTreeAnswer is a tree of snapshots in columns.
type stackTreeAnswer struct {
	Parent    []int32 `json:"parent"`
	Signature []int32 `json:"signature"`
	Duration  []int32 `json:"duration"`
	Self      []int32 `json:"self"`
	Count     []int32 `json:"count"`
}

func writeAnalysis(w http.ResponseWriter, result *traceprof.Analysis) {
	var used []int32
	number := make([]int32, len(result.Functions)) // in the answer, plus one
	tree := func(t *traceprof.StackTree) stackTreeAnswer {
		a := stackTreeAnswer{make([]int32, t.Len()), make([]int32, t.Len()), report.Filled(t.Duration), report.Filled(t.Self), report.Filled(t.Count)}
		for i, fn := range t.Function {
			if number[fn] == 0 {
				used = append(used, fn)
				number[fn] = int32(len(used))
			}
			a.Parent[i], a.Signature[i] = t.Parent[i]-1, number[fn]-1
		}
		return a
	}
	d := newDocument(w)
	d.member("tip", result.Tip)
	d.member("found", result.Found)
	d.member("snapshots", result.Snapshots)
	d.list("trees", len(result.Trees), func(i int) any { return tree(&result.Trees[i]) })
	d.list("signatures", len(used), func(i int) any { return result.Functions[used[i]].Name })
	d.close()
}

// traceProfile writes snapshots as a profile with times.
func (a *api) traceProfile(w http.ResponseWriter, r *http.Request) error {
	p := paramsOf(r)
	c, file := p.excerpt(), p.file("trace", "firefox")
	st, err := a.tracesFor(p)
	if err != nil {
		return err
	}
	timed, err := c.Timed(r.Context(), st)
	if err != nil {
		return choiceMistake(err)
	}
	file.write(w, timed, -1)
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
	attach(w, "application/gzip", fileName(trace)+".tar.gz")
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
	d.stream("rows", func(yield func(any) bool) {
		for s, err := range st.Snapshots(r.Context(), q) {
			brokenOff(err)
			for i, path := range s.Path {
				stack := []string{}
				if path != calltree.NoNode {
					stack = s.Stacks.Names(path)
				}
				if !yield(snapshotAnswer{s.Task, s.Segment, s.Sequence[i], s.Time[i], stack}) {
					return
				}
			}
		}
	})
	d.close()
	return nil
}
