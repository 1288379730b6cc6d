// Package find answers where a function or a call path occurs, and how much it uses there: by
// profile, or summed by run, benchmark, group or function.
//
// It models a pattern, what it matched in each profile, and the minimum from which a row counts.
// It does not model trees: stores match patterns, and package trees reads the samples that labels
// select.
package find

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/calltree/callpath"
	"github.com/dendroprof/dendro/internal/words"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/query"
	"github.com/dendroprof/dendro/query/document"
	"github.com/dendroprof/dendro/query/param"
	"github.com/dendroprof/dendro/query/trees"
	"github.com/dendroprof/dendro/store"
)

// Request asks where a function or call path occurs.
type Request struct {
	query.Selection   `group:"Selection"`
	Pattern           string      `param:"pattern" arg:"pattern" help:"function or call path to find" json:"pattern"`
	MinShare          query.Share `param:"min-share" group:"Limit" arg:"share" help:"minimum share of the samples of a row's profiles (5% or 0.05)" json:"minShare,omitempty"`
	MinValue          Amount      `param:"min-value" group:"Limit" arg:"value" help:"minimum value of a row, like --min-share of total or self: 2s, 10MiB, or a number in the unit of the value type" json:"minValue,omitzero"`
	InAnyRun          bool        `param:"in-any-run" group:"Limit" help:"with --by: keep rows of which a single profile reaches the minimum" json:"inAnyRun,omitempty"`
	Callees           []string    `param:"callee" group:"View" arg:"name" help:"only where the function found calls this one directly (exact name, glob or /re/); repeatable, all are needed" json:"callee,omitempty"`
	trees.LabelFilter `group:"View"`
	Total             bool   `param:"total" group:"View" help:"share of total: the function and its callees (default)" json:"total,omitempty"`
	Self              bool   `param:"self" group:"View" help:"share of self: the function alone" json:"self,omitempty"`
	By                string `param:"by" group:"View" arg:"what" choices:"profile,run,benchmark,group,function" help:"one row per profile, run, benchmark, group or function" json:"by,omitempty"`
	Rows              int    `param:"rows" group:"Limit" arg:"n" min:"0" help:"maximum number of rows (0: all)" json:"rows,omitempty"`

	Limits profile.Limits `json:"-"` // of original files that are decoded
}

// Result is where the pattern was found, by profile.
type Result struct {
	Head
	Rows []Row `json:"rows"`
}

// SumsResult is where the pattern was found, by run, benchmark, group or function.
type SumsResult struct {
	Head
	Rows []Sum `json:"rows"`
}

// Head begins the documents of what was found.
type Head struct {
	Profiles int           `json:"profiles"` // that were searched
	Type     string        `json:"type"`
	Unit     string        `json:"unit"`
	Omitted  query.Omitted `json:"omitted"`
	Notes    []string      `json:"notes"`
	By       string        `json:"by"`
}

// Row is a function in one profile.
type Row struct {
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

// Sum is a run, benchmark, group or function with what was found in its profiles. A
// profile without the pattern counts as 0: the share is of all samples of the row.
type Sum struct {
	Name      string `json:"name"`
	Group     string `json:"group,omitempty"`     // of a benchmark or group
	Benchmark string `json:"benchmark,omitempty"` // of a benchmark

	Profiles int             `json:"profiles"` // in which it was found; with InAnyRun that reach the minimum
	Of       int             `json:"of"`       // selected profiles of the row
	Share    float64         `json:"share"`    // of the samples of all of them
	MaxShare float64         `json:"maxShare"` // of one profile
	MaxRun   string          `json:"maxRun"`   // the run of that profile
	Self     document.Number `json:"self"`
	Total    document.Number `json:"total"`
}

// Find answers a Request with a row per profile and function.
func Find(ctx context.Context, st store.Store, r *Request) (*Result, error) {
	f, err := r.find(ctx, st, true)
	if err != nil {
		return nil, err
	}
	rows := f.perProfile()
	shown := words.Filled(words.First(rows, r.Rows))
	return &Result{f.head(len(rows), len(shown)), shown}, nil
}

// Sums answers a Request with a row per run, benchmark, group or function, as By
// says.
func Sums(ctx context.Context, st store.Store, r *Request) (*SumsResult, error) {
	f, err := r.find(ctx, st, r.By == "function")
	if err != nil {
		return nil, err
	}
	rows := f.summed()
	shown := words.Filled(words.First(rows, r.Rows))
	return &SumsResult{f.head(len(rows), len(shown)), shown}, nil
}

// View returns the view that a Request names.
func View(r *Request) query.View[Request] {
	if r.By == "profile" {
		return query.ViewOf(Find)
	}
	return query.ViewOf(Sums)
}

// found is what a request found, before its minimum.
type found struct {
	*Request
	all   *store.Finds
	least []int64 // MinValue in each profile
	notes []string
}

// find looks for the pattern of the request, or for each function that it matches.
func (r *Request) find(ctx context.Context, st store.Store, functions bool) (f *found, err error) {
	defer func() { err = query.Hinted(ctx, st, &r.Selection, err) }()
	if r.Self && r.Total {
		return nil, param.Errorf("--self and --total exclude each other")
	}
	if r.InAnyRun && r.By == "profile" {
		return nil, param.Errorf("--in-any-run needs --by run, benchmark, group or function: without it each row is one run")
	}
	if r.Pattern == "" {
		return nil, param.Errorf("pattern is missing: the function or call path to find")
	}
	p, err := callpath.Parse(r.Pattern)
	if err != nil {
		return nil, param.Errorf("pattern: %w", err)
	}
	if err := p.Calling(r.Callees...); err != nil {
		return nil, param.Errorf("--callee: %w", err)
	}
	q, notes, err := query.OneType(ctx, st, &r.Selection)
	if err != nil {
		return nil, err
	}
	var finds *store.Finds
	if r.LabelFilter.Flag() != "" {
		var more []string
		finds, more, err = r.inOriginals(ctx, st, q, p, functions)
		notes = append(notes, more...)
	} else {
		finds, err = store.Find(ctx, st, q, p, functions)
	}
	if err != nil {
		return nil, err
	}
	if len(finds.Rows) == 0 {
		if err := unknown(ctx, st, p, finds.Names); err != nil {
			return nil, err
		}
	}
	if r.By != "profile" { // whose values are added
		if err := store.OneType(finds.Profiles, q); err != nil {
			return nil, err
		}
	}
	least, err := r.MinValue.in(finds.Profiles)
	if err != nil {
		return nil, err
	}
	finds.Rows = slices.DeleteFunc(finds.Rows, func(row store.FindRow) bool { return row.Self == 0 && row.Total == 0 })
	return &found{r, finds, least, notes}, nil
}

// inOriginals looks for the pattern in the samples that the labels select. The sum of a
// profile is that of these samples.
func (r *Request) inOriginals(ctx context.Context, st store.Store, q store.Query, p *callpath.Pattern, functions bool) (*store.Finds,
	[]string, error) {
	p.StopWhen(func() bool { return ctx.Err() != nil })
	out := &store.Finds{}
	typ := query.TypeOf(&r.Selection)
	notes, err := trees.EachLabelled(ctx, st, q, typ, &r.LabelFilter, r.Limits, func(stored store.Profile, t *calltree.Tree) {
		at := int32(len(out.Profiles))
		out.Profiles = append(out.Profiles, stored)
		if functions && p.Single() {
			matches := p.Functions(query.NamesOf(t.Functions))[0]
			for _, row := range t.FunctionRows() {
				if matches[row.Func] {
					out.Rows = append(out.Rows, store.FindRow{Profile: at, Function: t.Functions[row.Func].Name, Self: row.Self, Total: row.Total})
				}
			}
			return
		}
		v := calltree.Vector{Self: t.Self}
		for n := range t.Self {
			v.Nodes = append(v.Nodes, int32(n))
		}
		self, total := p.Spans(t.Table).Sum(v)
		out.Rows = append(out.Rows, store.FindRow{Profile: at, Function: r.Pattern, Self: self, Total: total})
	})
	if err != nil {
		return nil, nil, err
	}
	return out, notes, ctx.Err()
}

// unknown returns an error if the pattern has a function that no profile in the store has. Nil
// names are read.
func unknown(ctx context.Context, st store.Reader, p *callpath.Pattern, names []string) error {
	if names == nil {
		functions, err := st.FunctionNames(ctx)
		if err != nil {
			return err
		}
		names = query.NamesOf(functions)
	}
	for step, of := range p.Functions(names) {
		if !slices.Contains(of, true) {
			return fmt.Errorf("%w: no function in the store matches %s%s", store.ErrNothing, words.Clean(p.Name(step)),
				words.DidYouMean(p.Name(step), names))
		}
	}
	return nil
}

// head describes what was searched, and says why no row is listed.
func (f *found) head(rows, shown int) Head {
	out := Head{Profiles: len(f.all.Profiles), By: f.By, Notes: f.notes, Omitted: query.Omitted{Rows: rows - shown}}
	if len(f.all.Profiles) > 0 {
		out.Type, out.Unit = f.all.Profiles[0].Type.Name, f.all.Profiles[0].Type.Unit
	}
	if rows == 0 {
		why := "is not in"
		switch {
		case len(f.all.Rows) > 0 && f.MinValue != (Amount{}):
			why = "is below --min-value in"
		case len(f.all.Rows) > 0:
			why = "is below --min-share in"
		}
		out.Notes = append(out.Notes, fmt.Sprintf("%s %s %s", f.Pattern, why, words.Counted(len(f.all.Profiles), "selected profile")))
	}
	return out
}

// value returns what is measured of a row: total, or self.
func (f *found) value(row store.FindRow) int64 {
	if f.Self {
		return row.Self
	}
	return row.Total
}

// share returns the share of a row in its profile, as measured.
func (f *found) share(row store.FindRow) float64 {
	return query.ShareOf(f.value(row), f.all.Profiles[row.Profile].Sum)
}

// reaches reports whether a row of a profile is at or above the minimum.
func (f *found) reaches(row store.FindRow) bool {
	return f.share(row) >= float64(f.MinShare) && f.value(row) >= f.least[row.Profile]
}

// perProfile lists a row per function and profile, the largest share first.
func (f *found) perProfile() []Row {
	var rows []Row
	for _, row := range f.all.Rows {
		if f.reaches(row) {
			p := &f.all.Profiles[row.Profile]
			rows = append(rows, Row{Share: f.share(row), Self: document.Whole(row.Self, p.Type.Scale),
				Total: document.Whole(row.Total, p.Type.Scale), Unit: p.Type.Unit, Group: p.Benchmark.Group, Benchmark: p.Benchmark.Name,
				Run: p.Run.Key, Date: p.Run.Date, Commit: p.Run.Commit, Profile: p.ID, Function: row.Function})
		}
	}
	slices.SortStableFunc(rows, func(a, b Row) int { return cmp.Compare(b.Share, a.Share) })
	return rows
}

// key returns what a profile is summed under: two benchmarks may have one text. Functions
// are summed over all profiles.
func (f *found) key(p *store.Profile) any {
	switch f.By {
	case "run":
		return p.Run.Key
	case "benchmark":
		return p.Benchmark
	case "group":
		return p.Benchmark.Group
	default:
		return nil
	}
}

// summed sums the rows per run, benchmark, group or function, and lists the sums that are
// at or above the minimum.
func (f *found) summed() []Sum {
	type whole struct { // of the profiles of a key
		profiles int
		sum      int64
	}
	type place struct {
		key      any
		function string
	}
	type sum struct {
		Sum
		self, total int64
		least       int64
	}
	of := map[any]*whole{}
	for i := range f.all.Profiles {
		key := f.key(&f.all.Profiles[i])
		if of[key] == nil {
			of[key] = new(whole)
		}
		of[key].profiles++
		of[key].sum += f.all.Profiles[i].Sum
	}
	var order []place
	sums := map[place]*sum{}
	for _, row := range f.all.Rows {
		p := &f.all.Profiles[row.Profile]
		at := place{key: f.key(p)}
		name := fmt.Sprint(at.key)
		if f.By == "function" {
			at.function, name = row.Function, row.Function
		}
		s := sums[at]
		if s == nil {
			s = &sum{Sum: Sum{Name: name, Of: of[at.key].profiles}, least: f.least[row.Profile]}
			switch f.By {
			case "benchmark":
				s.Group, s.Benchmark = p.Benchmark.Group, p.Benchmark.Name
			case "group":
				s.Group = p.Benchmark.Group
			}
			sums[at] = s
			order = append(order, at)
		}
		if !f.InAnyRun || f.reaches(row) {
			s.Profiles++
		}
		s.self += row.Self
		s.total += row.Total
		if share := f.share(row); s.MaxRun == "" || share > s.MaxShare {
			s.MaxShare, s.MaxRun = share, p.Run.Key
		}
	}
	var rows []Sum
	for _, at := range order {
		s := sums[at]
		value := f.value(store.FindRow{Self: s.self, Total: s.total})
		s.Share = query.ShareOf(value, of[at.key].sum)
		if s.Profiles == 0 || !f.InAnyRun && (s.Share < float64(f.MinShare) || value < s.least) {
			continue
		}
		scale := f.all.Profiles[0].Type.Scale // of all: a selection has one type
		s.Self, s.Total = document.Whole(s.self, scale), document.Whole(s.total, scale)
		rows = append(rows, s.Sum)
	}
	if f.By != "run" { // runs stay in the order of time
		slices.SortStableFunc(rows, func(a, b Sum) int {
			return cmp.Or(cmp.Compare(b.Share, a.Share), cmp.Compare(a.Name, b.Name))
		})
	}
	return rows
}
