package judge

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/dendroprof/dendro/analysis/gate"
	"github.com/dendroprof/dendro/analysis/history"
	"github.com/dendroprof/dendro/analysis/regression"
	"github.com/dendroprof/dendro/internal/words"
	"github.com/dendroprof/dendro/query"
	"github.com/dendroprof/dendro/query/facts"
	"github.com/dendroprof/dendro/query/param"
	"github.com/dendroprof/dendro/query/sides"
	"github.com/dendroprof/dendro/report"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/testrun"
)

// Sides names the two sides of a comparison; regressions, reports and checks have it.
type Sides struct {
	Releases
	Base string `param:"base" group:"Side" arg:"what" help:"base side: a branch, commit or run of the store, or key=value" json:"base,omitempty"`
	Head string `param:"head" group:"Side" arg:"what" help:"side to test, named like --base (default: the commit that is checked out, otherwise the newest run that is not in the base)" json:"head,omitempty"`
}

// check refuses sides that do not go with the other parameters.
func (s *Sides) check(q *query.Selection, j *Judging, method string) error {
	service := q.Pushed.Chosen()
	switch {
	case s.Head != "" && s.Base == "" && !service:
		return param.Errorf("--head needs --base; without both the newest runs are tested against those before")
	case service && method != "" && method != "default":
		return param.Errorf("--method %s ranks runs of benchmarks: leave out --service", method)
	case s.Base != "" && method != "" && method != "default":
		return param.Errorf("--method %s ranks the newest runs: leave out --base", method)
	case service && (len(j.History) > 0 || j.AnyBranch):
		return param.Errorf("--service has the history of the releases: leave out --history and --any-branch")
	case s.Base != "" && (len(j.History) > 0 || j.AnyBranch):
		return param.Errorf("--base names the history: leave out --history and --any-branch")
	}
	return nil
}

// comparison is what differs between the newest runs of a selection and those before, or between two named sides.
type comparison struct {
	*regression.Result
	*sides.Chosen // empty if none were named
	runs          store.Reader
}

// judge compares the named sides of a selection, whose profiles are a list in the order of time, or its newest runs with
// those before. Sides that are files are branches, see ReportRequest.Files.
func (s *Sides) judge(ctx context.Context, st store.Store, q store.Query, list []store.Profile, last int, req regression.Request,
	f *facts.Facts, files bool) (c *comparison, err error) {
	c = &comparison{Chosen: &sides.Chosen{}, runs: st}
	if s.Base == "" {
		c.Result, err = find(ctx, st, q, req, true)
	} else {
		var g *gate.Comparison
		if files {
			c.Chosen = fileSides(list, s.Base, s.Head, last)
			g, err = gate.Compare(ctx, st, gate.Sides{Base: c.Chosen.Base, Head: c.Chosen.Head}, req)
		} else {
			g, c.Chosen, err = s.compare(ctx, st, q, list, last, req, f)
		}
		if err == nil {
			c.Result, c.runs, list = g.Result, g.Runs, nil // the base is named
			c.Notes = append(c.Notes, onBase(g.OnBase)...)
		}
	}
	if err != nil {
		return nil, err
	}
	asChanges(st, c.Result)
	explainUnjudged(c.Result, list)
	return c, nil
}

// compare compares the sides in a selection, whose profiles are a list in the order of time.
// Of the head the newest last runs of each benchmark are tested together; 0: all.
func (s *Sides) compare(ctx context.Context, st store.Reader, q store.Query, list []store.Profile, last int, req regression.Request,
	f *facts.Facts) (*gate.Comparison, *sides.Chosen, error) {
	chosen, err := (&sides.Chooser{Base: s.Base, Head: s.Head, Facts: f}).Choose(ctx, list, last)
	if err := f.Unmet(err); err != nil {
		return nil, nil, err
	}
	if req, err = levelled(ctx, st, q, req, chosen.Base, 0, false); err != nil {
		return nil, nil, err
	}
	compared := gate.Sides{Base: chosen.Base, Head: chosen.Head}
	if len(q.Groups)+len(q.Benchmarks)+len(q.Params) > 0 {
		q.Groups, q.Benchmarks, q.Params, q.Last = nil, nil, nil, 0
		all, err := st.Profiles(ctx, q)
		if err != nil {
			return nil, nil, err
		}
		addBeside(&compared, all)
	}
	c, err := gate.Compare(ctx, st, compared, req)
	return c, chosen, err
}

// againstBase puts what a comparison with the base branch says in place of what the list says of the benchmarks of
// another branch, as pages show it: a pull request has too few runs for a history of its own.
func againstBase(ctx context.Context, st store.Reader, q store.Query, f *facts.Facts, of map[testrun.Benchmark]report.Outcome) error {
	if len(q.Branches) != 1 {
		return nil
	}
	branch := q.Branches[0]
	q.Branches, q.Last = nil, 0
	list, err := st.Profiles(ctx, q)
	if err != nil {
		return err
	}
	runs := map[string]int{}
	for i := range list {
		runs[list[i].Run.Branch]++
	}
	base := query.BaseBranch(runs)
	if runs[branch] == 0 || base == "" || base == branch {
		return nil
	}
	if len(q.Types) == 0 {
		list = history.Distinct(list)
	}
	var j Judging
	req, err := j.request(ctx, st, 0, f)
	if err != nil {
		return err
	}
	c, _, err := (&Sides{Base: base, Head: branch}).compare(ctx, st, q, list, 0, ofFindings(req), f)
	if err != nil {
		return err
	}
	for b, o := range report.Outcomes(c.Result) {
		if _, is := of[b]; is {
			of[b] = o
		}
	}
	return nil
}

// addBeside adds the runs of other benchmarks that are of the commits, or runs, of a side.
func addBeside(s *gate.Sides, all []store.Profile) {
	type key struct{ branch, commit, run string }
	of := func(p *store.Profile) key {
		if p.Run.Commit == "" {
			return key{run: p.Run.Key}
		}
		return key{branch: p.Run.Branch, commit: p.Run.Commit}
	}
	compared, side := map[testrun.Benchmark]bool{}, map[key]int{}
	for i, list := range [][]store.Profile{s.Base, s.Head} {
		for k := range list {
			compared[list[k].Benchmark] = true
			side[of(&list[k])] = i
		}
	}
	for i := range all {
		if at, ok := side[of(&all[i])]; ok && !compared[all[i].Benchmark] {
			s.Beside[at] = append(s.Beside[at], all[i])
		}
	}
}

// explainUnjudged adds to the reason why a benchmark has no verdict which of its runs do not compare, and which other
// branch of a list has runs of it.
func explainUnjudged(res *regression.Result, list []store.Profile) {
	for i := range res.Benchmarks {
		if b := &res.Benchmarks[i]; b.Reason != "" {
			for _, l := range b.LeftOut {
				if l.Reason != "another branch" || len(list) == 0 { // else that branch is named
					b.Reason += "; " + report.Skipped(l)
				}
			}
		}
	}
	runs := map[history.Key]map[string]int{} // by branch, of those without a verdict
	own := map[history.Key]string{}          // branch of the newest run
	for i := range res.Benchmarks {
		if b := &res.Benchmarks[i]; b.Reason != "" {
			runs[b.Key()] = map[string]int{}
		}
	}
	for i := range list {
		p := &list[i]
		if of := runs[history.KeyOf(p)]; of != nil {
			of[p.Run.Branch]++
			own[history.KeyOf(p)] = p.Run.Branch
		}
	}
	for i := range res.Benchmarks {
		b := &res.Benchmarks[i]
		if b.Reason == "" {
			continue
		}
		at := b.Key()
		of := runs[at]
		branch, most := own[at], of[own[at]]
		for _, name := range slices.Sorted(maps.Keys(of)) {
			if of[name] > most && name != "" {
				branch, most = name, of[name]
			}
		}
		if branch != own[at] {
			b.Reason += fmt.Sprintf("; %s of %s: use --base %s", words.Counted(most, "run"), branch, branch)
		}
	}
}

// Labels of files that are compared.
const (
	NoGroup  = "." // in place of an empty group: a label without one gets the folder's
	BaseSide = "base"
	HeadSide = "head"
)

// fileSides tells the sides of files apart by the branch they were labelled with.
func fileSides(list []store.Profile, baseText, headText string, last int) *sides.Chosen {
	s := &sides.Chosen{}
	for _, p := range list {
		if p.Benchmark.Group == NoGroup {
			p.Benchmark.Group = ""
		}
		head := p.Run.Branch == HeadSide
		p.Run.Branch = ""
		if head {
			s.Head = append(s.Head, p)
		} else {
			s.Base = append(s.Base, p)
		}
	}
	q := store.Query{Last: last}
	s.Head = q.Filter(s.Head)
	s.BaseText = fmt.Sprintf("%s (%s)", baseText, query.RunsOf(s.Base))
	s.HeadText = fmt.Sprintf("%s (%s)", headText, query.RunsOf(s.Head))
	return s
}
