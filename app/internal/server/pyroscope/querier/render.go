package querier

import (
	"cmp"
	"context"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/dendroprof/dendro/app/internal/server"
	"github.com/dendroprof/dendro/app/internal/server/connect"
	"github.com/dendroprof/dendro/app/internal/server/pyroscope"
	"github.com/dendroprof/dendro/continuous"
	"github.com/dendroprof/dendro/internal/cost"
)

// flamebearer is the JSON document of a flame graph, alone or of two sides.
type flamebearer struct {
	Version     int                  `json:"version"`
	Flamebearer bars                 `json:"flamebearer"`
	Metadata    metadata             `json:"metadata"`
	Timeline    *timeline            `json:"timeline"`
	Groups      map[string]*timeline `json:"groups"`
	Heatmap     *struct{}            `json:"heatmap"`
	LeftTicks   int64                `json:"leftTicks,omitempty"`
	RightTicks  int64                `json:"rightTicks,omitempty"`
}

type bars struct {
	Names    []string  `json:"names"`
	Levels   [][]int64 `json:"levels"`
	NumTicks int64     `json:"numTicks"`
	MaxSelf  int64     `json:"maxSelf"`
}

type metadata struct {
	Format     string `json:"format"` // single or double
	SpyName    string `json:"spyName"`
	SampleRate int64  `json:"sampleRate"`
	Units      string `json:"units"`
	Name       string `json:"name"`
}

// timeline has a value for every step, 0 where there is no data.
type timeline struct {
	StartTime     int64     `json:"startTime"` // seconds
	Samples       []int64   `json:"samples"`
	DurationDelta int64     `json:"durationDelta"` // seconds
	Watermarks    *struct{} `json:"watermarks"`
}

// document returns a flame graph, or nil for none, of a type.
func document(g *flameGraph, t continuous.Type, format string) *flamebearer {
	d := &flamebearer{Version: 1, Flamebearer: bars{Names: []string{}, Levels: [][]int64{}},
		Metadata: metadata{Format: format, SampleRate: 100, Units: t.SampleUnit, Name: t.SampleType}}
	switch t.SampleType {
	case "inuse_objects", "alloc_objects", "goroutine", "samples":
		d.Metadata.Units = "objects"
	case "cpu":
		d.Metadata.Units, d.Metadata.SampleRate = "samples", 1_000_000_000
	}
	if g == nil {
		return d
	}
	d.Flamebearer = bars{g.Names, nil, g.Total, g.MaxSelf}
	for _, l := range g.Levels {
		d.Flamebearer.Levels = append(d.Flamebearer.Levels, l.Values)
	}
	d.LeftTicks, d.RightTicks = g.Left, g.Right
	return d
}

// parameters reads the type, the selector and the time of a request; name returns how one
// of query, from and until is called.
func (q *Querier) parameters(v url.Values, name func(string) string) (*treeRequest, error) {
	typ, selector, err := splitQuery(v.Get(name("query")))
	if err != nil {
		return nil, err
	}
	if typ == "" {
		return nil, invalid("%s: expected TYPE{selector}, such as process_cpu:cpu:nanoseconds:cpu:nanoseconds{service_name=\"checkout\"}", name("query"))
	}
	now := q.now()
	var at [2]int64
	for i, side := range []string{"from", "until"} {
		at[i] = pyroscope.ParseTime(v.Get(name(side)), now).UnixMilli()
	}
	if at[0] > at[1] { // 0 alone would not limit
		return nil, invalid("%s is before %s", name("until"), name("from"))
	}
	r := &treeRequest{}
	for _, name := range []string{"max-nodes", "maxNodes"} {
		if n, err := strconv.ParseInt(v.Get(name), 10, 64); err == nil && n > 0 && n <= maxNodes {
			r.nodes = n
		}
	}
	r.query, err = selection(typ, []string{selector}, at[0], at[1])
	return r, err
}

func (q *Querier) render(w http.ResponseWriter, r *http.Request) {
	q.answerPage(w, r, func(ctx context.Context, v url.Values) (any, error) {
		request, err := q.parameters(v, func(name string) string { return name })
		if err != nil {
			return nil, err
		}
		m, err := q.merge(ctx, request)
		if err != nil {
			return nil, err
		}
		if v.Get("format") == "dot" {
			if m.tree.RootTotal() == 0 {
				return "", nil
			}
			return dotGraph(m.tree, cmp.Or(request.nodes, dotNodes)), nil
		}
		g, err := m.flame(ctx)
		if err != nil {
			return nil, err
		}
		d := document(g, m.typ, "single")
		return d, q.addTimelines(ctx, d, m, request.query, v)
	})
}

// addTimelines adds the series of the selection, and of the values of a label. Without a time
// they begin with the first window of the tree, and end now.
func (q *Querier) addTimelines(ctx context.Context, d *flamebearer, m *merged, selected continuous.Query, v url.Values) error {
	if selected.Until.IsZero() {
		selected.Until = q.now()
	}
	open := selected.From.IsZero()
	if open {
		if selected.From = m.start; m.start.IsZero() { // no window
			selected.From = selected.Until
		}
	}
	step := timelineStep(selected.Until.Sub(selected.From))
	// A window belongs to the step that it starts in, so the last step may begin at the end.
	c := &continuous.Chart{Step: step, Start: selected.From.Truncate(step), Mean: v.Get("aggregation") == "avg", Open: open}
	c.End = selected.Until.Add(step - 2*time.Millisecond).Truncate(step)
	query := c.Query(selected)
	query.Until = selected.Until
	totals, err := q.store.Totals(ctx, query, step)
	if err != nil {
		return err
	}
	count := int(c.End.Sub(c.Start)/step) + 1
	whole := continuous.Line{}
	for _, l := range c.Lines(totals) {
		whole = l
	}
	d.Timeline = newTimeline(c, whole, count)
	by := v.Get("groupBy")
	if by == "" {
		return nil
	}
	c.By = []string{by}
	d.Groups = map[string]*timeline{}
	lines := c.Lines(totals)
	if err := cost.Of(ctx).Spend(cost.Memory, int64(len(lines))*int64(count)*16); err != nil {
		return err
	}
	for _, l := range lines {
		key := "*"
		if len(l.Labels) > 0 {
			key = l.Labels[0].Value
		}
		d.Groups[key] = newTimeline(c, l, count)
	}
	return nil
}

func newTimeline(c *continuous.Chart, l continuous.Line, count int) *timeline {
	t := &timeline{StartTime: c.Start.Unix(), DurationDelta: int64(c.Step / time.Second), Samples: make([]int64, count)}
	for _, p := range l.Points {
		if i := int(p.Time.Sub(c.Start) / c.Step); i < count {
			t.Samples[i] = int64(p.Value)
		}
	}
	return t
}

// timelineSteps are the steps of a timeline, with the longest range ÷ 1,500 that each is for.
var timelineSteps = []struct{ upTo, step time.Duration }{
	{17500 * time.Millisecond, 15 * time.Second}, {25 * time.Second, 20 * time.Second}, {45 * time.Second, 30 * time.Second},
	{90 * time.Second, time.Minute}, {210 * time.Second, 2 * time.Minute}, {450 * time.Second, 5 * time.Minute},
	{750 * time.Second, 10 * time.Minute}, {1050 * time.Second, 15 * time.Minute}, {25 * time.Minute, 20 * time.Minute},
	{45 * time.Minute, 30 * time.Minute}, {90 * time.Minute, time.Hour}, {150 * time.Minute, 2 * time.Hour},
	{270 * time.Minute, 3 * time.Hour}, {9 * time.Hour, 6 * time.Hour}, {24 * time.Hour, 12 * time.Hour},
	{7 * 24 * time.Hour, 24 * time.Hour}, {21 * 24 * time.Hour, 7 * 24 * time.Hour}, {42*24*time.Hour - 1, 30 * 24 * time.Hour},
}

func timelineStep(span time.Duration) time.Duration {
	for _, s := range timelineSteps {
		if span/1500 <= s.upTo {
			return s.step
		}
	}
	return 365 * 24 * time.Hour
}

func (q *Querier) renderDiff(w http.ResponseWriter, r *http.Request) {
	q.answerPage(w, r, func(ctx context.Context, v url.Values) (any, error) {
		var sides [2]*treeRequest
		for i, side := range []string{"left", "right"} {
			names := map[string]string{"query": side + "Query", "from": side + "From", "until": side + "Until"}
			var err error
			if sides[i], err = q.parameters(v, func(name string) string { return names[name] }); err != nil {
				return nil, err
			}
		}
		trees, err := q.sides(ctx, sides)
		if err != nil {
			return nil, err
		}
		g, err := compare(ctx, trees, sides)
		if err != nil {
			return nil, err
		}
		return document(g, sides[0].query.Type, "double"), nil
	})
}

// labelValuesPage lists the values of a label; those of __name__ are the types.
func (q *Querier) labelValuesPage(w http.ResponseWriter, r *http.Request) {
	q.answerPage(w, r, func(ctx context.Context, v url.Values) (any, error) {
		name := v.Get("label")
		if name == "" {
			return nil, invalid("the parameter label is missing")
		}
		list, err := q.store.Series(ctx, continuous.Query{})
		if err != nil {
			return nil, err
		}
		if name == "__name__" {
			name = continuous.TypeLabel
		}
		return append([]string{}, valuesOf(list, name)...), nil
	})
}

// answerPage answers with a document as JSON or with a text.
func (q *Querier) answerPage(w http.ResponseWriter, r *http.Request, answer func(context.Context, url.Values) (any, error)) {
	ctx, stop := context.WithTimeout(r.Context(), q.timeout)
	defer stop()
	v, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		connect.WriteError(w, r, invalid("the parameters: %v", err))
		return
	}
	result, err := answer(ctx, v)
	if err != nil {
		connect.WriteError(w, r, q.failure(ctx, err))
		return
	}
	if s, ok := result.(string); ok {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_, _ = io.WriteString(w, s)
		return
	}
	server.WriteJSON(w, http.StatusOK, result)
}
