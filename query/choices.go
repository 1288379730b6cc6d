package query

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/dendroprof/dendro/internal/intern"
	"github.com/dendroprof/dendro/internal/words"
	"github.com/dendroprof/dendro/store"
)

// ChoicesRequest asks what a page or a program can choose from.
type ChoicesRequest struct {
	Selection `group:"Selection"`
}

// ChoicesResult lists the values that the parameters of a selection may have.
type ChoicesResult struct {
	// Base is the branch that others are compared with: main or master, otherwise the
	// branch with the most runs. Empty if no run has a branch.
	Base string `json:"base,omitempty"`
	// Branches are in the order of their newest runs, the newest first.
	Branches []BranchChoice `json:"branches"`
	NoBranch int            `json:"noBranch,omitempty"` // runs without a branch
	Groups   []string       `json:"groups"`             // sorted, like the lists below
	Machines []string       `json:"machines"`           // of the newest run first
	Types    []string       `json:"types"`
	Metrics  []string       `json:"metrics"`
	First    time.Time      `json:"first,omitzero"` // date of the oldest run
	Last     time.Time      `json:"last,omitzero"`
}

// BranchChoice is a branch of a selection.
type BranchChoice struct {
	Name   string    `json:"branch"`
	Runs   int       `json:"runs"`
	Newest string    `json:"newest"` // run
	Date   time.Time `json:"date,omitzero"`
}

// Choices answers a ChoicesRequest.
func Choices(ctx context.Context, st store.Store, r *ChoicesRequest) (*ChoicesResult, error) {
	list, err := st.Profiles(ctx, r.Selection)
	if err != nil {
		return nil, err
	}
	out := &ChoicesResult{Branches: []BranchChoice{}}
	var groups, machines, types, metrics distinct
	runs, index := map[string]bool{}, map[string]int{}
	for i := len(list) - 1; i >= 0; i-- { // newest first
		p := &list[i]
		groups.add(p.Benchmark.Group)
		machines.add(p.Run.Machine)
		types.add(p.Type.Name)
		for k := range p.Metrics {
			metrics.add(p.Metrics[k].Name)
		}
		if runs[p.Run.Key] {
			continue
		}
		runs[p.Run.Key] = true
		out.date(p.Run.Date)
		name := p.Run.Branch
		if name == "" {
			out.NoBranch++
			continue
		}
		at := intern.Number(index, &out.Branches, name, BranchChoice{Name: name, Newest: p.Run.Key, Date: p.Run.Date})
		out.Branches[at].Runs++
	}
	out.Groups, out.Machines = words.Filled(groups.values), words.Filled(machines.values)
	out.Types, out.Metrics = words.Filled(types.values), words.Filled(metrics.values)
	slices.Sort(out.Groups)
	slices.Sort(out.Types)
	slices.Sort(out.Metrics)
	of := map[string]int{}
	for _, b := range out.Branches {
		of[b.Name] = b.Runs
	}
	out.Base = BaseBranch(of)
	return out, nil
}

// date widens the time from the first to the last run.
func (c *ChoicesResult) date(d time.Time) {
	if d.IsZero() {
		return
	}
	if c.First.IsZero() || d.Before(c.First) {
		c.First = d
	}
	if d.After(c.Last) {
		c.Last = d
	}
}

// BaseBranch returns the branch that the others come from, of the number of runs of each.
func BaseBranch(runs map[string]int) string {
	base, most := "", 0
	for _, name := range slices.Sorted(maps.Keys(runs)) {
		if name != "" && runs[name] > most {
			base, most = name, runs[name]
		}
	}
	for _, name := range []string{"master", "main"} {
		if runs[name] > 0 {
			base = name
		}
	}
	return base
}
