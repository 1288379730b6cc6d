// Package querier answers the queries of Pyroscope's clients from windows: of Grafana's data
// source, of Explore Profiles and of profilecli. It implements querier.v1.QuerierService
// over Connect, and the older routes below /pyroscope/.
//
// Answers differ from Pyroscope's where its users complain. A request without a time means
// all data. No range is too long, and none is shortened. Of gauges, such as the live heap,
// flame graphs and series show the mean over time, not the sum of all windows
// (continuous.Merged.OverTime, continuous.Chart). Windows have neither spans, nor profiles
// one by one, nor lines: requests for them are errors that say so.
package querier

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/dendroprof/dendro/app/internal/server"
	"github.com/dendroprof/dendro/app/internal/server/connect"
	"github.com/dendroprof/dendro/continuous"
	"github.com/dendroprof/dendro/internal/wire"
)

// Querier answers queries. It is safe for concurrent use.
type Querier struct {
	store   continuous.Store
	now     func() time.Time
	timeout time.Duration
}

// New returns a querier of a store.
func New(st continuous.Store) *Querier {
	return &Querier{store: st, now: time.Now, timeout: time.Minute}
}

// Part returns the part of a server that answers from a store.
func Part(st continuous.Store) server.Part {
	return server.Part{Name: "querier", Routes: New(st).Routes()}
}

// Routes returns the routes, which need the token for reading.
func (q *Querier) Routes() []server.Route {
	routes := q.service().Routes()
	for path, handler := range map[string]http.HandlerFunc{
		"render": q.render, "render-diff": q.renderDiff, "label-values": q.labelValuesPage,
	} {
		routes = append(routes, server.Route{Pattern: "GET /pyroscope/" + path, Handler: handler, Needs: server.Reading,
			Problem: connect.WriteProblem})
	}
	return append(routes, server.Route{Pattern: "GET /ready", Handler: http.HandlerFunc(ready), Needs: server.Nothing, Kind: server.Outside})
}

// ready answers profilecli, which waits for a server.
func ready(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	fmt.Fprintln(w, "ready")
}

func (q *Querier) service() *connect.Service {
	s := &connect.Service{Name: "querier.v1.QuerierService", Schema: schema, Needs: server.Reading}
	add := func(name, request, response string, shape wire.Shape, answer func(context.Context, *fields) ([]byte, error)) {
		s.Methods = append(s.Methods, connect.Method{Name: name, Request: request, Response: response,
			Handle: func(ctx context.Context, msg []byte) ([]byte, error) {
				f, err := read(&shape, string(msg))
				if err != nil {
					return nil, err
				}
				ctx, stop := context.WithTimeout(ctx, q.timeout)
				defer stop()
				reply, err := answer(ctx, f)
				return reply, q.failure(err)
			}})
	}
	add("ProfileTypes", "ProfileTypesRequest", "ProfileTypesResponse", wire.Shape{1: number, 2: number}, q.profileTypes)
	add("LabelNames", "LabelNamesRequest", "NamesResponse", wire.Shape{1: text, 2: number, 3: number}, q.labelNames)
	add("LabelValues", "LabelValuesRequest", "NamesResponse", wire.Shape{1: text, 2: text, 3: number, 4: number}, q.labelValues)
	add("Series", "SeriesRequest", "SeriesResponse", wire.Shape{1: text, 2: text, 3: number, 4: number}, q.series)
	add("SelectSeries", "SelectSeriesRequest", "SelectSeriesResponse", selectSeriesShape, q.selectSeries)
	add("SelectMergeStacktraces", "SelectMergeStacktracesRequest", "SelectMergeStacktracesResponse", stacktracesShape,
		q.selectMergeStacktraces)
	add("SelectMergeProfile", "SelectMergeProfileRequest", "PProfile", mergeProfileShape, q.selectMergeProfile)
	add("SelectMergeSpanProfile", "SelectMergeSpanProfileRequest", "SelectMergeSpanProfileResponse", spanProfileShape,
		q.selectMergeSpanProfile)
	add("Diff", "DiffRequest", "DiffResponse", wire.Shape{1: text, 2: text}, q.diff)
	add("GetProfileStats", "Empty", "GetProfileStatsResponse", wire.Shape{}, q.profileStats)
	add("AnalyzeQuery", "AnalyzeQueryRequest", "AnalyzeQueryResponse", wire.Shape{2: number, 3: number, 4: text}, q.analyzeQuery)
	return s
}

// failure returns an error as a status for the client.
func (q *Querier) failure(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, context.DeadlineExceeded):
		return status.Errorf(codes.DeadlineExceeded, "the query did not end within %s: select a shorter time or fewer series", q.timeout)
	case errors.Is(err, continuous.ErrTooLarge), errors.Is(err, errNegative):
		return status.Error(codes.FailedPrecondition, err.Error())
	}
	return err
}

// timeRange returns a time in milliseconds, both ends included. Zero does not limit.
func timeRange(start, end int64) (from, until time.Time, err error) {
	const most = 253402300799999 // the end of the year 9999
	switch {
	case start < 0 || end < 0 || start > most || end > most:
		return from, until, invalid("start %d, end %d: expected milliseconds since 1970", start, end)
	case end != 0 && start > end:
		return from, until, invalid("start %d is after end %d", start, end)
	}
	if start != 0 {
		from = time.UnixMilli(start).UTC()
	}
	if end != 0 {
		until = time.UnixMilli(end + 1).UTC()
	}
	return from, until, nil
}

// selection returns the query of selectors and a time; an empty type means all types.
func selection(typ string, selectors []string, start, end int64) (query continuous.Query, err error) {
	if typ != "" {
		if query.Type, err = continuous.ParseType(typ); err != nil {
			return query, invalid("%.200s", err)
		}
	}
	if query.Matchers, err = continuous.ParseSelector(selectors...); err != nil {
		return query, invalid("%v", err)
	}
	query.From, query.Until, err = timeRange(start, end)
	return query, err
}

// find returns the series of selectors and a time.
func (q *Querier) find(ctx context.Context, selectors []string, start, end int64) ([]continuous.Series, error) {
	query, err := selection("", selectors, start, end)
	if err != nil {
		return nil, err
	}
	return q.store.Series(ctx, query)
}

func (q *Querier) profileTypes(ctx context.Context, f *fields) ([]byte, error) {
	list, err := q.find(ctx, nil, f.int(1), f.int(2))
	if err != nil {
		return nil, err
	}
	var b []byte
	for _, t := range typesOf(list) {
		var m []byte
		m = wire.AppendBytes(wire.AppendBytes(m, 1, t.String()), 2, t.Name)
		for i, s := range []string{t.SampleType, t.SampleUnit, t.PeriodType, t.PeriodUnit} {
			m = wire.AppendBytes(m, 4+i, s)
		}
		b = wire.AppendBytes(b, 1, m)
	}
	return b, nil
}

// typesOf returns the types of series, by their text.
func typesOf(list []continuous.Series) (types []continuous.Type) {
	seen := map[continuous.Type]bool{}
	for i := range list {
		if t := list[i].Type; !seen[t] {
			seen[t] = true
			types = append(types, t)
		}
	}
	slices.SortFunc(types, func(a, b continuous.Type) int { return cmp.Compare(a.String(), b.String()) })
	return types
}

// ownNames are the labels that a series has besides its own.
var ownNames = []string{"__name__", "__period_type__", "__period_unit__", continuous.TypeLabel, "__service_name__", "__type__", "__unit__",
	continuous.ServiceLabel}

// namesOf returns the labels of a series that a client knows, in any order.
func namesOf(s *continuous.Series, allUTF8 bool) []string {
	names := slices.Clone(ownNames)
	for _, l := range s.Labels {
		if allUTF8 || plainName(l.Name) {
			names = append(names, l.Name)
		}
	}
	return names
}

// plainName reports whether a name is one that every client knows: without dots.
func plainName(name string) bool {
	for i := range len(name) {
		c := name[i]
		if c != '_' && (c|0x20 < 'a' || c|0x20 > 'z') && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return name != ""
}

// takesUTF8 reports whether the client of a request takes names of all characters: it says
// so in a parameter of Accept.
func takesUTF8(ctx context.Context) bool {
	for part := range strings.SplitSeq(connect.Header(ctx, "Accept"), ",") {
		if _, parameters, err := mime.ParseMediaType(part); err == nil && parameters["allow-utf8-labelnames"] == "true" {
			return true
		}
	}
	return false
}

// sorted sorts the texts of a list, and returns each once.
func sorted(list []string) []string {
	slices.Sort(list)
	return slices.Compact(list)
}

func (q *Querier) labelNames(ctx context.Context, f *fields) ([]byte, error) {
	list, err := q.find(ctx, f.list[1], f.int(2), f.int(3))
	if err != nil {
		return nil, err
	}
	all := takesUTF8(ctx)
	var names []string
	for i := range list {
		names = append(names, namesOf(&list[i], all)...)
	}
	return appendTexts(nil, 1, sorted(names)), nil
}

func (q *Querier) labelValues(ctx context.Context, f *fields) ([]byte, error) {
	if f.text(1) == "" {
		return nil, invalid("name: the name of a label is missing")
	}
	list, err := q.find(ctx, f.list[2], f.int(3), f.int(4))
	if err != nil {
		return nil, err
	}
	return appendTexts(nil, 1, valuesOf(list, f.text(1))), nil
}

// valuesOf returns the values of a label.
func valuesOf(list []continuous.Series, name string) []string {
	var values []string
	for i := range list {
		if v := list[i].Label(name); v != "" {
			values = append(values, v)
		}
	}
	return sorted(values)
}

func (q *Querier) series(ctx context.Context, f *fields) ([]byte, error) {
	list, err := q.find(ctx, f.list[1], f.int(3), f.int(4))
	if err != nil {
		return nil, err
	}
	wanted, all := distinct(f.list[2]), takesUTF8(ctx)
	var sets []string
	for i := range list {
		names := wanted
		if len(names) == 0 {
			names = sorted(namesOf(&list[i], all))
		}
		var labels continuous.Labels // in the order of the request, which Explore Profiles relies on
		for _, name := range names {
			if v := list[i].Label(name); v != "" {
				labels = append(labels, continuous.Label{Name: name, Value: v})
			}
		}
		if len(labels) > 0 {
			sets = append(sets, string(appendLabels(nil, labels)))
		}
	}
	var b []byte
	for _, set := range distinct(sets) { // the store's order: by service and type
		b = wire.AppendBytes(b, 2, set)
	}
	return b, nil
}

// distinct returns each text of a list once, in the order in which they first occur.
func distinct(list []string) []string {
	seen := make(map[string]bool, len(list))
	return slices.DeleteFunc(slices.Clone(list), func(text string) bool {
		known := seen[text]
		seen[text] = true
		return known
	})
}

// appendLabels appends labels as field 1.
func appendLabels(b []byte, labels continuous.Labels) []byte {
	for _, l := range labels {
		b = wire.AppendBytes(b, 1, wire.AppendBytes(wire.AppendBytes(nil, 1, l.Name), 2, l.Value))
	}
	return b
}

func (q *Querier) profileStats(ctx context.Context, _ *fields) ([]byte, error) {
	stats, err := q.store.WindowStats(ctx)
	if err != nil || stats.First.IsZero() {
		return nil, err
	}
	b := wire.AppendBool(nil, 1, true)
	b = wire.AppendInt(b, 2, uint64(stats.First.UnixMilli()))
	return wire.AppendInt(b, 3, uint64(stats.Last.UnixMilli())), nil
}

// analyzeQuery says how many series a query reads.
func (q *Querier) analyzeQuery(ctx context.Context, f *fields) ([]byte, error) {
	typ, selector, err := splitQuery(f.text(4))
	if err != nil {
		return nil, err
	}
	query, err := selection(typ, []string{selector}, f.int(2), f.int(3))
	if err != nil {
		return nil, err
	}
	list, err := q.store.Series(ctx, query)
	if err != nil {
		return nil, err
	}
	n := uint64(len(list))
	b := wire.AppendBytes(nil, 1, wire.AppendInt(wire.AppendInt(wire.AppendBytes(nil, 1, "store"), 2, 1), 4, n))
	return wire.AppendBytes(b, 2, wire.AppendInt(nil, 3, n)), nil
}

// splitQuery splits `TYPE{selector}`. The type may be empty.
func splitQuery(text string) (typ, selector string, err error) {
	if !utf8.ValidString(text) {
		return "", "", invalid("the query is not UTF-8")
	}
	typ, selector = text, ""
	if i := strings.IndexByte(text, '{'); i >= 0 {
		typ, selector = text[:i], text[i:]
	}
	return strings.TrimSpace(typ), selector, nil
}
