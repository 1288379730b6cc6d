package query

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/dendroprof/dendro/continuous"
	"github.com/dendroprof/dendro/internal/words"
	"github.com/dendroprof/dendro/query/param"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/store/pushed"
	"github.com/dendroprof/dendro/testrun"
)

// Over returns what a request is answered from, and the request for it: the store or, if its
// selection has pushed profiles, a store with these as runs. A request that says by itself how
// has a method OfPushed, which clears the selection of pushed profiles; of others a run is a
// block of time of a service.
func Over[Request any](ctx context.Context, st store.Store, r *Request) (store.Store, *Request, error) {
	s, ok := any(r).(interface{ Selected() *Selection })
	if !ok || !s.Selected().Chosen() {
		return st, r, nil
	}
	own := *r
	var err error
	if says, ok := any(&own).(interface {
		OfPushed(ctx context.Context, st store.Store) (store.Store, error)
	}); ok {
		st, err = says.OfPushed(ctx, st)
	} else {
		st, err = PushedBlocks(ctx, st, any(&own).(interface{ Selected() *Selection }).Selected())
	}
	return st, &own, err
}

// overStore is Over for a view of any kind of store: only requests to a store.Store have a selection.
func overStore[Store, Request any](ctx context.Context, st Store, r *Request) (Store, *Request, error) {
	plain, ok := store.As[store.Store](st)
	if !ok {
		return st, r, nil
	}
	runs, own, err := Over(ctx, plain, r)
	if err != nil || own == r {
		return st, r, err
	}
	st, _ = store.As[Store](runs)
	return st, own, nil
}

// PushedNotes says what the runs of a store are that are pushed profiles; of other stores nothing.
func PushedNotes(st store.Reader) []string {
	if runs, ok := store.As[*pushed.Store](st); ok {
		return runs.Notes
	}
	return nil
}

// Summed returns how many profiles are in some of a store: in a run of pushed profiles those that
// were pushed.
func Summed(st store.Reader, list []store.Profile) int {
	if _, ok := store.As[*pushed.Store](st); !ok {
		return len(list)
	}
	n := int64(0)
	for i := range list {
		n += list[i].Samples
	}
	return int(n)
}

// WindowsOf returns the windows of a store.
func WindowsOf(st store.Reader) (continuous.Store, error) {
	if w, ok := store.As[continuous.Store](st); ok {
		return w, nil
	}
	return nil, fmt.Errorf("this store keeps no pushed profiles: use a DuckDB file")
}

// LabelMatchers parses the labels of a selection.
func LabelMatchers(texts ...string) ([]continuous.Matcher, error) {
	list, err := continuous.ParseSelector(texts...)
	if err != nil {
		return nil, param.Errorf("--labels: %w", err)
	}
	return list, nil
}

// Version returns the version of the content of a store that answers about the service follow from, or
// about everything if it is empty; false: other programs may change the store. It never becomes less.
func Version(st store.Reader, service string) (uint64, bool) {
	content, ok := store.As[store.Versioned](st)
	if !ok {
		return 0, false
	}
	version := content.Version()
	if windows, is := store.As[continuous.Store](st); is {
		of, ok := store.As[continuous.Versioned](windows)
		if !ok {
			return 0, false
		}
		version += of.WindowsVersion(service)
	}
	return version, true
}

// pushedSeries returns the windows of a store, those of them that a selection has, and their series, by service and type.
// More narrows the labels.
func pushedSeries(ctx context.Context, st store.Reader, s *Selection, more ...string) (windows continuous.Store, q continuous.Query,
	list []continuous.Series, err error) {
	if windows, err = WindowsOf(st); err != nil {
		return nil, q, nil, err
	}
	if q.Matchers, err = LabelMatchers(append([]string{s.Labels}, more...)...); err != nil {
		return nil, q, nil, err
	}
	if s.Service != "" {
		q.Matchers = append(q.Matchers, ofService(s.Service))
	}
	q.From, q.Until = s.Since, s.Until
	list, err = windows.Series(ctx, q)
	return windows, q, list, err
}

func ofService(name string) continuous.Matcher {
	return continuous.Matcher{Name: continuous.ServiceLabel, Op: continuous.Equal, Value: name}
}

// asRuns makes a selection of pushed profiles one of the runs that they became.
func asRuns(s *Selection) {
	s.Pushed, s.Types, s.Since, s.Until = store.Pushed{}, nil, time.Time{}, time.Time{}
}

// pushedSum adds to a store of runs of windows the sum of those that a selection has, as one run of
// one type, which it returns. More narrows the labels.
func pushedSum(ctx context.Context, st store.Reader, runs *pushed.Store, s *Selection, run, more string) (t continuous.Type, err error) {
	_, q, list, err := pushedSeries(ctx, st, s, more)
	if err != nil {
		return t, err
	}
	if len(s.Types) > 1 {
		return t, param.Errorf("pushed profiles show one value type: give one --type")
	}
	t, notes, err := FindType(list, TypeOf(s))
	if err != nil {
		return t, err
	}
	q.Type, runs.Gauge = t, t.Gauge()
	group := s.Service
	if group == "" {
		group = list[0].Service
		if slices.ContainsFunc(list, func(one continuous.Series) bool { return one.Service != group }) {
			group = "(services)"
		}
	}
	list = slices.DeleteFunc(list, func(one continuous.Series) bool { return one.Type != t })
	first, last := pushed.Spans(list, &q)
	f, sum, err := runs.Read(ctx, &pushed.Run{Benchmark: testrun.Benchmark{Group: group, Name: t.Name}, Windows: []continuous.Query{q},
		Run: testrun.Run{Key: run, Date: first.UTC()}})
	if err != nil {
		return t, err
	}
	if f == nil {
		return t, fmt.Errorf("%w: no profile was pushed by this selection", store.ErrNothing)
	}
	const layout = "2006-01-02 15:04"
	text := fmt.Sprintf("%s of %d series from %s to %s UTC", words.Counted(int(sum.Parts), "window"), len(sum.Series),
		first.UTC().Format(layout), last.UTC().Format(layout))
	if t.Gauge() {
		text += ", mean over time"
	}
	runs.Notes = append(append(runs.Notes, notes...), text)
	return t, runs.Add(ctx, f)
}

// Limits of runs that are blocks of time.
const (
	mostBlocks = 30    // about, of a service: as many as a history has
	mostRuns   = 3_000 // of all services
)

// PushedBlocks returns a store with the windows of a selection as runs: blocks of time of a
// service and a type. The selection is then one of these runs.
func PushedBlocks(ctx context.Context, st store.Reader, s *Selection) (*pushed.Store, error) {
	windows, q, list, err := pushedSeries(ctx, st, s)
	if err != nil {
		return nil, err
	}
	runs := pushed.New(windows)
	var types []continuous.Type
	for _, text := range append(s.Types[:len(s.Types):len(s.Types)], "")[:max(1, len(s.Types))] {
		t, notes, err := FindType(list, text)
		if err != nil {
			return nil, err
		}
		types, runs.Notes = append(types, t), append(runs.Notes, notes...)
	}
	list = slices.DeleteFunc(list, func(one continuous.Series) bool { return !slices.Contains(types, one.Type) })
	first, last := pushed.Spans(list, &q)
	step := pushed.Step(last.Sub(first), mostBlocks)
	runs.Notes = append(runs.Notes, fmt.Sprintf("a run is %s of all instances", pushed.SpokenStep(step)))
	matchers, n := q.Matchers, 0
	for own := range continuous.ByServiceAndType(list) {
		one, of := &own[0], q
		of.Type, of.Matchers = one.Type, append(matchers[:len(matchers):len(matchers)], ofService(one.Service))
		first, last := pushed.Spans(own, &q)
		for from := first.Truncate(step); from.Before(last); from = from.Add(step) {
			if n++; n > mostRuns {
				return nil, param.Errorf("the selection has more than %d blocks of time of services: give --service, or a shorter time", mostRuns)
			}
			if of.From = continuous.Later(from, q.From); !from.After(first) {
				of.From = q.From // the sums of the first windows begin earlier
			}
			of.Until = from.Add(step)
			of.Until = continuous.Earlier(of.Until, q.Until)
			f, sum, err := runs.Read(ctx, &pushed.Run{Benchmark: testrun.Benchmark{Group: one.Service, Name: one.Type.Name},
				Windows: []continuous.Query{of}, Run: testrun.Run{Key: from.UTC().Format("2006-01-02T15:04"), Date: from.UTC()}})
			if err != nil {
				return nil, err
			}
			if f == nil {
				continue
			}
			if one.Type.Gauge() {
				runs.Gauge = true
			} else {
				f.Metrics = []testrun.Metric{testrun.NewServed(sum.Covered.Seconds(), testrun.Seconds)}
			}
			if err := runs.Add(ctx, f); err != nil {
				return nil, err
			}
		}
	}
	asRuns(s)
	return runs, nil
}

// PushedLines returns a store with the lines of the pushed profiles of a selection as one run, whose
// source they are. Lines are kept per service, type, version and day.
func PushedLines(ctx context.Context, st store.Reader, s *Selection) (*pushed.Store, error) {
	windows, q, list, err := pushedSeries(ctx, st, s)
	if err != nil {
		return nil, err
	}
	withLines, ok := store.As[continuous.LineStore](st)
	if !ok {
		return nil, fmt.Errorf("this store keeps no lines of pushed profiles")
	}
	for _, m := range q.Matchers {
		if m.Name != continuous.ServiceLabel && !strings.HasPrefix(m.Name, "__") && !slices.Contains(continuous.VersionLabels, m.Name) {
			return nil, param.Errorf("--labels: lines are kept per service, type, version and day, and not per %s; select by %s", words.Clean(m.Name),
				strings.Join(continuous.VersionLabels, ", "))
		}
	}
	if len(s.Types) > 1 || s.Last > 0 || len(s.Runs)+len(s.Profiles) > 0 {
		return nil, param.Errorf("lines of pushed profiles are those of one type and a time: leave out --run, --last and further --type")
	}
	t, notes, err := FindType(list, TypeOf(s))
	if err != nil {
		return nil, err
	}
	q.Type = t
	kept, err := withLines.Lines(ctx, q)
	if err != nil {
		return nil, err
	}
	if len(kept) == 0 {
		return nil, fmt.Errorf("%w: no lines are kept of these profiles; they are stored some seconds after a push that has lines (pprof, JFR, OpenTelemetry)",
			store.ErrNothing)
	}
	runs, last := pushed.New(windows), &kept[len(kept)-1]
	runs.Notes = append(append(runs.Notes, notes...), linesNote(kept))
	run := testrun.Run{Key: "lines", Date: kept[0].Day}
	if version := last.Series.Labels; len(version) > 0 && isCommit(version[0].Value) {
		run.Commit = version[0].Value
	}
	if err := runs.AddLines(ctx, kept, testrun.Benchmark{Group: last.Series.Service, Name: t.Name}, run); err != nil {
		return nil, err
	}
	asRuns(s)
	return runs, nil
}

// linesNote says what lines are of.
func linesNote(kept []continuous.Lines) string {
	parts, services, versions := int64(0), map[string]bool{}, map[string]bool{}
	for i := range kept {
		l := &kept[i]
		parts += l.Windows
		services[l.Series.Service] = true
		if len(l.Series.Labels) > 0 {
			versions[l.Series.Labels[0].Value] = true
		}
	}
	const layout = "2006-01-02"
	text := fmt.Sprintf("lines of %s", words.Counted(int(parts), "window"))
	if len(services) > 1 {
		text += fmt.Sprintf(" of %d services", len(services))
	}
	if len(versions) > 1 {
		text += fmt.Sprintf(" of %d versions, whose lines may differ", len(versions))
	}
	first, last := kept[0].Day.Format(layout), kept[len(kept)-1].Day.Format(layout)
	if first == last {
		text += ", the whole day " + first
	} else {
		text += fmt.Sprintf(", the whole days from %s to %s", first, last)
	}
	if kept[0].Series.Type.Gauge() {
		text += ", mean of a window"
	}
	return text
}

// isCommit reports whether a version may be a commit of git.
func isCommit(version string) bool {
	return len(version) >= 7 && len(version) <= 40 && strings.Trim(version, "0123456789abcdef") == ""
}

// PushedSide is a part of the windows that is summed.
type PushedSide struct {
	Run       string // that it becomes
	Labels    string // besides those of the selection
	Selection *Selection
}

// PushedSums returns a store with the windows of some selections as a run each, of the type
// that the first has unless they name others, and makes the selections those of these runs.
func PushedSums(ctx context.Context, st store.Reader, of ...PushedSide) (*pushed.Store, error) {
	windows, err := WindowsOf(st)
	if err != nil {
		return nil, err
	}
	runs := pushed.New(windows)
	var types []string
	for i := range of {
		s := *of[i].Selection
		if i > 0 && slices.Equal(s.Types, of[0].Selection.Types) {
			s.Types = types // and not another that the text names of other windows
		}
		t, err := pushedSum(ctx, st, runs, &s, of[i].Run, of[i].Labels)
		if err != nil && len(of) > 1 {
			err = fmt.Errorf("%s: %w", of[i].Run, err)
		}
		if err != nil {
			return nil, err
		}
		types = []string{t.String()}
	}
	for i := range of {
		asRuns(of[i].Selection)
		if len(of) > 1 {
			of[i].Selection.Runs = []string{of[i].Run}
		}
	}
	return runs, nil
}

// FindType returns the one type among series that a text names; without a text it is the CPU time, or
// else the only one, and a note names the others.
func FindType(list []continuous.Series, text string) (t continuous.Type, notes []string, err error) {
	types := pushed.Types(list)
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
	if own := words.Clean(named[0].String()); text == "" && len(names) > 1 {
		others := slices.DeleteFunc(names, func(name string) bool { return name == own })
		notes = []string{fmt.Sprintf("type %s; --type shows others: %s", own, strings.Join(others, ", "))}
	}
	return named[0], notes, nil
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
