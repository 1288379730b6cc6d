package trees

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/dendroprof/dendro/continuous"
	"github.com/dendroprof/dendro/internal/words"
	"github.com/dendroprof/dendro/query"
	"github.com/dendroprof/dendro/query/param"
	"github.com/dendroprof/dendro/store"
)

// pushedInput returns the sum of the selected windows as an input.
func pushedInput(ctx context.Context, st store.Store, p *query.Pushed, s *query.Selection, v *viewer, view string,
	more ...string) (in Input, typ continuous.Type, err error) {
	if len(s.Types) > 1 {
		return in, typ, param.Errorf("pushed profiles show one value type: give one --type")
	}
	if flag := v.needsSamples(view, ""); flag != "" {
		return in, typ, param.Errorf("%s needs single samples; pushed profiles are sums of windows", flag)
	}
	windows, err := query.WindowsOf(st)
	if err != nil {
		return in, typ, err
	}
	q, err := p.Query(s, more...)
	if err != nil {
		return in, typ, err
	}
	list, err := windows.Series(ctx, q)
	if err != nil {
		return in, typ, err
	}
	var others []string
	typ, others, err = query.FindType(list, query.TypeOf(s))
	if err != nil {
		return in, typ, err
	}
	q.Type = typ
	sum, err := windows.Tree(ctx, q)
	if err != nil {
		return in, typ, err
	}
	if len(others) > 0 && len(s.Types) == 0 {
		v.note("type %s; --type shows others: %s", words.Clean(typ.String()), strings.Join(others, ", "))
	}
	first, last := span(sum.Series, q)
	const layout = "2006-01-02 15:04"
	text := fmt.Sprintf("%s of %d series from %s to %s UTC", query.Counted(int(sum.Parts), "window"), len(sum.Series),
		first.UTC().Format(layout), last.UTC().Format(layout))
	if typ.Gauge() {
		text += ", mean over time"
	}
	v.note("%s", text)
	v.by = "second"
	if typ.Gauge() {
		v.by = "value"
	}
	return Input{tree: sum.OverTime(), profiles: int(sum.Parts), start: first, duration: sum.Covered,
		period: [2]string{typ.PeriodType, typ.PeriodUnit}}, typ, nil
}

// pushedSides reads the sides of a diff, which are of one type.
func (r *DiffRequest) pushedSides(ctx context.Context, st store.Store, v *viewer) (sides [2][]Input, err error) {
	if (!r.Base.chosen() || !r.Head.chosen()) && !r.twoTypes() {
		return sides, param.Errorf("nothing to compare: give --base-labels and --head-labels, or --base-since, --base-until and --head-since")
	}
	if r.Average.Average != "" || r.RawNames || r.Against != "" {
		return sides, param.Errorf("--average, --raw-names and --against need runs: leave them out with --service and --labels")
	}
	if r.Base.Range != "" || r.Head.Range != "" {
		return sides, param.Errorf("--base-range and --head-range need single samples; pushed profiles have --base-since, --base-until, --head-since and --head-until")
	}
	types := r.Types
	for i, side := range [2]*Side{&r.Base, &r.Head} {
		s := r.Selection
		s.Types = types
		s = side.narrow(s)
		in, typ, err := pushedInput(ctx, st, &r.Pushed, &s, v, r.View, side.Labels)
		if err != nil {
			return sides, fmt.Errorf("%s: %w", sideName(i), err)
		}
		sides[i], types = []Input{in}, []string{typ.String()}
	}
	return sides, nil
}

// span returns the time of the windows of series in a query.
func span(list []continuous.Series, q continuous.Query) (first, last time.Time) {
	for i := range list {
		first, last = continuous.Earlier(first, list[i].First), continuous.Later(last, list[i].Last)
	}
	first = continuous.Later(first, q.From)
	return first, continuous.Later(first, continuous.Earlier(last, q.Until))
}
