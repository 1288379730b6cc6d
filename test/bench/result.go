package bench

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/dendroprof/dendro/internal/column"
)

// Result is what Run measured on one suite.
type Result struct {
	Suite     string
	Engines   []*EngineResult
	Questions []*QuestionResult
	// Peaks of the whole process, all engines and the rendered text included.
	ImportPeak, QuestionPeak int64
}

// EngineResult is the part of one engine.
type EngineResult struct {
	Spec    Spec
	Imports []Import        // one per round
	Open    time.Duration   // of the full store
	Alone   []time.Duration // per profile imported alone
}

// Import is one round of one engine.
type Import struct {
	Profiles, Nodes, Bytes int
	Load, Finish           time.Duration
	LoadCPU, FinishCPU     time.Duration // of the process, all threads
	Size                   int64
}

// rate returns call nodes per second, the checkpoint included.
func (i Import) rate() float64 { return float64(i.Nodes) / (i.Load + i.Finish).Seconds() }

// loadRate returns call nodes per second without the checkpoint.
func (i Import) loadRate() float64 { return float64(i.Nodes) / i.Load.Seconds() }

// QuestionResult has the results of one query, by engine.
type QuestionResult struct {
	Question Question
	First    []time.Duration
	Times    [][]time.Duration // nil if the query was not run
	Sums     []*Checksum
}

// Differs reports whether two engines answered differently.
func (q *QuestionResult) Differs() bool {
	var first *Checksum
	for _, s := range q.Sums {
		switch {
		case s == nil:
		case first == nil:
			first = s
		case !first.Equal(*s):
			return true
		}
	}
	return false
}

// Differences returns the labels of the queries on which engines disagree.
func (r *Result) Differences() []string {
	var list []string
	for _, q := range r.Questions {
		if q.Differs() {
			list = append(list, q.Question.Label)
		}
	}
	return list
}

func median[T int64 | float64 | time.Duration](list []T) T {
	if len(list) == 0 {
		return 0
	}
	s := slices.Sorted(slices.Values(list))
	if n := len(s); n%2 == 0 {
		return (s[n/2-1] + s[n/2]) / 2
	}
	return s[len(s)/2]
}

func quantile(list []time.Duration, q float64) time.Duration {
	if len(list) == 0 {
		return 0
	}
	s := slices.Sorted(slices.Values(list))
	return s[min(len(s)-1, int(q*float64(len(s))))]
}

// table writes Markdown rows.
type table struct {
	w     io.Writer
	begun bool
}

func (t *table) row(cells ...string) {
	fmt.Fprintf(t.w, "| %s |\n", strings.Join(cells, " | "))
	if !t.begun {
		t.begun = true
		fmt.Fprintf(t.w, "|%s\n", strings.Repeat("---|", len(cells)))
	}
}

// Print writes the tables. Ratios are against the first engine: how many times
// as fast, or as small.
func (r *Result) Print(w io.Writer) {
	r.printImports(w)
	r.printRounds(w)
	r.printQuestions(w)
	r.printAlone(w)
	fmt.Fprintln(w)
	for _, e := range r.Engines {
		fmt.Fprintf(w, "%s: %s.\n", e.Spec.Name, e.Spec.Model)
	}
	const mb = 1 << 20
	fmt.Fprintf(w, "Peak memory of the process, text and all engines: imports %d MB, questions %d MB.\n",
		r.ImportPeak/mb, r.QuestionPeak/mb)
}

func (r *Result) printImports(w io.Writer) {
	base := r.Engines[0].Imports
	if base == nil {
		return
	}
	fmt.Fprintf(w, "\n### %s: import of text in memory, medians of the rounds\n\n", r.Suite)
	t := &table{w: w}
	t.row("engine", "profiles", "M nodes", "load s", "checkpoint s", "CPU s (load + checkpoint)", "M nodes/s", "text GB/s", "MB",
		"bytes per node", "load speed", "speed", "size")
	for _, e := range r.Engines {
		if len(e.Imports) == 0 {
			continue
		}
		last := e.Imports[len(e.Imports)-1]
		part := fmt.Sprint(last.Profiles)
		if e.Spec.Part > 1 {
			part += fmt.Sprintf(" (1 in %d)", e.Spec.Part)
		}
		load := median(column.Of(e.Imports, func(i Import) float64 { return i.Load.Seconds() }))
		finish := median(column.Of(e.Imports, func(i Import) float64 { return i.Finish.Seconds() }))
		loadCPU := median(column.Of(e.Imports, func(i Import) float64 { return i.LoadCPU.Seconds() }))
		finishCPU := median(column.Of(e.Imports, func(i Import) float64 { return i.FinishCPU.Seconds() }))
		rate := median(column.Of(e.Imports, Import.rate))
		perNode := float64(last.Size) / float64(last.Nodes)
		first := base[len(base)-1]
		t.row(e.Spec.Name, part, fmt.Sprintf("%.2f", float64(last.Nodes)/1e6),
			fmt.Sprintf("%.2f", load), fmt.Sprintf("%.2f", finish), fmt.Sprintf("%.2f + %.2f", loadCPU, finishCPU), fmt.Sprintf("%.3f", rate/1e6),
			fmt.Sprintf("%.2f", float64(last.Bytes)/1e9/(load+finish)),
			fmt.Sprintf("%.1f", float64(last.Size)/1e6), fmt.Sprintf("%.2f", perNode),
			fmt.Sprintf("%.2fx", median(column.Of(e.Imports, Import.loadRate))/median(column.Of(base, Import.loadRate))),
			fmt.Sprintf("%.2fx", rate/median(column.Of(base, Import.rate))),
			fmt.Sprintf("%.2fx", float64(first.Size)/float64(first.Nodes)/perNode))
	}
}

func (r *Result) printRounds(w io.Writer) {
	rounds := 0
	for _, e := range r.Engines {
		rounds = max(rounds, len(e.Imports))
	}
	if rounds < 2 {
		return
	}
	fmt.Fprintf(w, "\n### %s: interleaved rounds, M nodes/s\n\n", r.Suite)
	t := &table{w: w}
	head := []string{"round"}
	for i, e := range r.Engines {
		head = append(head, e.Spec.Name)
		if i > 0 {
			head = append(head, "ratio")
		}
	}
	t.row(head...)
	for n := range rounds {
		cells := []string{fmt.Sprint(n + 1)}
		for i, e := range r.Engines {
			rate, ratio := "", ""
			if n < len(e.Imports) {
				rate = fmt.Sprintf("%.3f", e.Imports[n].rate()/1e6)
				if n < len(r.Engines[0].Imports) {
					ratio = fmt.Sprintf("%.2fx", e.Imports[n].rate()/r.Engines[0].Imports[n].rate())
				}
			}
			cells = append(cells, rate)
			if i > 0 {
				cells = append(cells, ratio)
			}
		}
		t.row(cells...)
	}
}

func (r *Result) printQuestions(w io.Writer) {
	if len(r.Questions) == 0 {
		return
	}
	fmt.Fprintf(w, "\n### %s: queries, ms, median (first call)\n\n", r.Suite)
	t := &table{w: w}
	head := []string{"query", "rows"}
	asked := []int{}
	for k, e := range r.Engines {
		if e.Spec.Part <= 1 {
			asked = append(asked, k)
			head = append(head, e.Spec.Name)
			if len(asked) > 1 {
				head = append(head, "speed")
			}
		}
	}
	t.row(append(head, "answers")...)
	for _, q := range r.Questions {
		rows, agree, sums := "", "", 0
		for _, s := range q.Sums {
			if s != nil {
				rows = fmt.Sprint(s.Rows)
				sums++
			}
		}
		switch {
		case q.Differs():
			agree = "**differ**"
		case sums > 1:
			agree = "equal"
		}
		cells := []string{q.Question.Label, rows}
		for n, k := range asked {
			cells = append(cells, millis(q.Times[k], q.First[k]))
			if n > 0 {
				ratio := ""
				if base := q.Times[asked[0]]; len(base) > 0 && len(q.Times[k]) > 0 {
					ratio = fmt.Sprintf("%.1fx", float64(median(base))/float64(median(q.Times[k])))
				}
				cells = append(cells, ratio)
			}
		}
		t.row(append(cells, agree)...)
	}
	cells := []string{"open", ""}
	for n, k := range asked {
		cells = append(cells, fmt.Sprintf("%.1f", r.Engines[k].Open.Seconds()*1e3))
		if n > 0 {
			cells = append(cells, "")
		}
	}
	t.row(append(cells, "")...)
}

func millis(times []time.Duration, first time.Duration) string {
	if len(times) == 0 {
		return "not asked"
	}
	return fmt.Sprintf("%.2f (%.1f)", median(times).Seconds()*1e3, first.Seconds()*1e3)
}

func (r *Result) printAlone(w io.Writer) {
	if len(r.Engines[0].Alone) == 0 {
		return
	}
	fmt.Fprintf(w, "\n### %s: one profile, one transaction, into the full store, ms\n\n", r.Suite)
	t := &table{w: w}
	t.row("engine", "profiles", "p50", "p95", "max", "speed")
	for _, e := range r.Engines {
		ms := func(q float64) string { return fmt.Sprintf("%.2f", quantile(e.Alone, q).Seconds()*1e3) }
		t.row(e.Spec.Name, fmt.Sprint(len(e.Alone)), ms(.5), ms(.95), ms(1),
			fmt.Sprintf("%.2fx", float64(quantile(r.Engines[0].Alone, .5))/float64(quantile(e.Alone, .5))))
	}
}
