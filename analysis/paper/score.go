// Package paper has the methods of the paper (Lundberg and Rettig, LU-CS-EX 2024-47) that
// compare the newest runs of a benchmark with those before: the time series score of each
// function, and Hotelling's test of the functions of a subtree together.
//
//	Scores     ScoreRequest     ──▶ functions by (x₀ - mean) ÷ std
//	Hotelling  HotellingRequest ──▶ subtrees by the probability of T²
//
// They are here to be compared with, and where their assumptions hold; package regression
// has the method that Dendro judges by. Which runs compare is the same for all
// (history.Tests). The paper's potentials and correlations are in package bottleneck, its
// expansion of call paths in package expansion. docs/method/paper.md has formulas and limits.
package paper

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/dendroprof/dendro/analysis/history"
	"github.com/dendroprof/dendro/analysis/stat"
	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/store"
)

// Measure is what the paper's method counts of a function: its total, its self, or its
// subtree potential of degree n, in which a sample counts if the function is its
// innermost one or one of the n nearest ancestors.
type Measure struct {
	potential bool
	degree    int // of a potential; -1: total
}

// The measures without a degree.
var (
	Total = Measure{degree: -1}
	Self  = Measure{}
)

// ParseMeasure parses "total", "self" or "potential:n".
func ParseMeasure(text string) (Measure, error) {
	switch text {
	case "total", "":
		return Total, nil
	case "self":
		return Self, nil
	}
	if digits, ok := strings.CutPrefix(text, "potential:"); ok {
		if n, err := strconv.Atoi(digits); err == nil && n >= 0 {
			return Measure{potential: true, degree: n}, nil
		}
	}
	return Measure{}, fmt.Errorf("measure %q is not total, self or potential:n", text)
}

// paperRuns is the paper's window.
const paperRuns = 10

// ScoreRow is one function in the paper's ranking.
type ScoreRow struct {
	Score     float64     `json:"score"`
	Expected  float64     `json:"expected"` // mean of the history, in the type's stored unit
	Actual    float64     `json:"actual"`
	Diff      float64     `json:"diff"`
	Status    string      `json:"status"` // "+" first seen now, "-" seen before and not now
	Function  string      `json:"function"`
	Benchmark string      `json:"benchmark"` // with its group
	Run       string      `json:"run"`       // the tested run
	Of        history.Key `json:"-"`
}

// ScoreResult is the result of Scores.
type ScoreResult struct {
	Rows []ScoreRow // by score, then benchmark and function
	// Series are the benchmarks with rows: the last run of each was scored against the
	// window before it, and earlier runs show the way there.
	Series   []history.Series
	Window   int
	Warnings []string // benchmarks with fewer than two runs before
}

// ScoreRequest asks for scores.
type ScoreRequest struct {
	history.Tests         // K does not count: the newest selected run is tested; Window is n, by default 10
	Measure       Measure // zero: self
}

// Scores ranks functions by the time series score of the paper (Lundberg and Rettig,
// LU-CS-EX 2024-47): (x₀ - mean)/std over the n runs before the newest selected one
// (default 10, minimum 2), with the sample standard deviation. A run without the
// function counts as 0; the score is 0 if std is 0. So a new function scores 0, and
// ancestors score with the functions they call; docs/method/regression.md shows the
// effect.
func Scores(ctx context.Context, st store.Reader, q store.Query, req ScoreRequest) (*ScoreResult, error) {
	req.K = 1
	n := cmp.Or(req.Window, paperRuns)
	if n < 2 {
		return nil, fmt.Errorf("the score needs at least 2 runs before the tested one, not %d", n)
	}
	req.Window = max(n, history.Window)
	list, _, err := req.Series(ctx, st, q, req.Options(1))
	if err != nil {
		return nil, err
	}
	res := &ScoreResult{Window: n}
	for i := range list {
		s := &list[i]
		if len(s.Profiles) < 3 {
			res.Warnings = append(res.Warnings, tooShort(s))
			continue
		}
		rows, err := scoreRows(ctx, st, s.Newest(n+1), req.Measure)
		if err != nil {
			return nil, err
		}
		res.Rows = append(res.Rows, rows...)
		res.Series = append(res.Series, *s)
	}
	slices.SortStableFunc(res.Rows, func(a, b ScoreRow) int {
		return cmp.Or(-cmp.Compare(a.Score, b.Score), a.Of.Benchmark.Compare(b.Of.Benchmark), cmp.Compare(a.Function, b.Function))
	})
	return res, nil
}

// tooShort reports that a series has no deviation, and the runs that it leaves out.
func tooShort(s *history.Series) string {
	text := fmt.Sprintf("%s: %d runs before the tested one, at least 2 are needed", s.Benchmark, len(s.Profiles)-1)
	for _, l := range s.LeftOut {
		text += fmt.Sprintf("; %d runs of the benchmark are not its history: %s", l.Runs, l.Reason)
	}
	if len(s.LeftOut) > 0 {
		text += " (--history, --any-branch)"
	}
	return text
}

func scoreRows(ctx context.Context, st store.Reader, s *history.Series, m Measure) ([]ScoreRow, error) {
	profiles := s.Profiles
	values, err := measure(ctx, st, profiles, m)
	if err != nil {
		return nil, fmt.Errorf("history of %s: %w", s.Benchmark, err)
	}
	last := len(profiles) - 1
	rows := make([]ScoreRow, 0, len(values))
	for name, x := range values {
		r := ScoreRow{Of: s.Key(), Benchmark: s.Benchmark.String(), Run: profiles[last].Run.Key,
			Function: name, Actual: x[last]}
		r.Score, r.Expected = Score(x[last], x[:last])
		r.Diff = r.Actual - r.Expected
		switch {
		case r.Expected == 0 && r.Actual != 0:
			r.Status = "+"
		case r.Expected != 0 && r.Actual == 0:
			r.Status = "-"
		}
		rows = append(rows, r)
	}
	return rows, nil
}

// Score returns the score of x against a history, in which runs without the
// function are zeros, and the history's mean.
func Score(x float64, hist []float64) (score, mean float64) {
	mean = stat.Mean(hist)
	std := math.Sqrt(stat.Variance(hist))
	if std == 0 {
		return 0, mean
	}
	return (x - mean) / std, mean
}

// measure returns the values of every function, one per profile.
func measure(ctx context.Context, st store.Reader, profiles []store.Profile, m Measure) (map[string][]float64, error) {
	q := store.Query{}
	place := map[store.ProfileID]int{}
	for i, p := range profiles {
		q.Profiles = append(q.Profiles, p.ID)
		place[p.ID] = i
	}
	values := map[string][]float64{}
	add := func(name string, profile int, v int64) {
		if values[name] == nil {
			values[name] = make([]float64, len(profiles))
		}
		values[name][profile] += float64(v)
	}
	if m.potential {
		return values, potentials(ctx, st, q, place, m.degree, add)
	}
	set, err := st.Functions(ctx, q, nil)
	if err != nil {
		return nil, err
	}
	for rows, err := range set.Rows {
		if err != nil {
			return nil, err
		}
		for i := range rows.Profile {
			v := rows.Total[i]
			if m == Self {
				v = rows.Self[i]
			}
			add(set.Functions[rows.Function[i]].Name, place[set.Profiles[rows.Profile[i]].ID], v)
		}
	}
	return values, nil
}

// potentials adds the subtree potentials of a degree: every sample once for each
// function among its innermost one and the n nearest ancestors.
func potentials(ctx context.Context, st store.Reader, q store.Query, place map[store.ProfileID]int, degree int,
	add func(string, int, int64)) error {
	set, err := st.Trees(ctx, q, store.TreeOptions{})
	if err != nil {
		return err
	}
	t := set.Table
	sums := make([]int64, len(t.Functions))
	credited := make([]int, len(t.Functions)) // the last node whose samples it got
	stamp := 0
	for v, err := range set.Vectors {
		if err != nil {
			return err
		}
		clear(sums)
		for i, n := range v.Nodes {
			stamp++
			for d := 0; d <= degree && n != calltree.NoNode; d++ {
				if f := t.Func[n]; credited[f] != stamp {
					credited[f] = stamp
					sums[f] += v.Self[i]
				}
				n = t.Parent[n]
			}
		}
		for f, sum := range sums {
			if sum != 0 {
				add(t.Functions[f].Name, place[set.Profiles[v.Profile].ID], sum)
			}
		}
	}
	return nil
}
