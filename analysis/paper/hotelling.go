package paper

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/dendroprof/dendro/analysis/history"
	"github.com/dendroprof/dendro/analysis/stat"
	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/store"
)

// runsPerVariable is how many runs Hotelling's test needs for each function: a covariance of
// fewer runs is mostly chance.
const runsPerVariable = 3

// HotellingRow is one test: the functions of one subtree in one benchmark.
type HotellingRow struct {
	Group     string  `json:"group,omitempty"`
	Benchmark string  `json:"benchmark"`
	Type      string  `json:"type"`
	Subtree   string  `json:"subtree,omitempty"` // its outermost function; empty: the whole program
	Score     float64 `json:"score"`             // of P, on the scale of a standard normal distribution
	P         float64 `json:"p"`                 // probability of this T² or a larger one without a change
	T2        float64 `json:"t2"`
	F         float64 `json:"f"`
	Freedom   [2]int  `json:"freedom"` // degrees of freedom of F: functions, and what the runs leave
	Base      int     `json:"base"`    // runs before
	Head      int     `json:"head"`    // tested runs
	Run       string  `json:"run"`     // the newest tested run
	// Functions are the variables, the largest first: shares of the program that they
	// use themselves below the subtree's function.
	Functions []HotellingFunction `json:"functions"`
}

// HotellingFunction is a variable of a test.
type HotellingFunction struct {
	Function string  `json:"function"`
	Expected float64 `json:"expected"` // mean share of the runs before
	Actual   float64 `json:"actual"`   // mean share of the tested runs
}

// HotellingResult is the result of Hotelling.
type HotellingResult struct {
	Rows     []HotellingRow   // the least probable first
	Series   []history.Series // the runs of each benchmark, of which the newest were tested
	Warnings []string
}

// HotellingRequest asks for tests of subtrees.
type HotellingRequest struct {
	history.Tests          // K of 0 is 1, Window of 0 is history.Window
	Subtrees      []string // functions whose callees are tested; none: those of the whole program
	Variables     int      // maximum number of functions of a test
}

// Hotelling compares the newest runs of each benchmark with those before by Hotelling's
// two-sample T² test. The variables are the shares of the functions that use most below a
// function, of each of the subtrees. Functions that are constant, or follow from others, do
// not count; how many may count follows from the number of runs.
func Hotelling(ctx context.Context, st store.Reader, q store.Query, req HotellingRequest) (*HotellingResult, error) {
	req.K, req.Window = max(req.K, 1), cmp.Or(req.Window, history.Window)
	list, _, err := req.Series(ctx, st, q, req.Options(req.K))
	if err != nil {
		return nil, err
	}
	subtrees := req.Subtrees
	if len(subtrees) == 0 {
		subtrees = []string{""}
	}
	res := &HotellingResult{}
	for i := range list {
		s := list[i].Newest(req.Window + req.K)
		res.Series = append(res.Series, *s)
		if err := res.add(ctx, st, s, subtrees, req.Variables, req.K); err != nil {
			return nil, fmt.Errorf("%s: %w", s.Benchmark, err)
		}
	}
	slices.SortStableFunc(res.Rows, func(a, b HotellingRow) int { return cmp.Compare(a.P, b.P) })
	return res, nil
}

// add tests the subtrees of one benchmark, the newest k runs against the others.
func (res *HotellingResult) add(ctx context.Context, st store.Reader, s *history.Series, subtrees []string, most, k int) error {
	base := len(s.Profiles) - k
	allowed := min(most, len(s.Profiles)/runsPerVariable)
	if base < 2 || allowed < 1 {
		res.Warnings = append(res.Warnings, fmt.Sprintf("%s has %d runs before the tested ones: at least 2 are needed, and %d runs for each function", s.Benchmark, max(base, 0), runsPerVariable))
		return nil
	}
	shares, err := subtreeShares(ctx, st, s.Profiles, subtrees)
	if err != nil {
		return err
	}
	for i, subtree := range subtrees {
		names := largest(shares[i], allowed)
		rows := make([][]float64, len(s.Profiles))
		for _, name := range names {
			for p := range rows {
				rows[p] = append(rows[p], shares[i][name][p])
			}
		}
		h, ok := stat.HotellingT2(rows[:base], rows[base:])
		if !ok {
			what := "the program"
			if subtree != "" {
				what = subtree
			}
			res.Warnings = append(res.Warnings, fmt.Sprintf("%s: %s has no functions whose shares vary", s.Benchmark, what))
			continue
		}
		row := HotellingRow{Group: s.Benchmark.Group, Benchmark: s.Benchmark.Name, Type: s.Type.Name, Subtree: subtree,
			Score: stat.ScoreOfTail(h.P), P: h.P, T2: h.T2, F: h.F,
			Freedom: [2]int{h.D1, h.D2}, Base: base, Head: k, Run: s.Profiles[len(s.Profiles)-1].Run.Key}
		if allowed < min(most, len(shares[i])) {
			res.Warnings = append(res.Warnings, fmt.Sprintf("%s: %d runs are enough for %d functions, not for %d", s.Benchmark, len(s.Profiles),
				allowed, most))
		}
		for _, n := range h.Kept {
			values := shares[i][names[n]]
			row.Functions = append(row.Functions, HotellingFunction{names[n], stat.Mean(values[:base]), stat.Mean(values[base:])})
		}
		res.Rows = append(res.Rows, row)
	}
	return nil
}

// largest returns the names with the largest mean over all runs, which says nothing of a
// difference between some and the others.
func largest(shares map[string][]float64, n int) []string {
	names := slices.SortedFunc(maps.Keys(shares), func(a, b string) int {
		return cmp.Or(-cmp.Compare(stat.Mean(shares[a]), stat.Mean(shares[b])), cmp.Compare(a, b))
	})
	return names[:min(n, len(names))]
}

// subtreeShares returns, for each subtree, the share that every function uses itself in it,
// one value per profile.
func subtreeShares(ctx context.Context, st store.Reader, profiles []store.Profile, subtrees []string) ([]map[string][]float64, error) {
	set, err := st.Trees(ctx, store.Query{Profiles: store.IDs(profiles)}, store.TreeOptions{})
	if err != nil {
		return nil, err
	}
	place := map[store.ProfileID]int{}
	for i := range profiles {
		place[profiles[i].ID] = i
	}
	t := set.Table
	inside := make([][]bool, len(subtrees))
	shares := make([]map[string][]float64, len(subtrees))
	for i, name := range subtrees {
		shares[i], inside[i] = map[string][]float64{}, make([]bool, t.Len())
		for n := range inside[i] {
			inside[i][n] = name == "" || t.Name(int32(n)) == name || t.Parent[n] != calltree.NoNode && inside[i][t.Parent[n]]
		}
	}
	for v, err := range set.Vectors {
		if err != nil {
			return nil, err
		}
		p := place[set.Profiles[v.Profile].ID]
		for k, n := range v.Nodes {
			for i := range subtrees {
				if !inside[i][n] {
					continue
				}
				name := t.Name(n)
				if shares[i][name] == nil {
					shares[i][name] = make([]float64, len(profiles))
				}
				shares[i][name][p] += float64(v.Self[k])
			}
		}
	}
	for i := range shares {
		for _, values := range shares[i] {
			for p := range values { // of whole sums, whatever the order of the nodes
				values[p] /= math.Max(1, float64(profiles[p].Sum))
			}
		}
	}
	return shares, nil
}
