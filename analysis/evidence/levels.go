package evidence

import (
	"context"
	"math"
	"slices"

	"github.com/dendroprof/dendro/analysis/history"
	"github.com/dendroprof/dendro/analysis/stat"
	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/store"
)

// levels fills in the shares of the candidates over the runs.
func (g *gatherer) levels(ctx context.Context, st store.Reader, list []Candidate) error {
	var program, whole []*Candidate // levels of the program's own code, of everything
	for i := range list {
		c := &list[i]
		c.Absolute = g.o.Thesis
		c.Levels = make([]float64, len(g.profiles))
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
	m, err := history.Load(ctx, st, g.series())
	if err != nil {
		return err
	}
	g.matrix = m
	whole, counted := g.whole(m)
	for i := range list {
		inside := occurrences(m.Table, list[i])
		amounts := make([]float64, len(m.Runs))
		for t := range m.Runs {
			r := &m.Runs[t]
			samples := 0.0
			for j, n := range r.Nodes {
				if inside[n] {
					samples += r.Count[j]
				}
			}
			amounts[t] = samples
			if whole[t] > 0 {
				list[i].Levels[t] = samples / whole[t]
			}
		}
		if counted {
			list[i].sides = g.sides(m, amounts)
		}
	}
	return nil
}

// sides returns the levels of the history and of the tested runs as a finding has them: per
// operation, as shares of the program before.
func (g *gatherer) sides(m *history.Matrix, amounts []float64) *[2]float64 {
	var runs [2][]int
	for t := range m.Runs {
		side := 0
		if t >= len(m.Runs)-g.tested {
			side = 1
		}
		runs[side] = append(runs[side], t)
	}
	before := m.PerOperation(runs[0], func(t int) float64 { return m.Runs[t].Total + m.Runs[t].Environment })
	of := func(side int) float64 {
		return m.PerOperation(runs[side], func(t int) float64 { return amounts[t] }) / before
	}
	return &[2]float64{of(0), of(1)}
}

// whole returns the samples of each run that are 100%: the program's own, or where operations
// are known as many as the program took for them in the history. Then a function that became
// slower shows by how much, even if it is all of the program.
func (g *gatherer) whole(m *history.Matrix) (list []float64, counted bool) {
	list = make([]float64, len(m.Runs))
	perOperation := make([]float64, len(m.Runs))
	for t := range m.Runs {
		list[t], perOperation[t] = m.Runs[t].Total, m.Runs[t].Rate()
	}
	if first := len(m.Runs) - g.tested; first > 0 && slices.Min(perOperation) > 0 && !g.profiles[0].Type.Momentary() {
		before := stat.Median(perOperation[:first])
		for t := range m.Runs {
			list[t] = before * m.Runs[t].Operations
		}
		return list, g.tested > 0
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
	names := make([]string, len(list))
	for i := range list {
		names[i] = list[i].Function
	}
	ids := make([]store.ProfileID, len(g.profiles))
	for i := range ids {
		ids[i] = g.profiles[i].ID
	}
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
				c.Levels[i] /= max(1, float64(g.profiles[i].Sum))
			}
		}
	}
	return nil
}

// describe computes the candidate's numbers from its levels.
func (g *gatherer) describe(c *Candidate) {
	first := len(c.Levels) - g.tested
	before, now := c.Levels[:first], c.Levels[first:]
	if g.o.Thesis {
		before = before[max(0, len(before)-g.o.Window):]
	}
	c.Expected, c.Actual = stat.Mean(before), stat.Mean(now)
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
	if at := c.Band[min(first, len(c.Band)-1)]; c.Requested && c.Score == 0 && at.Deviation > 0 {
		c.Score = (c.Actual - at.Mean) / at.Deviation
	}
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
