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

// Pushed selects pushed profiles in place of those of runs. The time and the type are those
// of the selection; the type may be a text that a type has: cpu, inuse_space,
// process_cpu:cpu:nanoseconds:cpu:nanoseconds.
type Pushed struct {
	Service string `param:"service" group:"Selection" arg:"name" help:"profiles that this service pushed, in place of runs; --since, --until and --type select among them (list: dendro services)" json:"service,omitempty"`
	Labels  string `param:"labels" group:"Selection" arg:"{name=\"value\"}" help:"pushed profiles whose labels match, in the syntax of Prometheus: {version=~\"1.*\",zone!=\"b\"}" json:"labels,omitempty"`
}

// Chosen reports whether pushed profiles are selected.
func (p *Pushed) Chosen() bool { return p.Service != "" || p.Labels != "" }

// Hinted is Hinted for a request that selects runs or pushed profiles; the hints are about runs.
func (p *Pushed) Hinted(ctx context.Context, st Lister, s *Selection, err error) error {
	if p.Chosen() {
		return err
	}
	return Hinted(ctx, st, s, err)
}

// Query returns the windows that p selects with the time of a selection. The selection may
// not have what only runs have.
func (p *Pushed) Query(s *Selection, more ...string) (q continuous.Query, err error) {
	rest := *s
	rest.Since, rest.Until, rest.Types = time.Time{}, time.Time{}, nil
	if text := rest.String(); text != (&store.Query{}).String() {
		return q, param.Errorf("%s selects runs: pushed profiles are selected by --service, --labels, --since, --until and --type", text)
	}
	if q.Matchers, err = continuous.ParseSelector(append([]string{p.Labels}, more...)...); err != nil {
		return q, param.Errorf("--labels: %w", err)
	}
	if p.Service != "" {
		q.Matchers = append(q.Matchers, continuous.Matcher{Name: continuous.ServiceLabel, Op: continuous.Equal, Value: p.Service})
	}
	q.From, q.Until = s.Since, s.Until
	return q, nil
}

// WindowsOf returns the windows of a store.
func WindowsOf(st store.Reader) (continuous.Store, error) {
	if w, ok := store.As[continuous.Store](st); ok {
		return w, nil
	}
	return nil, fmt.Errorf("this store keeps no pushed profiles: use a DuckDB file")
}

// FindType returns the one type among series that a text names, and the others; without a
// text it is the CPU time, or else the only one.
func FindType(list []continuous.Series, text string) (t continuous.Type, others []string, err error) {
	var types []continuous.Type
	for i := range list {
		if !slices.Contains(types, list[i].Type) {
			types = append(types, list[i].Type)
		}
	}
	named := namedTypes(types, text)
	if text == "" {
		if named = types; len(types) > 1 {
			cpu := slices.DeleteFunc(slices.Clone(types), func(t continuous.Type) bool { return t.SampleType != "cpu" })
			if len(cpu) == 1 {
				named = cpu
			}
		}
	}
	names := typeNames(types)
	switch {
	case len(types) == 0:
		return t, nil, fmt.Errorf("%w: no profile was pushed by this selection (list: dendro services)", store.ErrNothing)
	case len(named) == 0:
		return t, nil, param.Errorf("--type %s: the pushed profiles have %s", words.Clean(text), strings.Join(names, ", "))
	case len(named) > 1:
		return t, nil, param.Errorf("the pushed profiles have several types: give one --type of %s", strings.Join(typeNames(named), ", "))
	}
	return named[0], slices.DeleteFunc(names, func(name string) bool { return name == words.Clean(named[0].String()) }), nil
}

// namedTypes returns the types that a text names: as their id, as their sample type, or, if none
// of them, as the beginning of their ids. So `wall` is the wall time of Node.js, and not the
// samples and the CPU time that it pushes under that name too.
func namedTypes(types []continuous.Type, text string) []continuous.Type {
	for _, names := range []func(continuous.Type) bool{
		func(t continuous.Type) bool { return t.String() == text },
		func(t continuous.Type) bool { return t.SampleType == text },
		func(t continuous.Type) bool { return strings.HasPrefix(t.String(), text+":") },
	} {
		named := slices.DeleteFunc(slices.Clone(types), func(t continuous.Type) bool { return !names(t) })
		if len(named) > 0 {
			return named
		}
	}
	return nil
}

// typeNames returns the ids of types for a message.
func typeNames(types []continuous.Type) (names []string) {
	for _, t := range types {
		names = append(names, words.Clean(t.String()))
	}
	return names
}

// PushedServicesRequest asks for the services that push profiles.
type PushedServicesRequest struct {
	Pushed `group:"Selection"`
	Since  time.Time `param:"since" group:"Selection" arg:"date" help:"profiles from this time on (RFC 3339, 2026-11-21, or an age: 30d, 12h)" json:"since,omitzero"`
	Until  time.Time `param:"until" group:"Selection" arg:"date" help:"profiles before this time" json:"until,omitzero"`
	Rows   int       `param:"rows" group:"Limit" arg:"n" min:"0" help:"maximum number of rows (0: all)"`
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
	windows, err := WindowsOf(st)
	if err != nil {
		return nil, err
	}
	q, err := r.Pushed.Query(&Selection{Since: r.Since, Until: r.Until})
	if err != nil {
		return nil, err
	}
	list, err := windows.Series(ctx, q) // by service and type
	if err != nil {
		return nil, err
	}
	rows := []PushedService{}
	for len(list) > 0 {
		n := 1
		for n < len(list) && list[n].Service == list[0].Service && list[n].Type == list[0].Type {
			n++
		}
		rows = append(rows, pushedService(list[:n]))
		list = list[n:]
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
	Pushed   `group:"Selection"`
	Since    time.Time `param:"since" group:"Selection" arg:"date" help:"profiles from this time on (RFC 3339, 2026-11-21, or an age: 30d, 12h)" json:"since,omitzero"`
	Until    time.Time `param:"until" group:"Selection" arg:"date" help:"profiles before this time" json:"until,omitzero"`
	Types    []string  `param:"type" group:"Selection" arg:"name" help:"type of the profiles: cpu, inuse_space, or a whole id (default: CPU time)" json:"type,omitempty"`
	Function string    `param:"function" group:"View" arg:"name" help:"the function, by its exact name (default: all functions together)" json:"function,omitempty"`
	Self     bool      `param:"self" group:"View" help:"with --function: without its callees" json:"self,omitempty"`
	By       string    `param:"by" group:"View" arg:"label" help:"a line for each value of this label" json:"by,omitempty"`
	Step     Seconds   `param:"step" group:"View" arg:"time" help:"time between points: 15s, 1h (default: about 300 points)" json:"step,omitzero"`
	Rows     int       `param:"rows" group:"Limit" arg:"n" min:"0" help:"maximum number of rows; over time of lines, those of the largest sums (0: all)"`
}

// Seconds is a length of time.
type Seconds time.Duration

// UnmarshalText parses 15s, 1h30m or a number of seconds.
func (s *Seconds) UnmarshalText(text []byte) error {
	d, err := time.ParseDuration(string(text))
	if err != nil {
		d, err = time.ParseDuration(string(text) + "s")
	}
	if err == nil && d < time.Second {
		err = fmt.Errorf("the minimum is 1s")
	}
	*s = Seconds(d)
	return err
}

// MarshalText is the reverse of UnmarshalText.
func (s Seconds) MarshalText() ([]byte, error) { return []byte(time.Duration(s).String()), nil }

// PushedSeriesResult are lines of a chart. A point stands for the step that ends with it:
// its value is the sum of the profiles that began in it or, of a gauge, the mean over time.
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
	windows, err := WindowsOf(st)
	if err != nil {
		return nil, err
	}
	if len(r.Types) > 1 {
		return nil, param.Errorf("a series has one type: give one --type")
	}
	q, err := r.Pushed.Query(&Selection{Since: r.Since, Until: r.Until})
	if err != nil {
		return nil, err
	}
	list, err := windows.Series(ctx, q)
	if err != nil {
		return nil, err
	}
	typ, others, err := FindType(list, strings.Join(r.Types, ""))
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
		Rows: []PushedLine{}, Notes: []string{}}
	if len(others) > 0 && len(r.Types) == 0 {
		result.Notes = append(result.Notes, fmt.Sprintf("type %s; --type shows others: %s", words.Clean(result.Type), strings.Join(others, ", ")))
	}
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
	totals := &continuous.Totals{Series: amounts.Series, Totals: make([]continuous.Total, len(amounts.Amounts))}
	for i, a := range amounts.Amounts {
		totals.Totals[i] = a.Total
		totals.Totals[i].Sum = a.Whole
		if r.Self {
			totals.Totals[i].Sum = a.Self
		}
	}
	return totals, nil
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
	c := &continuous.Chart{Step: time.Duration(r.Step), Limit: r.Rows}
	if c.Step == 0 {
		c.Step = stepFor(last.Sub(first))
	}
	if r.By != "" {
		c.By = []string{r.By}
	}
	c.Start = first.Truncate(c.Step)
	if c.Start.Before(first) {
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
		{Name: "value", Unit: r.Unit, Right: true, Text: table.Number}}}
	for _, l := range r.Rows {
		for i, at := range l.Times {
			t.Add(l.Value, time.UnixMilli(at).UTC(), l.Values[i])
		}
	}
	return t
}
