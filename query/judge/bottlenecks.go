package judge

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/dendroprof/dendro/analysis/bottleneck"
	"github.com/dendroprof/dendro/analysis/history"
	"github.com/dendroprof/dendro/analysis/own"
	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/internal/words"
	"github.com/dendroprof/dendro/query"
	"github.com/dendroprof/dendro/query/document"
	"github.com/dendroprof/dendro/query/facts"
	"github.com/dendroprof/dendro/query/param"
	"github.com/dendroprof/dendro/query/trees"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/web"
)

// BottlenecksRequest asks which functions could gain most.
type BottlenecksRequest struct {
	query.Selection `group:"Selection"`
	By              string `param:"by" group:"Method" arg:"what" choices:"self,subtree,own,correlation" help:"rank by self, subtree, own or correlation" json:"by,omitempty"`
	Degree          Degree `param:"degree" group:"Method" arg:"n" default:"5" help:"subtree: maximum depth of callees, or all" json:"degree,omitempty"`
	Weight          string `param:"weight" group:"Method" arg:"what" choices:"share,samples" help:"self and subtree: weight of a profile: equal (share), or its samples" json:"weight,omitempty"`
	Method          string `param:"method" group:"Method" arg:"name" choices:"pearson,spearman" help:"correlation: pearson, or spearman (ranks)" json:"method,omitempty"`
	Correlating     `group:"Method"`
	Negative        bool `param:"negative" group:"View" help:"correlation: list only functions whose share decreases when the time increases" json:"negative,omitempty"`
	Sections        bool `param:"sections" group:"View" help:"list the user's own code first, then libraries, then the runtime, with at most --rows of each" json:"sections,omitempty"`
	Contexts        int  `param:"contexts" group:"View" arg:"n" min:"0" max:"100" help:"number of heaviest call paths per function" json:"contexts,omitempty"`
	Plots           int  `param:"plots" group:"View" arg:"n" min:"0" max:"100" help:"number of benchmarks per function to plot: for correlation the metric against the function, otherwise its share over the runs (html: 4 if 0)" json:"plots,omitempty"`
	Rows            int  `param:"rows" group:"Limit" arg:"n" min:"0" page:"25" help:"maximum number of functions (0: all)" json:"rows,omitempty"`
	Expand          `group:"Expansion"`
	facts.Facts     `json:"facts,omitzero"`
}

// Degree is how many calls deep a subtree goes: 0 to bottleneck.MaxDegree, or all.
type Degree int

// UnmarshalText parses a number or "all".
func (d *Degree) UnmarshalText(text []byte) error {
	if string(text) == "all" {
		*d = bottleneck.Everything
		return nil
	}
	n, err := strconv.Atoi(string(text))
	if err != nil || n < 0 || n > bottleneck.MaxDegree {
		return param.Errorf("%.60q is not 0 to %d, or all", text, bottleneck.MaxDegree)
	}
	*d = Degree(n)
	return nil
}

// String returns the degree as UnmarshalText reads it.
func (d Degree) String() string {
	if d == bottleneck.Everything {
		return "all"
	}
	return strconv.Itoa(int(d))
}

// MarshalText returns the degree as UnmarshalText reads it.
func (d Degree) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// BottlenecksResult ranks functions.
type BottlenecksResult struct {
	// Measure says what the score is, like "potential of functions without callees: each
	// profile has the same weight".
	Measure string `json:"measure"`
	*bottleneck.Result
	// LeftOut are the selected benchmarks without a profile of the type, by their own type, most first.
	LeftOut  []LeftOut `json:"leftOut,omitempty"`
	Expanded *Expanded `json:"expanded,omitempty"`
}

// LeftOut is a number of benchmarks that an answer about another value type lacks.
type LeftOut struct {
	Type       string `json:"type"`
	Benchmarks int    `json:"benchmarks"`
}

func (r *BottlenecksRequest) correlating() bottleneck.Correlating {
	c := r.options()
	c.Ranks = r.Method == "spearman"
	return c
}

// Bottlenecks answers a BottlenecksRequest.
func Bottlenecks(ctx context.Context, st store.Store, r *BottlenecksRequest) (_ *BottlenecksResult, err error) {
	defer func() { err = query.Hinted(ctx, st, &r.Selection, err) }()
	if r.Negative && r.By != "correlation" {
		return nil, param.Errorf("--negative needs --by correlation")
	}
	q, notes, err := query.OneType(ctx, st, &r.Selection)
	if err != nil {
		return nil, err
	}
	leftOut, err := leftOut(ctx, st, q)
	if err != nil {
		return nil, err
	}
	res, err := bottleneck.Find(ctx, st, q, bottleneck.Options{Rank: bottleneck.Ranking(r.By), Sections: r.Sections,
		SectionsOf: func(t *calltree.Table, self []float64) []string { return sections(t, self, r.Own) },
		Weight:     store.Weight(r.Weight), Degree: int(r.Degree),
		Rows: r.Rows, Contexts: r.Contexts, Plots: r.Plots, Correlating: r.correlating()})
	if err != nil {
		return nil, err
	}
	if r.Negative {
		res.Rows, res.Negative = res.Negative, nil
	}
	res.Rows, res.Warnings = words.Filled(res.Rows), append(notes, res.Warnings...)
	out := &BottlenecksResult{Measure: r.measure(), Result: res, LeftOut: leftOut}
	if r.Expand.Expand != "" {
		list, err := store.Select(ctx, st, q)
		if err != nil {
			return nil, err
		}
		if out.Expanded, err = r.contextsIn(ctx, st, &r.Facts, list, candidatesOf(res.Rows), r.correlating()); err != nil {
			return nil, err
		}
	}
	return out, r.Unmet(nil)
}

// leftOut counts the benchmarks of a selection that have no profile of its value types.
func leftOut(ctx context.Context, st store.Store, q store.Query) ([]LeftOut, error) {
	if len(q.Types) == 0 {
		return nil, nil
	}
	all := q
	all.Types = nil
	list, err := st.Profiles(ctx, all)
	if err != nil {
		return nil, err
	}
	byType := map[string]int{}
	for _, own := range history.ByBenchmark(list) {
		types := query.TypesOf(own)
		if !slices.ContainsFunc(types, func(name string) bool { return slices.Contains(q.Types, name) }) {
			byType[types[0]]++
		}
	}
	var out []LeftOut
	for name, n := range byType {
		out = append(out, LeftOut{name, n})
	}
	slices.SortFunc(out, func(x, y LeftOut) int { return cmp.Or(y.Benchmarks-x.Benchmarks, cmp.Compare(x.Type, y.Type)) })
	return out, nil
}

// sections returns the section of every function of a table.
func sections(t *calltree.Table, self []float64, ownCode []string) []string {
	isOwn, isRuntime := own.Functions(t, self, ownCode), own.Runtime(t)
	list := make([]string, len(t.Functions))
	for f := range list {
		switch {
		case isRuntime[f]:
			list[f] = bottleneck.Runtime
		case isOwn[f]:
			list[f] = bottleneck.OwnCode
		default:
			list[f] = bottleneck.Library
		}
	}
	return list
}

// measure says what the score is.
func (r *BottlenecksRequest) measure() string {
	per := "each profile has the same weight"
	if r.Weight == "samples" {
		per = "profiles are weighted by their samples"
	}
	switch r.By {
	case "subtree":
		if r.Degree == bottleneck.Everything {
			return "potential of functions with all their callees: " + per
		}
		return "potential of functions with their callees, up to " + r.Degree.String() + " calls deep: " + per
	case "own":
		return "your own code with the libraries and the runtime it calls: " + per
	case "correlation":
		return fmt.Sprintf("%s correlation of %s with %s, %s over benchmarks", r.Method,
			map[string]string{"share": "the share of the program", "samples": "samples"}[r.X],
			map[string]string{"time": "time", "raw": "the metric"}[r.Y], r.Over)
	}
	return "potential of functions without callees: " + per
}

// BottlenecksPage answers a BottlenecksRequest with an offline page: if no number is given,
// with 4 plots and 3 call paths of each function.
func BottlenecksPage(ctx context.Context, st store.Store, r *BottlenecksRequest) (*web.Report, error) {
	full := *r
	full.Plots, full.Contexts = cmp.Or(r.Plots, 4), cmp.Or(r.Contexts, 3)
	result, err := Bottlenecks(ctx, st, &full)
	if err != nil {
		return nil, err
	}
	body, err := document.Bytes(result, document.Form{})
	if err != nil {
		return nil, err
	}
	address := trees.PageAddress(&r.Selection, "")
	address.Del("view")
	address.Set("by", r.By)
	start := "/bottlenecks?" + address.Encode()
	return &web.Report{Title: "Dendro: bottlenecks", Start: start, Nav: []web.Link{{Title: "Bottlenecks", Address: start}},
		Answers: []web.Answer{{Path: "bottlenecks", Body: body}}}, nil
}
