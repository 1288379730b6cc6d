package evidence

import (
	"time"

	"github.com/dendroprof/dendro/analysis/expansion"
	"github.com/dendroprof/dendro/testrun"
)

// Evidence supports the findings of one benchmark: its metric over its runs, and for
// each candidate its share of the program over the runs.
type Evidence struct {
	Runs       []Run       `json:"runs"` // oldest first; empty without a verdict
	Metric     *Metric     `json:"metric,omitempty"`
	Others     []Metric    `json:"otherMetrics,omitempty"` // of the newest run: memory, secondary results
	Candidates []Candidate `json:"candidates"`
	// BandWidth is how many standard deviations of Level the bands of plots have on each side of
	// the mean; 0: two.
	BandWidth float64 `json:"bandWidth,omitempty"`
}

// Run is one run that was compared.
type Run struct {
	Key    string    `json:"run"`
	Commit string    `json:"commit,omitempty"`
	Date   time.Time `json:"date,omitzero"`
	Tested bool      `json:"tested,omitempty"` // not history
}

// Metric is the benchmark's own result over its runs.
type Metric struct {
	Name   string         `json:"name"`
	Unit   string         `json:"unit"`
	Better testrun.Better `json:"better,omitempty"`
	Values []float64      `json:"values"` // by run; 0 where a run has none
	Band   []Level        `json:"band"`   // by run
}

// Level is what the runs before a run let expect of it.
type Level struct {
	Mean      float64 `json:"mean"`
	Deviation float64 `json:"deviation"` // sample standard deviation; 0 of fewer than two runs
}

// Candidate is a function to look at. Levels are shares of the program, of that before where
// operations are known.
type Candidate struct {
	Function string   `json:"function"`
	Path     []string `json:"path,omitempty"`    // of the finding, root to place
	Finding  string   `json:"finding,omitempty"` // its id
	Self     bool     `json:"self,omitempty"`    // levels are of the function's self
	// Requested by name: its levels are shares of all samples, its score is the distance
	// from the band.
	Requested bool    `json:"requested,omitempty"`
	Absolute  bool    `json:"absolute,omitempty"` // levels are totals in the value type's unit, as in the paper
	Method    Ranking `json:"method,omitempty"`   // of the score, if not the default one

	sides    *[2]float64 // of a finding's size, where operations are known
	Expected float64     `json:"expected"` // level of the history: its mean or, where operations are known, that of the finding
	Actual   float64     `json:"actual"`   // mean level of the tested runs
	Diff     float64     `json:"diff"`
	Score    float64     `json:"score"`  // of the finding, else of the ranking
	Status   string      `json:"status"` // "+" first seen now, "-" seen before and not now
	Levels   []float64   `json:"levels"` // by run
	Band     []Level     `json:"band"`   // by run
	// Contexts is what a greedy search around the function found; nil if there was
	// none.
	Contexts *expansion.Expansion `json:"contexts,omitempty"`
}
