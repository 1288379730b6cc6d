// Package querier answers the queries of Pyroscope's clients from windows: of Grafana's data
// source, of Explore Profiles and of profilecli. It implements querier.v1.QuerierService
// over Connect, and the older routes below /pyroscope/.
//
// Answers differ from Pyroscope's where its users complain. A request without a time means
// all data. No range is too long, and none is shortened. Of gauges, such as the live heap,
// flame graphs and series show the mean over time, not the sum of all windows
// (continuous.Merged.OverTime, continuous.Chart). Windows have neither spans, nor profiles
// one by one, nor lines: requests for them are errors that say so. The formats FUNCTIONS and
// FUNCTION_TREE are those of Pyroscope's open proposals, which Profiles Drilldown uses where
// GetFeatureFlags says so. An earlier one, SANDWICH, was given up: its clients compute that
// view from the flame graph, as the error makes them.
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
	"github.com/dendroprof/dendro/format/protobuf"
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

// foreign are the services that the clients ask too: what Pyroscope keeps for its own pages.
var foreign = []string{"settings.v1.SettingsService", "settings.v1.RecordingRulesService", "vcs.v1.VCSService",
	"adhocprofiles.v1.AdHocProfileService", "query.v1.QueryFrontendService"}

// Part returns the part of a server that answers from a store.
func Part(st continuous.Store) server.Part {
	return server.Part{Name: "querier", Routes: New(st).Routes()}
}

// Routes returns the routes, which need the token for reading.
func (q *Querier) Routes() []server.Route {
	routes := append(q.service().Routes(), q.capabilities().Routes()...)
	for _, name := range foreign {
		routes = append(routes, (&connect.Service{Name: name, Needs: server.Reading}).Routes()...)
	}
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
	return &connect.Service{Name: "querier.v1.QuerierService", Needs: server.Reading, Methods: []connect.Method{
		method(q, "ProfileTypes", q.profileTypes),
		method(q, "LabelNames", q.labelNames),
		method(q, "LabelValues", q.labelValues),
		method(q, "Series", q.series),
		method(q, "SelectSeries", q.selectSeries),
		method(q, "SelectMergeStacktraces", q.selectMergeStacktraces),
		method(q, "SelectMergeProfile", q.selectMergeProfile),
		method(q, "SelectMergeSpanProfile", q.selectMergeSpanProfile),
		method(q, "Diff", q.diff),
		method(q, "GetProfileStats", q.profileStats),
		method(q, "AnalyzeQuery", q.analyzeQuery),
	}}
}

// capabilities says what newer clients may ask for.
func (q *Querier) capabilities() *connect.Service {
	return &connect.Service{Name: "capabilities.v1.FeatureFlagsService", Needs: server.Reading, Methods: []connect.Method{
		method(q, "GetFeatureFlags", func(context.Context, *empty) (protobuf.Encoded[featureFlags], error) {
			return protobuf.Encode(&featureFlags{[]featureFlag{{"functionProjections", true}}}), nil
		}),
	}}
}

// method returns a method whose answer takes at most the querier's time.
func method[Q, A any](q *Querier, name string, answer func(context.Context, *Q) (protobuf.Encoded[A], error)) connect.Method {
	return connect.Unary(name, func(ctx context.Context, r *Q) (protobuf.Encoded[A], error) {
		ctx, stop := context.WithTimeout(ctx, q.timeout)
		defer stop()
		reply, err := answer(ctx, r)
		return reply, q.failure(ctx, err)
	})
}

// failure returns an error of an answer within ctx as a status for the client. Stores name the end of
// a query in words of their own.
func (q *Querier) failure(ctx context.Context, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.As(err, new(*continuous.SummedError)):
		return invalid("%v", err)
	case errors.Is(err, context.DeadlineExceeded), errors.Is(ctx.Err(), context.DeadlineExceeded):
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
	for _, text := range selectors {
		name, rest, err := splitQuery(text)
		if err != nil {
			return query, err
		}
		matchers, err := continuous.ParseSelector(rest)
		if err != nil {
			return query, invalid("%v", err)
		}
		if name != "" {
			matchers = append(matchers, ofName(name))
		}
		query.Matchers = append(query.Matchers, matchers...)
	}
	query.From, query.Until, err = timeRange(start, end)
	return query, err
}

// ofName returns the condition that is before the braces of a selector: a type, or the name that
// types begin with.
func ofName(name string) continuous.Matcher {
	if t, err := continuous.ParseType(name); err == nil {
		return continuous.Matcher{Name: continuous.TypeLabel, Op: continuous.Equal, Value: t.String()}
	}
	return continuous.Matcher{Name: "__name__", Op: continuous.Equal, Value: name}
}

// query returns the query of what a request selects.
func (s selected) query() (continuous.Query, error) {
	return selection(s.Type, []string{s.Selector}, s.Start, s.End)
}

// find returns the series of selectors and a time.
func (q *Querier) find(ctx context.Context, selectors []string, start, end int64) ([]continuous.Series, error) {
	query, err := selection("", selectors, start, end)
	if err != nil {
		return nil, err
	}
	return q.store.Series(ctx, query)
}

func (q *Querier) profileTypes(ctx context.Context, r *profileTypesRequest) (protobuf.Encoded[profileTypesResponse], error) {
	list, err := q.find(ctx, nil, r.Start, r.End)
	if err != nil {
		return nil, err
	}
	var answer profileTypesResponse
	for _, t := range typesOf(list) {
		answer.Types = append(answer.Types, profileType{ID: t.String(), Name: t.Name, SampleType: t.SampleType, SampleUnit: t.SampleUnit,
			PeriodType: t.PeriodType, PeriodUnit: t.PeriodUnit})
	}
	return protobuf.Encode(&answer), nil
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

func (q *Querier) labelNames(ctx context.Context, r *labelNamesRequest) (protobuf.Encoded[namesResponse], error) {
	list, err := q.find(ctx, r.Matchers, r.Start, r.End)
	if err != nil {
		return nil, err
	}
	all := takesUTF8(ctx)
	var names []string
	for i := range list {
		names = append(names, namesOf(&list[i], all)...)
	}
	return protobuf.Encode(&namesResponse{sorted(names)}), nil
}

func (q *Querier) labelValues(ctx context.Context, r *labelValuesRequest) (protobuf.Encoded[namesResponse], error) {
	if r.Name == "" {
		return nil, invalid("name: the name of a label is missing")
	}
	list, err := q.find(ctx, r.Matchers, r.Start, r.End)
	if err != nil {
		return nil, err
	}
	return protobuf.Encode(&namesResponse{valuesOf(list, r.Name)}), nil
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

// maxNames is the maximum number of names in a request: each is looked up in every series or tree.
const maxNames = 1000

// checkNames returns an error for too many names.
func checkNames(field string, names []string) error {
	if n := len(names); n > maxNames {
		return invalid("%s: %d names: the maximum is %d", field, n, maxNames)
	}
	return nil
}

func (q *Querier) series(ctx context.Context, r *seriesRequest) (protobuf.Encoded[seriesResponse], error) {
	if err := checkNames("label_names", r.LabelNames); err != nil {
		return nil, err
	}
	list, err := q.find(ctx, r.Matchers, r.Start, r.End)
	if err != nil {
		return nil, err
	}
	wanted, all := distinct(r.LabelNames), takesUTF8(ctx)
	var sets []string
	for i := range list {
		names := wanted
		if len(names) == 0 {
			names = sorted(namesOf(&list[i], all))
		}
		var set labels // in the order of the request, which Explore Profiles relies on
		for _, name := range names {
			if v := list[i].Label(name); v != "" {
				set.Labels = append(set.Labels, labelPair{name, v})
			}
		}
		if len(set.Labels) > 0 {
			sets = append(sets, string(protobuf.Encode(&set)))
		}
	}
	var answer seriesResponse
	for _, set := range distinct(sets) { // the store's order: by service and type
		answer.Sets = append(answer.Sets, protobuf.Encoded[labels](set))
	}
	return protobuf.Encode(&answer), nil
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

func (q *Querier) profileStats(ctx context.Context, _ *empty) (protobuf.Encoded[statsResponse], error) {
	stats, err := q.store.WindowStats(ctx)
	if err != nil || stats.First.IsZero() {
		return nil, err
	}
	return protobuf.Encode(&statsResponse{true, stats.First.UnixMilli(), stats.Last.UnixMilli()}), nil
}

// analyzeQuery says how many series a query reads.
func (q *Querier) analyzeQuery(ctx context.Context, r *analyzeQueryRequest) (protobuf.Encoded[analyzeQueryResponse], error) {
	typ, selector, err := splitQuery(r.Query)
	if err != nil {
		return nil, err
	}
	query, err := selected{typ, selector, r.Start, r.End}.query()
	if err != nil {
		return nil, err
	}
	list, err := q.store.Series(ctx, query)
	if err != nil {
		return nil, err
	}
	n := uint64(len(list))
	return protobuf.Encode(&analyzeQueryResponse{[]queryScope{{"store", 1, n}}, queryImpact{Series: n}}), nil
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
