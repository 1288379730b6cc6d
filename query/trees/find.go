package trees

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dendroprof/dendro/calltree/callpath"
	"github.com/dendroprof/dendro/internal/words"
	"github.com/dendroprof/dendro/query"
	"github.com/dendroprof/dendro/query/document"
	"github.com/dendroprof/dendro/query/param"
	"github.com/dendroprof/dendro/store"
)

// FindRequest asks where a function or call path occurs.
type FindRequest struct {
	query.Selection `group:"Selection"`
	Pattern         string      `param:"pattern" arg:"pattern" help:"function or call path to find" json:"pattern"`
	MinShare        query.Share `param:"min-share" group:"Limit" arg:"share" help:"minimum share of the profile (5% or 0.05)" json:"minShare,omitempty"`
	MinValue        Amount      `param:"min-value" group:"Limit" arg:"value" help:"minimum value, like --min-share of total or self: 2s, 10MiB, or a number in the unit of the value type" json:"minValue,omitzero"`
	Callees         []string    `param:"callee" group:"View" arg:"name" help:"only where the function found calls this one directly (exact name, glob or /re/); repeatable, all are needed" json:"callee,omitempty"`
	Total           bool        `param:"total" group:"View" help:"share of total: the function and its callees (default)" json:"total,omitempty"`
	Self            bool        `param:"self" group:"View" help:"share of self: the function alone" json:"self,omitempty"`
	By              string      `param:"by" group:"View" arg:"what" choices:"profile,run,benchmark,group,function" help:"one row per profile, run, benchmark, group or function" json:"by,omitempty"`
	Rows            int         `param:"rows" group:"Limit" arg:"n" min:"0" help:"maximum number of rows (0: all)" json:"rows,omitempty"`
}

// FindResult is where the pattern was found, by profile.
type FindResult struct {
	FindHead
	Rows []FindRow `json:"rows"`
}

// FindSumsResult is where the pattern was found, by run, benchmark, group or function.
type FindSumsResult struct {
	FindHead
	Rows []FindSum `json:"rows"`
}

// FindHead begins the documents of what was found.
type FindHead struct {
	Profiles int           `json:"profiles"` // that were searched
	Type     string        `json:"type"`
	Unit     string        `json:"unit"`
	Omitted  query.Omitted `json:"omitted"`
	Notes    []string      `json:"notes"`
	By       string        `json:"by"`
}

// FindRow is a function in one profile.
type FindRow struct {
	Share     float64         `json:"share"` // of the profile: of total, or of self if that is measured
	Self      document.Number `json:"self"`
	Total     document.Number `json:"total"`
	Unit      string          `json:"unit"`
	Group     string          `json:"group"`
	Benchmark string          `json:"benchmark"`
	Run       string          `json:"run"`
	Date      time.Time       `json:"date"`
	Commit    string          `json:"commit"`
	Profile   store.ProfileID `json:"profile"`
	Function  string          `json:"function"`
}

// FindSum is a run, benchmark, group or function with what was found in it. The mean
// share is over the profiles in which the pattern occurs.
type FindSum struct {
	Name      string          `json:"name"`
	Profiles  int             `json:"profiles"`
	MeanShare float64         `json:"meanShare"`
	MaxShare  float64         `json:"maxShare"`
	Self      document.Number `json:"self"`
	Total     document.Number `json:"total"`
}

// Find answers a FindRequest with a row per profile and function.
func Find(ctx context.Context, st store.Store, r *FindRequest) (*FindResult, error) {
	finds, notes, err := r.find(ctx, st, store.FindFunctions)
	if err != nil {
		return nil, err
	}
	rows := r.perProfile(finds)
	shown := query.Filled(words.First(rows, r.Rows))
	return &FindResult{r.head(finds, len(rows)-len(shown), notes), shown}, nil
}

// FindSums answers a FindRequest with a row per run, benchmark, group or function, as By
// says.
func FindSums(ctx context.Context, st store.Store, r *FindRequest) (*FindSumsResult, error) {
	look := store.Find
	if r.By == "function" {
		look = store.FindFunctions
	}
	finds, notes, err := r.find(ctx, st, look)
	if err != nil {
		return nil, err
	}
	rows := r.summed(finds)
	shown := query.Filled(words.First(rows, r.Rows))
	return &FindSumsResult{r.head(finds, len(rows)-len(shown), notes), shown}, nil
}

// look is store.Find or store.FindFunctions.
type look func(ctx context.Context, st store.Reader, q store.Query, pattern string, callees ...string) (*store.Finds, error)

// find returns what is at or above the minimum of the request.
func (r *FindRequest) find(ctx context.Context, st store.Reader, look look) (finds *store.Finds, notes []string, err error) {
	defer func() { err = query.Hinted(ctx, st, &r.Selection, err) }()
	if r.Self && r.Total {
		return nil, nil, param.Errorf("--self and --total exclude each other")
	}
	if r.Pattern == "" {
		return nil, nil, param.Errorf("pattern is missing: the function or call path to find")
	}
	p, err := callpath.Parse(r.Pattern)
	if err != nil {
		return nil, nil, param.Errorf("pattern: %w", err)
	}
	if err := p.Calling(r.Callees...); err != nil {
		return nil, nil, param.Errorf("--callee: %w", err)
	}
	q, notes, err := query.OneType(ctx, st, &r.Selection)
	if err != nil {
		return nil, nil, err
	}
	finds, err = look(ctx, st, q, r.Pattern, r.Callees...)
	if err != nil {
		return nil, nil, err
	}
	if len(finds.Rows) == 0 {
		if err := r.unknown(ctx, st, p); err != nil {
			return nil, nil, err
		}
	}
	found := len(finds.Rows)
	least, err := r.MinValue.in(finds.Profiles)
	if err != nil {
		return nil, nil, err
	}
	finds.Rows = slices.DeleteFunc(finds.Rows, func(row store.FindRow) bool {
		value := row.Total
		if r.Self {
			value = row.Self
		}
		return r.share(finds, row) < float64(r.MinShare) || value < least[row.Profile] || row.Self == 0 && row.Total == 0
	})
	switch {
	case len(finds.Rows) > 0:
	case found == 0:
		notes = append(notes, fmt.Sprintf("%s is not in %s", r.Pattern, query.Counted(len(finds.Profiles), "selected profile")))
	default:
		limit := "--min-share"
		if r.MinValue != (Amount{}) {
			limit = "--min-value"
		}
		notes = append(notes, fmt.Sprintf("%s is below %s in %s", r.Pattern, limit, query.Counted(len(finds.Profiles), "selected profile")))
	}
	return finds, notes, nil
}

// unknown returns an error if the pattern is of a function that no profile in the store has.
func (r *FindRequest) unknown(ctx context.Context, st store.Reader, p *callpath.Pattern) error {
	functions, err := st.FunctionNames(ctx)
	if err != nil {
		return err
	}
	names := query.NamesOf(functions)
	if !p.Single() {
		for step, of := range p.Functions(names) {
			if !slices.Contains(of, true) {
				return fmt.Errorf("%w: no function in the store matches %s%s", store.ErrNothing, words.Clean(p.Name(step)), words.DidYouMean(p.Name(step), names))
			}
		}
		return nil
	}
	if slices.Contains(p.Functions(names)[0], true) {
		return nil
	}
	return fmt.Errorf("%w: no function in the store matches %s%s", store.ErrNothing, words.Clean(r.Pattern), words.DidYouMean(r.Pattern, names))
}

// head describes what was searched.
func (r *FindRequest) head(f *store.Finds, omitted int, notes []string) FindHead {
	out := FindHead{Profiles: len(f.Profiles), By: r.By, Notes: notes, Omitted: query.Omitted{Rows: omitted}}
	if len(f.Profiles) > 0 {
		out.Type, out.Unit = f.Profiles[0].Type.Name, f.Profiles[0].Type.Unit
	}
	return out
}

// share returns the share of a row in its profile, as measured.
func (r *FindRequest) share(f *store.Finds, row store.FindRow) float64 {
	if r.Self {
		return query.ShareOf(row.Self, f.Profiles[row.Profile].Sum)
	}
	return query.ShareOf(row.Total, f.Profiles[row.Profile].Sum)
}

// perProfile lists a row per function and profile, the largest share first.
func (r *FindRequest) perProfile(f *store.Finds) []FindRow {
	slices.SortStableFunc(f.Rows, func(a, b store.FindRow) int { return cmp.Compare(r.share(f, b), r.share(f, a)) })
	rows := make([]FindRow, len(f.Rows))
	for i, row := range f.Rows {
		p := &f.Profiles[row.Profile]
		rows[i] = FindRow{r.share(f, row), document.Whole(row.Self, p.Type.Scale), document.Whole(row.Total, p.Type.Scale), p.Type.Unit, p.Benchmark.Group, p.Benchmark.Name,
			p.Run.Key, p.Run.Date, p.Run.Commit, p.ID, row.Function}
	}
	return rows
}

// key returns what a row is summed under: two benchmarks may have one text.
func (r *FindRequest) key(p *store.Profile, function string) any {
	switch r.By {
	case "run":
		return p.Run.Key
	case "benchmark":
		return p.Benchmark
	case "group":
		return p.Benchmark.Group
	default:
		return function
	}
}

// summed sums the rows per run, benchmark, group or function.
func (r *FindRequest) summed(f *store.Finds) []FindSum {
	type sum struct {
		FindSum
		profiles    map[int32]bool
		self, total int64
		shares      float64
	}
	var order []*sum
	byKey := map[any]*sum{}
	for _, row := range f.Rows {
		p := &f.Profiles[row.Profile]
		key := r.key(p, row.Function)
		s := byKey[key]
		if s == nil {
			s = &sum{FindSum: FindSum{Name: fmt.Sprint(key)}, profiles: map[int32]bool{}}
			byKey[key] = s
			order = append(order, s)
		}
		s.profiles[row.Profile] = true
		s.self += row.Self
		s.total += row.Total
		s.shares += r.share(f, row)
		s.MaxShare = max(s.MaxShare, r.share(f, row))
	}
	rows := make([]FindSum, len(order))
	for i, s := range order {
		scale := f.Profiles[0].Type.Scale // of all: a selection has one type
		s.Profiles, s.MeanShare = len(s.profiles), s.shares/float64(len(s.profiles))
		s.Self, s.Total = document.Whole(s.self, scale), document.Whole(s.total, scale)
		rows[i] = s.FindSum
	}
	if r.By != "run" { // runs stay in the order of time
		slices.SortStableFunc(rows, func(a, b FindSum) int {
			return cmp.Or(cmp.Compare(b.MeanShare, a.MeanShare), cmp.Compare(a.Name, b.Name))
		})
	}
	return rows
}

func abs(v int64) int64 {
	if v < 0 {
		return -v
	}
	return v
}

// Amount is a value with a unit, or with none: then it is in the unit of the value type.
// The zero Amount is not set.
type Amount struct {
	Value float64
	Unit  string // nanoseconds, bytes or empty
}

// units are the units that people write, as multiples of those of value types.
var units = map[string]Amount{"": {1, ""}, "ns": {1, "nanoseconds"}, "us": {1e3, "nanoseconds"}, "µs": {1e3, "nanoseconds"}, "ms": {1e6, "nanoseconds"}, "s": {1e9, "nanoseconds"},
	"min": {60e9, "nanoseconds"}, "h": {3600e9, "nanoseconds"}, "B": {1, "bytes"}, "kB": {1e3, "bytes"}, "MB": {1e6, "bytes"}, "GB": {1e9, "bytes"},
	"KiB": {1 << 10, "bytes"}, "MiB": {1 << 20, "bytes"}, "GiB": {1 << 30, "bytes"}}

// UnmarshalText parses 2s, 1.5 MiB or 100.
func (a *Amount) UnmarshalText(text []byte) error {
	at := strings.LastIndexAny(string(text), "0123456789.") + 1
	v, err := strconv.ParseFloat(strings.TrimSpace(string(text[:at])), 64)
	unit, known := units[strings.TrimSpace(string(text[at:]))]
	if err != nil || !known || !(v >= 0) || math.IsInf(v, 0) {
		return param.Errorf("%.60q is not a value (2s, 300ms, 10MiB, or a number)", text)
	}
	*a = Amount{v * unit.Value, unit.Unit}
	return nil
}

// in returns the amount as stored values of each profile. Times are also those of counted
// samples whose period is a time.
func (a Amount) in(profiles []store.Profile) ([]int64, error) {
	least := make([]int64, len(profiles))
	for i := range profiles {
		t := &profiles[i].Type
		v, unit := a.Value*math.Pow10(t.Scale), t.Unit
		switch {
		case unit == "milliseconds" && a.Unit == "nanoseconds":
			v, unit = v/1e6, a.Unit
		case unit == "microseconds" && a.Unit == "nanoseconds":
			v, unit = v/1e3, a.Unit
		case unit == "count" && a.Unit != "" && t.PeriodUnit == a.Unit && t.Period > 0:
			v, unit = v/float64(t.Period), a.Unit
		}
		if a.Unit != "" && a.Unit != unit {
			return nil, param.Errorf("--min-value is in %s, the value type %s is in %s", a.Unit, t.Name, t.Unit)
		}
		least[i] = int64(math.Ceil(min(v, 1<<62)))
	}
	return least, nil
}
