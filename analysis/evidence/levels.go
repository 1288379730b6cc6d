package evidence

import (
	"context"
	"math"
	"slices"

	"github.com/dendroprof/dendro/analysis/history"
	"github.com/dendroprof/dendro/analysis/regression"
	"github.com/dendroprof/dendro/analysis/stat"
	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/internal/column"
	"github.com/dendroprof/dendro/store"
)

// levels fills in the shares of the candidates over the runs.
func (g *gatherer) levels(ctx context.Context, st store.Reader, list []Candidate) error {
	var program, whole []*Candidate // levels of the program's own code, of everything
	for i := range list {
		c := &list[i]
		c.Absolute = g.o.Ranking.total()
		c.Levels = make([]float64, len(g.Profiles))
		if c.Absolute || c.Requested && c.Finding == "" {
			whole = append(whole, c)
		} else {
			program = append(program, c)
		}
	}
	if err := g.programLevels(ctx, st, program); err != nil {
		return err
	}
	if err := g.totals(ctx, st, whole); err != nil {
		return err
	}
	for i := range list {
		g.describe(&list[i])
	}
	return nil
}

// programLevels computes levels from the call tree of findings: that of the program's
// own code (package history).
func (g *gatherer) programLevels(ctx context.Context, st store.Reader, list []*Candidate) error {
	if len(list) == 0 {
		return nil
	}
	m, err := history.Load(ctx, st, g.Series())
	if err != nil {
		return err
	}
	g.matrix = m
	for i := range list {
		before, after := g.split(list[i])
		whole, counted := g.whole(m, before)
		inside := occurrences(m.Table, list[i])
		f := g.finding(list[i])
		all := f != nil && f.Kind != regression.Environment && f.Delta.Whole()
		amounts := make([]float64, len(m.Runs))
		for t := range m.Runs {
			r := &m.Runs[t]
			samples := 0.0
			for j, n := range r.Nodes {
				if inside[n] {
					samples += r.Count[j]
				}
			}
			if all { // as the finding counts
				samples = r.Total + r.Environment
			}
			amounts[t] = samples
			if whole[t] > 0 {
				list[i].Levels[t] = samples / whole[t]
			}
		}
		if counted {
			list[i].sides = sides(m, amounts, before, after)
		}
	}
	return nil
}

// finding returns the finding that a candidate is of; nil: none.
func (g *gatherer) finding(c *Candidate) *regression.Finding {
	at := slices.IndexFunc(g.Findings, func(f regression.Finding) bool { return c.Finding != "" && f.ID == c.Finding })
	if at < 0 {
		return nil
	}
	return &g.Findings[at]
}

// split returns the runs that a candidate compares, as indexes: the sides of its finding, which for
// a change are the runs since its onset and those before, else the tested runs and their history.
func (g *gatherer) split(c *Candidate) (before, after []int) {
	if f := g.finding(c); f != nil && f.Sides != nil {
		s := f.Sides
		for t := range g.Profiles {
			switch key := g.Profiles[t].Run.Key; {
			case slices.Contains(s.Base, key):
				before = append(before, t)
			case slices.Contains(s.Head, key):
				after = append(after, t)
			}
		}
	}
	if len(before) > 0 && len(after) > 0 {
		return before, after
	}
	before, after = nil, nil
	first := len(g.Profiles) - g.Tested
	for t := range g.Profiles {
		if t < first {
			before = append(before, t)
		} else {
			after = append(after, t)
		}
	}
	return before, after
}

// sides returns the levels of both sides as a finding has them: per operation, as shares of the
// program before.
func sides(m *history.Matrix, amounts []float64, before, after []int) *[2]float64 {
	program := m.PerOperation(before, func(t int) float64 { return m.Runs[t].Total + m.Runs[t].Environment })
	of := func(runs []int) float64 {
		return m.PerOperation(runs, func(t int) float64 { return amounts[t] }) / program
	}
	return &[2]float64{of(before), of(after)}
}

// whole returns the samples of each run that are 100%: as many as the program took before for the
// operations of the run or, where these are unknown, in a run of its size as findings have it; the
// run's own where that is unknown too. Then a function that became slower shows by how much, even
// if it is all of the program.
func (g *gatherer) whole(m *history.Matrix, before []int) (list []float64, counted bool) {
	list = make([]float64, len(m.Runs))
	perOperation := make([]float64, len(m.Runs))
	for t := range m.Runs {
		list[t], perOperation[t] = m.Runs[t].Total, m.Runs[t].Rate()
	}
	if len(before) > 0 && slices.Min(perOperation) > 0 && !g.Profiles[0].Type.Momentary() {
		program := stat.Median(at(perOperation, before))
		for t := range m.Runs {
			list[t] = program * m.Runs[t].Operations
		}
		return list, g.Tested > 0
	}
	if g.Profiles[0].Type.Momentary() {
		return list, false
	}
	var others []int
	for t := range m.Runs {
		if !slices.Contains(before, t) {
			others = append(others, t)
		}
	}
	if sizes := regression.Sizes(g.Series(), m, before, others, regression.Options{}); sizes != nil {
		program := 0.0
		for _, t := range before {
			program += m.Runs[t].Total / sizes[t] / float64(len(before))
		}
		for t := range m.Runs {
			list[t] = program * sizes[t]
		}
	}
	return list, false
}

// occurrences marks the nodes whose samples belong to the candidate: those of the
// function, and for its total all below them.
func occurrences(t *calltree.Table, c *Candidate) []bool {
	inside := make([]bool, t.Len())
	for n := range inside {
		up := t.Parent[n]
		inside[n] = t.Functions[t.Func[n]].Name == c.Function || !c.Self && up != calltree.NoNode && inside[up]
	}
	return inside
}

// totals reads the totals of functions as stored: for the paper's ranking the values, else
// their shares of all samples.
func (g *gatherer) totals(ctx context.Context, st store.Reader, list []*Candidate) error {
	if len(list) == 0 {
		return nil
	}
	names := column.Of(list, func(c *Candidate) string { return c.Function })
	ids := store.IDs(g.Profiles)
	set, err := st.Functions(ctx, store.Query{Profiles: ids}, names)
	if err != nil {
		return err
	}
	column := make([]int, len(set.Profiles)) // of a profile of the answer
	for i := range set.Profiles {
		column[i] = slices.Index(ids, set.Profiles[i].ID)
	}
	row := make([]int, len(set.Functions))
	for i := range set.Functions {
		row[i] = slices.Index(names, set.Functions[i].Name)
	}
	for rows, err := range set.Rows {
		if err != nil {
			return err
		}
		for i, p := range rows.Profile {
			r, c := row[rows.Function[i]], column[p]
			if r >= 0 && c >= 0 {
				list[r].Levels[c] += float64(rows.Total[i])
			}
		}
	}
	for _, c := range list {
		for i := range c.Levels {
			if !c.Absolute {
				c.Levels[i] /= max(1, float64(g.Profiles[i].Sum))
			}
		}
	}
	return nil
}

// describe computes the candidate's numbers from its levels.
func (g *gatherer) describe(c *Candidate) {
	before, after := g.split(c)
	if g.o.Ranking == Thesis {
		before = before[max(0, len(before)-g.o.Window):]
	}
	c.Expected, c.Actual = stat.Mean(at(c.Levels, before)), stat.Mean(at(c.Levels, after))
	if c.sides != nil {
		c.Expected, c.Actual = c.sides[0], c.sides[1]
	}
	c.Diff = c.Actual - c.Expected
	switch {
	case c.Expected == 0 && c.Actual > 0:
		c.Status = "+"
	case c.Expected > 0 && c.Actual == 0:
		c.Status = "-"
	}
	c.Band = Band(c.Levels, g.o.Window, func(float64) bool { return true })
	if at := c.Band[min(len(c.Levels)-g.Tested, len(c.Band)-1)]; c.Requested && c.Score == 0 && at.Deviation > 0 {
		c.Score = (c.Actual - at.Mean) / at.Deviation
	}
}

// at returns some of the values.
func at(values []float64, of []int) []float64 {
	return column.Pick(values, of)
}

// Band returns for every value the mean and deviation of the window valid values before
// it; for the first value its own.
func Band(values []float64, window int, counts func(float64) bool) []Level {
	out := make([]Level, len(values))
	var recent []float64
	for i, v := range values {
		if len(recent) == 0 && counts(v) {
			recent = append(recent, v)
			out[i] = Level{Mean: v}
			continue
		}
		if len(recent) > 0 {
			out[i].Mean = stat.Mean(recent)
		}
		if len(recent) > 1 {
			out[i].Deviation = math.Sqrt(stat.Variance(recent))
		}
		if counts(v) {
			recent = append(recent, v)
			recent = recent[max(0, len(recent)-window):]
		}
	}
	return out
}
