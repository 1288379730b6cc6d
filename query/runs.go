package query

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/dendroprof/dendro/calltree/callpath"
	"github.com/dendroprof/dendro/internal/intern"
	"github.com/dendroprof/dendro/internal/words"
	"github.com/dendroprof/dendro/query/param"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/testrun"
)

// RunKeys lists the runs of profiles, in their order.
func RunKeys(list []store.Profile) []string {
	return words.Filled(Distinct(list, func(p *store.Profile) string { return p.Run.Key }))
}

// Distinct lists the values of a field that are not empty, in order of appearance.
func Distinct(list []store.Profile, field func(*store.Profile) string) []string {
	var out distinct
	for i := range list {
		out.add(field(&list[i]))
	}
	return out.values
}

// distinct are values that are not empty, each once, in order of appearance.
type distinct struct {
	values []string
	has    map[string]bool
}

func (d *distinct) add(v string) {
	if v == "" || d.has[v] {
		return
	}
	if d.has == nil {
		d.has = map[string]bool{}
	}
	d.has[v] = true
	d.values = append(d.values, v)
}

// RunsRequest asks for the test runs of a selection.
type RunsRequest struct {
	Selection `group:"Selection"`
	Newest    `group:"Limit"`
}

// RunsResult lists runs, oldest first.
type RunsResult struct {
	Omitted Omitted `json:"omitted,omitzero"`
	Rows    []Run   `json:"rows"`
}

// Newest bounds a list of what is in the order of time.
type Newest struct {
	Rows int `param:"rows" arg:"n" min:"0" help:"maximum number of rows, the newest (0: all)" json:"rows,omitempty"`
}

// First returns the first n elements of a list, or all for n 0, and how many are after them.
func First[T any](list []T, n int) ([]T, Omitted) {
	shown := words.First(list, n)
	return shown, Omitted{Rows: len(list) - len(shown)}
}

// NewestOf returns the last n elements of a list, or all for n 0, and how many are before
// them.
func NewestOf[T any](list []T, n int) ([]T, Omitted) {
	if n == 0 || n >= len(list) {
		return list, Omitted{}
	}
	omitted := len(list) - n
	return list[omitted:], Omitted{Rows: omitted}
}

// Run is a test run with what is stored of it.
type Run struct {
	testrun.Run
	Benchmarks int      `json:"benchmarks"`
	Profiles   int      `json:"profiles"`
	Types      []string `json:"types"` // sorted
}

// Runs answers a RunsRequest.
func Runs(ctx context.Context, st store.Store, r *RunsRequest) (*RunsResult, error) {
	list, err := Listed(ctx, st, &r.Selection)
	if err != nil {
		return nil, err
	}
	type part struct {
		run       string
		benchmark testrun.Benchmark
	}
	seen := map[part]bool{}
	index := map[string]int{}
	rows := []Run{}
	for i := range list {
		p := &list[i]
		at := intern.Number(index, &rows, p.Run.Key, Run{Run: p.Run})
		row := &rows[at]
		row.Profiles++
		if key := (part{p.Run.Key, p.Benchmark}); !seen[key] {
			seen[key] = true
			row.Benchmarks++
		}
		if !slices.Contains(row.Types, p.Type.Name) {
			row.Types = append(row.Types, p.Type.Name)
		}
	}
	for i := range rows {
		slices.Sort(rows[i].Types)
	}
	shown, omitted := NewestOf(rows, r.Rows)
	return &RunsResult{omitted, shown}, nil
}

// ProfilesResult lists profiles in the order of their runs.
type ProfilesResult struct {
	Omitted Omitted         `json:"omitted,omitzero"`
	Rows    []store.Profile `json:"rows"`
}

// ProfilesRequest asks for the profiles of a selection.
type ProfilesRequest struct {
	Selection `group:"Selection"`
	Order     string `param:"order" group:"View" arg:"what" choices:"run,import" help:"order: of their runs, or of their import"`
	Required  bool   `param:"required" group:"View" help:"that there is no profile is an error, which says what the store has"`
	Newest    `group:"Limit"`
}

// Profiles lists the profiles of a selection.
func Profiles(ctx context.Context, st store.Store, r *ProfilesRequest) (*ProfilesResult, error) {
	list, err := st.Profiles(ctx, r.Selection)
	if err == nil && len(list) == 0 && r.Required {
		err = Hinted(ctx, st, &r.Selection, store.OneType(nil, r.Selection))
	}
	if err != nil {
		return nil, err
	}
	if r.Order == "import" {
		list = slices.Clone(list)
		slices.SortStableFunc(list, func(a, b store.Profile) int { return cmp.Compare(a.Seq, b.Seq) })
	}
	shown, omitted := NewestOf(words.Filled(list), r.Rows)
	return &ProfilesResult{omitted, shown}, nil
}

// FunctionNamesRequest asks for the functions of a store.
type FunctionNamesRequest struct {
	Pattern string `param:"pattern" arg:"pattern" help:"functions that match this exact name, glob or /regular expression/" json:"pattern,omitempty"`
	Rows    int    `param:"rows" arg:"n" min:"0" help:"maximum number of rows (0: all)" json:"rows,omitempty"`
}

// FunctionNamesResult lists functions by name.
type FunctionNamesResult struct {
	Omitted Omitted    `json:"omitted"`
	Rows    []Function `json:"rows"`
}

// FunctionNames answers a FunctionNamesRequest.
func FunctionNames(ctx context.Context, st store.Store, r *FunctionNamesRequest) (*FunctionNamesResult, error) {
	var pattern *callpath.Pattern
	if r.Pattern != "" {
		var err error
		if pattern, err = callpath.Parse(r.Pattern); err != nil {
			return nil, param.Errorf("pattern: %w", err)
		} else if !pattern.Single() {
			return nil, param.Errorf("pattern %.60q is a call path; give one function", r.Pattern)
		}
	}
	list, err := st.FunctionNames(ctx)
	if err != nil {
		return nil, err
	}
	match := make([]bool, len(list))
	if pattern != nil {
		names := NamesOf(list)
		pattern.StopWhen(func() bool { return ctx.Err() != nil })
		if match = pattern.Functions(names)[0]; ctx.Err() != nil {
			return nil, ctx.Err()
		}
	}
	rows := []Function{}
	for i := range list {
		if pattern == nil || match[i] {
			rows = append(rows, FunctionOf(&list[i]))
		}
	}
	shown, omitted := First(rows, r.Rows)
	return &FunctionNamesResult{omitted, shown}, nil
}

// PruneRequest asks for the removal of old profiles.
type PruneRequest struct {
	Selection `group:"Selection"`
	Keep      int       `param:"keep" group:"Limit" arg:"n" min:"0" help:"keep the newest n runs of each benchmark (0: all)" json:"keep,omitempty"`
	OlderThan time.Time `param:"older-than" group:"Limit" arg:"age" help:"remove runs older than this age (90d, 12h) or before this date" json:"olderThan,omitzero"`
	Yes       bool      `param:"yes" group:"Limit" help:"remove more than half of the profiles of the store without asking" json:"yes,omitempty"`
	DryRun    bool      `param:"dry-run" group:"Output" help:"report what would be removed; remove nothing" json:"dryRun,omitempty"`
}

// OfPushed refuses pushed profiles: a server removes them by their age.
func (r *PruneRequest) OfPushed(context.Context, store.Store) (store.Store, error) {
	return nil, param.Errorf("prune removes runs: pushed profiles are removed by dendro serve, as its flags --continuous-keep-raw, …-hours and …-days say")
}

// PruneResult counts profiles.
type PruneResult struct {
	Removed int  `json:"removed"` // or with DryRun would be
	Kept    int  `json:"kept"`    // of the selection
	Stored  int  `json:"stored"`  // in the whole store before
	DryRun  bool `json:"dryRun"`
}

// Prune removes profiles older than an age, beyond the newest runs of their benchmark,
// or with both those to which both apply.
func Prune(ctx context.Context, st store.Store, r *PruneRequest) (*PruneResult, error) {
	if r.Keep <= 0 && r.OlderThan.IsZero() {
		return nil, param.Errorf("give --keep of at least 1, --older-than, or both (--older-than 0d removes all that is selected)")
	}
	list, err := Listed(ctx, st, &r.Selection)
	if err != nil {
		return nil, err
	}
	all, err := st.Profiles(ctx, store.Query{})
	if err != nil {
		return nil, err
	}
	ids := store.Old(list, r.Keep, r.OlderThan)
	result := PruneResult{Removed: len(ids), Stored: len(all), DryRun: r.DryRun}
	if result.Most() && !r.Yes && !r.DryRun {
		return nil, param.Errorf("this removes %s of the %s in the store: --yes confirms it, --dry-run only reports it", words.Count(len(ids)), words.Counted(len(all), "profile"))
	}
	removed := len(ids)
	if !r.DryRun {
		if removed, err = st.Delete(ctx, ids); err != nil {
			return nil, err
		}
	}
	result.Removed, result.Kept = removed, len(list)-removed
	return &result, nil
}

// Most reports whether more than half of the store is removed.
func (r *PruneResult) Most() bool { return 2*r.Removed > r.Stored }

// CompactResult says what a store holds before and after it was compacted.
type CompactResult struct {
	Before store.Info `json:"before"`
	After  store.Info `json:"after"`
}

// Compact drops unused paths and functions and reclaims their space.
func Compact(ctx context.Context, st store.Store) (*CompactResult, error) {
	var r CompactResult
	var err error
	if r.Before, err = st.Info(ctx); err != nil {
		return nil, err
	}
	if err = st.Compact(ctx); err != nil {
		return nil, err
	}
	r.After, err = st.Info(ctx)
	return &r, err
}

// RunsOf counts the runs of profiles: "12 runs, run-001 … run-012".
func RunsOf(list []store.Profile) string {
	keys := Distinct(list, func(p *store.Profile) string { return p.Run.Key })
	switch n := len(keys); n {
	case 0:
		return "no runs"
	case 1:
		return "run " + keys[0]
	default:
		return fmt.Sprintf("%d runs, %s … %s", n, keys[0], keys[n-1])
	}
}
