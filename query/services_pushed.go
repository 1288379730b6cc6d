package query

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/dendroprof/dendro/continuous"
	"github.com/dendroprof/dendro/internal/words"
	"github.com/dendroprof/dendro/query/param"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/table"
)

// PushedTime selects pushed profiles of a time.
type PushedTime struct {
	store.Pushed
	Since time.Time `param:"since" arg:"date" help:"profiles from this time on (RFC 3339, 2026-11-21, Monday, or an age: 30d, 12h)" json:"since,omitzero"`
	Until time.Time `param:"until" arg:"date" help:"profiles before this time" json:"until,omitzero"`
}

// selection returns the selection, of some types.
func (p *PushedTime) selection(types ...string) *Selection {
	return &Selection{Pushed: p.Pushed, Since: p.Since, Until: p.Until, Types: types}
}

// PushedServicesRequest asks for the services that push profiles.
type PushedServicesRequest struct {
	PushedTime `group:"Selection"`
	Rows       int `param:"rows" group:"Limit" arg:"n" min:"0" help:"maximum number of rows (0: all)"`
}

// PushedService is what a service pushes of one type.
type PushedService struct {
	Service string        `json:"service"`
	Type    string        `json:"type"` // as pushed: process_cpu:cpu:nanoseconds:cpu:nanoseconds
	Unit    string        `json:"unit"`
	Gauge   bool          `json:"gauge"`  // averaged over time, not added
	Series  int           `json:"series"` // with different labels
	Labels  []LabelValues `json:"labels"`
	First   time.Time     `json:"first"`
	Last    time.Time     `json:"last"`
}

// LabelValues are values of a label.
type LabelValues struct {
	Name   string   `json:"name"`
	Values []string `json:"values"`
	More   int      `json:"more,omitempty"` // values that were omitted
}

// mostValues is how many values of a label are listed.
const mostValues = 100

// PushedServicesResult lists services by name, then by type.
type PushedServicesResult struct {
	Omitted Omitted         `json:"omitted,omitzero"`
	Rows    []PushedService `json:"rows"`
}

// PushedServices lists what services push.
func PushedServices(ctx context.Context, st store.Store, r *PushedServicesRequest) (*PushedServicesResult, error) {
	_, _, list, err := pushedSeries(ctx, st, r.selection())
	if err != nil {
		return nil, err
	}
	rows := []PushedService{}
	for own := range continuous.ByServiceAndType(list) {
		rows = append(rows, pushedService(own))
	}
	shown, omitted := First(rows, r.Rows)
	return &PushedServicesResult{omitted, shown}, nil
}

// pushedService describes series of one service and type.
func pushedService(list []continuous.Series) PushedService {
	s := PushedService{Service: list[0].Service, Type: list[0].Type.String(), Unit: list[0].Type.SampleUnit, Gauge: list[0].Type.Gauge(),
		Series: len(list), Labels: []LabelValues{}, First: list[0].First, Last: list[0].Last}
	values := map[string]map[string]bool{}
	for i := range list {
		s.First, s.Last = continuous.Earlier(s.First, list[i].First), continuous.Later(s.Last, list[i].Last)
		for _, l := range list[i].Labels {
			if values[l.Name] == nil {
				values[l.Name] = map[string]bool{}
			}
			values[l.Name][l.Value] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		l := LabelValues{Name: name, Values: slices.Sorted(maps.Keys(values[name]))}
		if n := len(l.Values); n > mostValues {
			l.Values, l.More = l.Values[:mostValues], n-mostValues
		}
		s.Labels = append(s.Labels, l)
	}
	return s
}

// Table lists services.
func (r *PushedServicesResult) Table(bool) *table.Table {
	t := &table.Table{Of: "service", Omitted: r.Omitted.Rows,
		Columns: []table.Column{table.TextColumn("service"), table.TextColumn("type"), table.CountColumn("series"),
			{Name: "labels", Text: table.Joined}, {Name: "first", Text: table.Date}, {Name: "last", Text: table.Date}}}
	for i := range r.Rows {
		s := &r.Rows[i]
		labels := []string{}
		for _, l := range s.Labels {
			if n := len(l.Values) + l.More; n > 1 {
				labels = append(labels, fmt.Sprintf("%s (%d)", l.Name, n))
			} else {
				labels = append(labels, l.Name+"="+l.Values[0])
			}
		}
		t.Add(s.Service, s.Type, s.Series, labels, s.First, s.Last)
	}
	return t
}

// PushedSeriesRequest asks for the course of a type, or of a function, over time.
type PushedSeriesRequest struct {
	PushedTime `group:"Selection"`
	Types      []string `param:"type" group:"Selection" arg:"name" help:"type of the profiles: cpu, inuse_space, or a whole id (default: CPU time)" json:"type,omitempty"`
	Function   string   `param:"function" group:"View" arg:"name" help:"the function, by its exact name (default: all functions together)" json:"function,omitempty"`
	Self       bool     `param:"self" group:"View" help:"with --function: without its callees" json:"self,omitempty"`
	By         string   `param:"by" group:"View" arg:"label" help:"a line for each value of this label" json:"by,omitempty"`
	Step       Seconds  `param:"step" group:"View" arg:"time" help:"time between points: 15s, 1h (default: about 300 points)" json:"step,omitzero"`
	Rows       int      `param:"rows" group:"Limit" arg:"n" min:"0" help:"maximum number of rows; over time of lines, those of the largest sums (0: all)"`
}

// Seconds is a length of time.
type Seconds time.Duration

// UnmarshalText parses 15s, 1h30m or a number of seconds, 0 too.
func (s *Seconds) UnmarshalText(text []byte) error {
	d, err := time.ParseDuration(string(text))
	if err != nil {
		d, err = time.ParseDuration(string(text) + "s")
	}
	if err == nil && d != 0 && d < time.Second {
		err = fmt.Errorf("the minimum is 1s")
	}
	*s = Seconds(d)
	return err
}

// MarshalText is the reverse of UnmarshalText.
func (s Seconds) MarshalText() ([]byte, error) { return []byte(time.Duration(s).String()), nil }

// PushedSeriesResult are lines of a chart. A point stands for the step that ends with it, or from an hour on
// for the hours or days that begin in it: its value is the sum of the profiles that began in it or, of a gauge, the mean over time.
type PushedSeriesResult struct {
	Type     string       `json:"type"`
	Unit     string       `json:"unit"`
	RateUnit string       `json:"rateUnit,omitempty"` // of rates: cores, bytes/s; empty: a gauge has none
	Gauge    bool         `json:"gauge"`
	Step     int64        `json:"step"`  // milliseconds
	Since    int64        `json:"since"` // first point, in milliseconds since 1970
	Until    int64        `json:"until"` // last point
	Rows     []PushedLine `json:"rows"`
	Notes    []string     `json:"notes"`
}

// PushedLine is a line: values at times in milliseconds since 1970. Points without data are
// left out.
type PushedLine struct {
	Value  string    `json:"value"` // of the label; empty: the series have none, or no label was chosen
	Times  []int64   `json:"times"`
	Values []float64 `json:"values"`
	// Rates are the values for each second that was profiled; of CPU time the cores in use.
	Rates []float64 `json:"rates,omitempty"`
}

// PushedSeries returns the course of the selected profiles.
func PushedSeries(ctx context.Context, st store.Store, r *PushedSeriesRequest) (*PushedSeriesResult, error) {
	if len(r.Types) > 1 {
		return nil, param.Errorf("a series has one type: give one --type")
	}
	windows, q, list, err := pushedSeries(ctx, st, r.selection())
	if err != nil {
		return nil, err
	}
	typ, notes, err := FindType(list, strings.Join(r.Types, ""))
	if err != nil {
		return nil, err
	}
	q.Type = typ
	c := chartOf(r, slices.DeleteFunc(list, func(s continuous.Series) bool { return s.Type != typ }))
	totals, err := pushedTotals(ctx, windows, c, q, r)
	if err != nil {
		return nil, err
	}
	result := &PushedSeriesResult{Type: typ.String(), Unit: typ.SampleUnit, Gauge: typ.Gauge(), Step: c.Step.Milliseconds(),
		RateUnit: rateUnit(typ),
		Since:    c.Start.UnixMilli(), Until: c.End.UnixMilli(),
		Rows: []PushedLine{}, Notes: words.Filled(notes)}
	for _, l := range c.Lines(totals) {
		line := PushedLine{Value: l.Labels.Get(r.By), Times: make([]int64, len(l.Points)), Values: make([]float64, len(l.Points))}
		for i, p := range l.Points {
			line.Times[i], line.Values[i] = p.Time.UnixMilli(), p.Value
			if result.RateUnit != "" {
				line.Rates = append(line.Rates, rateOf(typ, p))
			}
		}
		result.Rows = append(result.Rows, line)
	}
	return result, nil
}

// rateUnit returns the unit of a type for each second; empty: a gauge has none.
func rateUnit(t continuous.Type) string {
	switch {
	case t.Gauge():
		return ""
	case t.SampleUnit != "nanoseconds":
		return t.SampleUnit + "/s"
	case t.SampleType == "cpu":
		return "cores"
	}
	return "s/s"
}

// rateOf returns the value of a point for each second that was profiled.
func rateOf(t continuous.Type, p continuous.Point) float64 {
	rate := p.Value / max(p.Covered, time.Millisecond).Seconds()
	if t.SampleUnit == "nanoseconds" {
		rate /= float64(time.Second)
	}
	return rate
}

// pushedTotals returns the windows of a chart, or what a function took in them.
func pushedTotals(ctx context.Context, windows continuous.Store, c *continuous.Chart, q continuous.Query,
	r *PushedSeriesRequest) (*continuous.Totals, error) {
	q = c.Query(q)
	if q.From.Before(r.Since) {
		q.From = r.Since // the first point has less than a step, and the chart what a tree has
	}
	if !r.Until.IsZero() && r.Until.Before(q.Until) {
		q.Until = r.Until
	}
	if r.Function == "" {
		return windows.Totals(ctx, q, c.Step)
	}
	amounts, err := windows.Function(ctx, q, r.Function, c.Step)
	if err != nil {
		return nil, err
	}
	return amounts.Totals(r.Self), nil
}

// chartOf returns the chart of series: on a grid of full steps, so that a chart that is
// loaded again has the same points.
func chartOf(r *PushedSeriesRequest, list []continuous.Series) *continuous.Chart {
	first, last := r.Since, r.Until
	if first.IsZero() {
		first = slices.MinFunc(list, func(a, b continuous.Series) int { return a.First.Compare(b.First) }).First
	}
	if newest := slices.MaxFunc(list, func(a, b continuous.Series) int { return a.Last.Compare(b.Last) }).Last; last.IsZero() ||
		newest.Before(last) {
		last = newest
	}
	c := &continuous.Chart{Step: time.Duration(r.Step), Limit: r.Rows, Open: r.Since.IsZero()}
	if c.Step == 0 {
		c.Step = stepFor(last.Sub(first))
	}
	if r.By != "" {
		c.By = []string{r.By}
	}
	c.Start = first.Truncate(c.Step)
	if c.Start.Before(first) && continuous.Coarsest(c.Step) == continuous.Raw { // what begins an hour has its windows
		c.Start = c.Start.Add(c.Step)
	}
	c.End = last.Truncate(c.Step)
	if c.End.Before(last) {
		c.End = c.End.Add(c.Step)
	}
	return c
}

// stepFor returns the step of a chart of about 300 points.
func stepFor(span time.Duration) time.Duration {
	for _, step := range []time.Duration{15 * time.Second, 30 * time.Second, time.Minute, 5 * time.Minute, 15 * time.Minute, time.Hour,
		3 * time.Hour, 6 * time.Hour, 12 * time.Hour} {
		if span/300 <= step {
			return step
		}
	}
	return 24 * time.Hour
}

// Table lists the points of all lines.
func (r *PushedSeriesResult) Table(bool) *table.Table {
	t := &table.Table{Notes: r.Notes, Of: "point", Columns: []table.Column{table.TextColumn("label"), {Name: "time", Text: table.Date},
		{Name: "value", Right: true, Text: table.Number}}}
	for _, l := range r.Rows {
		for i, at := range l.Times {
			t.Add(l.Value, time.UnixMilli(at).UTC(), l.Values[i])
		}
	}
	return t
}
