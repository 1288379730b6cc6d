package profile

import (
	"slices"
	"time"
)

// EachDump returns a profile of thread dumps as one profile per dump, in order of time.
// They share the symbols, threads and labels of p. A profile of one dump, of dumps without
// times, or of anything else is returned as it is.
func (p *Profile) EachDump() []*Profile {
	if !p.Dumps {
		return []*Profile{p}
	}
	var times []int64
	for i := range p.Tables {
		times = append(times, p.Tables[i].Time...)
		slices.Sort(times)
		times = slices.Compact(times)
	}
	if len(times) < 2 || slices.ContainsFunc(p.Tables, func(s Samples) bool { return s.Time == nil && s.Len() > 0 }) {
		return []*Profile{p}
	}
	list, index := make([]*Profile, len(times)), make(map[int64]int, len(times))
	for i, at := range times {
		one := *p
		one.Start, one.Duration, one.Tables = p.Start.Add(time.Duration(at)), 0, make([]Samples, len(p.Tables))
		list[i], index[at] = &one, i
	}
	for k := range p.Tables {
		s := &p.Tables[k]
		for _, one := range list {
			one.Tables[k].Type = s.Type
		}
		for row := range s.Len() {
			list[index[s.Time[row]]].Tables[k].Append(s.Stack[row], s.Value[row], 0, s.Tags(row))
		}
	}
	for _, one := range list {
		one.dropEmptyTables()
	}
	return list
}

// dropEmptyTables removes the tables without samples, except the default one.
func (p *Profile) dropEmptyTables() {
	var kept []Samples
	first := 0
	for i := range p.Tables {
		if i == p.Default {
			first = len(kept)
		}
		if i == p.Default || p.Tables[i].Len() > 0 {
			kept = append(kept, p.Tables[i])
		}
	}
	p.Tables, p.Default = kept, first
}
