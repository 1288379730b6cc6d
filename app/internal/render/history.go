package render

import (
	"time"

	"github.com/dendroprof/dendro/internal/words"
	"github.com/dendroprof/dendro/query"
)

// Overview writes the benchmarks of a store, then its services.
func Overview(o *Output, r *query.OverviewResult) error {
	t := &Table{Columns: []Column{{Name: "group"}, {Name: "benchmark"}, {Name: "runs", Right: true}, {Name: "last"}, {Name: "date", Text: date},
		{Name: "metric"}, {Name: "value", Right: true}, {Name: "mean", Right: true}, {Name: "change", Right: true, Text: signedPercent}, {Name: "status"}}}
	for i := range r.Benchmarks {
		b := &r.Benchmarks[i]
		if m := b.Metric; m != nil {
			t.Add(b.Group, b.Name, b.Runs, b.Last.Key, b.Last.Date, m.Name, words.Metric(m.Last, m.Unit), words.Metric(m.Mean, m.Unit), growth(m.Last, m.Mean), m.Status)
		} else {
			t.Add(b.Group, b.Name, b.Runs, b.Last.Key, b.Last.Date, nil, nil, nil, nil, nil)
		}
	}
	if err := t.Write(o); err != nil || len(r.Services) == 0 {
		return err
	}
	s := &Table{Columns: []Column{{Name: "service"}, {Name: "instances", Right: true}, {Name: "lastSeen", Text: date}}}
	for _, x := range r.Services {
		s.Add(x.Service, x.Instances, time.UnixMilli(x.LastSeen))
	}
	return s.Write(o)
}

// growth returns the growth from a mean to a value; nil of nothing.
func growth(v, mean float64) any {
	if mean == 0 {
		return nil
	}
	return v/mean - 1
}

// History writes a row per run, with the steps beside the runs with which they begin.
func History(o *Output, r *query.HistoryResult) error {
	t := &Table{Columns: []Column{{Name: "benchmark"}, {Name: "run"}, {Name: "date", Text: date}, {Name: "commit", Text: commit}, {Name: "value", Right: true},
		{Name: "mean", Right: true}, {Name: "deviation", Right: true}, {Name: "cost", Right: true}, {Name: "step", Right: true, Text: signedPercent}, {Name: "status"}}}
	for i := range r.Series {
		s := &r.Series[i]
		name := s.Benchmark
		if s.Group != "" {
			name = s.Group + "/" + name
		}
		number := func(v *float64, unit string) any {
			if v == nil {
				return nil
			} else if unit == "share" {
				return words.Percent(*v)
			}
			return words.Metric(*v, unit)
		}
		steps := map[string]*query.HistoryStep{}
		for j := range s.Steps {
			steps[s.Steps[j].Run] = &s.Steps[j]
		}
		for j := range s.Runs {
			x := &s.Runs[j]
			var step, status any
			if c := steps[x.Key]; c != nil {
				step, status = growth(c.After, c.Before), c.Status
			}
			t.Add(name, x.Key, x.Date, x.Commit, number(x.Value, s.Unit), number(&x.Mean, s.Unit), number(&x.Deviation, s.Unit), number(x.Cost, s.CostUnit), step, status)
		}
	}
	return list(o, t, r.Notes, query.Omitted{})
}
