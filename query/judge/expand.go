package judge

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/dendroprof/dendro/analysis/bottleneck"
	"github.com/dendroprof/dendro/analysis/expansion"
	"github.com/dendroprof/dendro/analysis/history"
	"github.com/dendroprof/dendro/internal/column"
	"github.com/dendroprof/dendro/internal/words"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/query/facts"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/testrun"
)

// Expand searches the contexts of ranked functions.
type Expand struct {
	Expand    string  `param:"expand" arg:"how" choices:",greedy,informed,correlation" default:"" help:"search the contexts in which the functions changed: greedy, informed, correlation" json:"expand,omitempty"`
	Direction string  `param:"expand-to" arg:"what" choices:"both,callers,callees" help:"expand to callers, callees, or both" json:"expandTo,omitempty"`
	Top       int     `param:"expand-top" arg:"n" min:"0" default:"5" help:"maximum functions to expand (0: all)" json:"expandTop,omitempty"`
	MaxDepth  int     `param:"max-depth" arg:"n" min:"1" default:"10" help:"maximum functions per context" json:"maxDepth,omitempty"`
	Breadth   int     `param:"max-breadth" arg:"n" min:"1" default:"2" help:"maximum callers or callees to follow at each step" json:"maxBreadth,omitempty"`
	Threshold float64 `param:"threshold" arg:"score" help:"follow only contexts with a score above this" json:"threshold,omitempty"`
	Score     string  `param:"expand-score" arg:"what" choices:",counts,thesis" default:"" help:"greedy and informed: score of a change: counts (standard deviation at least that of a sample count; default) or thesis (standard deviation of the history; 0 for new contexts)" json:"expandScore,omitempty"`
	HalfLife  float64 `param:"half-life" arg:"days" min:"0" default:"15" help:"informed: age in days at which a change of the code counts half" json:"halfLife,omitempty"`
	// Extend makes a selection in place of the one that Expand names; only from Go.
	Extend func(d *expansion.Data, score expansion.Score) expansion.Selection `json:"-"`

	Reverse bool `param:"expand-reverse" help:"correlation: follow contexts whose samples decrease when the time increases" json:"expandReverse,omitempty"`
}

// Expanded are the contexts of ranked functions.
type Expanded struct {
	Benchmark  string                `json:"benchmark,omitempty"` // of regressions: whose runs are compared
	Selection  string                `json:"selection"`
	Expansions []expansion.Expansion `json:"expansions"`
	Warnings   []string              `json:"warnings"`

	Type profile.ValueType `json:"valueType" client:"units"` // of the differences
}

// contextsIn searches the contexts of candidates in a selection, oldest first: of each
// benchmark the newest run is compared with those before, or all are correlated.
func (x *Expand) contextsIn(ctx context.Context, st store.Store, f *facts.Facts, list []store.Profile, candidates []expansion.Candidate,
	c bottleneck.Correlating) (*Expanded, error) {
	choose := history.Options{Extra: 1}
	if x.Expand == "correlation" {
		choose = history.Options{AnyMachine: true, AnyProfiler: true, AnyBranch: true, Window: len(list)}
	}
	return x.contexts(ctx, st, f, history.Choose(list, choose), 1, candidates, c)
}

// contexts searches the contexts of candidates in the runs of benchmarks, of which the
// last ones are tested.
func (x *Expand) contexts(ctx context.Context, st store.Store, f *facts.Facts, benchmarks []history.Series, tested int,
	candidates []expansion.Candidate, c bottleneck.Correlating) (*Expanded, error) {
	d, err := expansion.Load(ctx, st, benchmarks, tested, x.Expand == "informed")
	if err != nil {
		return nil, err
	}
	out := &Expanded{Selection: x.Expand, Warnings: []string{}, Type: benchmarks[0].Type}
	score := expansion.Counting(d.SampleUnit())
	if x.Score == "thesis" {
		score = expansion.Deviation
	}
	var sel expansion.Selection
	switch {
	case x.Extend != nil:
		sel = x.Extend(d, score)
		out.Warnings = append(out.Warnings, d.Warnings()...)
	case x.Expand == "correlation":
		sel = expansion.Correlated(d, c, x.Reverse)
	case x.Expand == "informed":
		recency, err := x.recency(ctx, f, benchmarks, d.Functions())
		if err != nil {
			return nil, err
		}
		sel = expansion.Informed(score, recency, x.halfLife())
		out.Warnings = append(out.Warnings, d.Warnings()...)
	default:
		sel = expansion.Greedy(score)
		out.Warnings = append(out.Warnings, d.Warnings()...)
	}
	out.Expansions = expansion.Expand(d, words.First(candidates, x.Top), sel,
		expansion.Options{MaxDepth: x.MaxDepth, MaxBreadth: x.Breadth, Threshold: x.Threshold,
			NoChildren: x.Direction == "callers", NoParents: x.Direction == "callees"})
	return out, nil
}

// halfLife returns the age at which a change of the code counts half.
func (x *Expand) halfLife() time.Duration {
	if x.HalfLife <= 0 {
		return expansion.HalfLife
	}
	return time.Duration(min(x.HalfLife, 36500) * 24 * float64(time.Hour))
}

// recency returns how long ago the code of a function changed; nil without a repository.
func (x *Expand) recency(ctx context.Context, f *facts.Facts, benchmarks []history.Series,
	functions []profile.Function) (expansion.Recency, error) {
	repo := f.Source()
	if repo == nil {
		return nil, nil
	}
	newest := newestRun(benchmarks)
	revision := cmp.Or(f.Revision, newest.Commit)
	places := column.Of(functions, func(f profile.Function) facts.Place { return facts.Place{Function: f.Name, File: f.File} })
	ages, err := repo.Ages(ctx, revision, places)
	if err != nil && !errors.Is(err, facts.ErrNeeded) && f.Revision == "" && revision != "" {
		ages, err = repo.Ages(ctx, "", places)
	}
	if errors.Is(err, facts.ErrNeeded) {
		return nil, nil // the answer is not sent
	}
	if err != nil {
		return nil, err
	}
	now := ages.Date
	if newest.Date.After(now) {
		now = newest.Date
	}
	return func(f *profile.Function) (time.Duration, bool) {
		when, known := ages.Changed[f.Name]
		return now.Sub(time.Unix(when, 0)), known
	}, nil
}

// newestRun returns the newest run of benchmarks.
func newestRun(benchmarks []history.Series) (newest testrun.Run) {
	for i := range benchmarks {
		list := benchmarks[i].Profiles
		if last := list[len(list)-1].Run; i == 0 || newest.Before(last) {
			newest = last
		}
	}
	return newest
}

// candidatesOf returns ranked functions as candidates.
func candidatesOf(rows []bottleneck.Row) []expansion.Candidate {
	return column.Of(rows, func(r bottleneck.Row) expansion.Candidate {
		return expansion.Candidate{Function: r.Function, Score: r.Score}
	})
}
