package judge

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dendroprof/dendro/analysis/change"
	"github.com/dendroprof/dendro/analysis/gate"
	"github.com/dendroprof/dendro/analysis/history"
	"github.com/dendroprof/dendro/analysis/metrics"
	"github.com/dendroprof/dendro/analysis/regression"
	"github.com/dendroprof/dendro/internal/words"
	"github.com/dendroprof/dendro/query"
	"github.com/dendroprof/dendro/query/facts"
	"github.com/dendroprof/dendro/query/param"
	"github.com/dendroprof/dendro/report"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/testrun"
)

// changes is what a ledger says of a selection: one line of each benchmark and value type.
type changes struct {
	lines    []history.Series // shown, by benchmark and value type
	verdicts []*change.Verdict
	findings [][]regression.Finding // the changes of each, open ones first, as its verdict has them
	profiles []store.Profile        // of all lines
	at       map[history.Key]int    // places of the lines
	now      time.Time
	runs     map[group][]change.Run // oldest first
	table    *metrics.Table         // nil: not computed
	// explained are the benchmarks whose metrics the table compares before and after an accepted change.
	explained map[testrun.Benchmark]bool
}

// group is benchmarks that the same runs have.
type group struct{ name, branch, machine string }

// openChanges returns the changes of a selection, accepted ones marked; with releases those that
// releases of services brought too. The selected profiles are nil if the caller does not know them.
func openChanges(ctx context.Context, st store.Reader, q store.Query, selected []store.Profile, req *regression.Request,
	releases bool) (*changes, error) {
	l, err := openLedger(ctx, st, q, selected, req.Options)
	if err != nil {
		return nil, err
	}
	c := &changes{at: map[history.Key]int{}, now: req.Now, runs: l.runs(), profiles: l.profiles}
	of := linesOf(q)
	accept := func(v *change.Verdict) *change.Verdict { return v.Accept(req.Acknowledged, req.Now) }
	for _, i := range l.shown(len(q.Branches) > 0 || of.String() != q.String()) {
		v := accept(l.verdicts[i])
		c.lines, c.verdicts, c.findings = append(c.lines, l.lines[i]), append(c.verdicts, v), append(c.findings, listedOf(v, &l.lines[i]))
	}
	c.addPairs(l, accept)
	if releases {
		err = c.addReleases(ctx, st, q, req)
	}
	for i := range c.lines {
		c.at[c.lines[i].Key()] = i
	}
	return c, err
}

// newest returns the newest n runs of the line that a change is of.
func (c *changes) newest(f *regression.Finding, n int) []store.Profile {
	at, ok := c.at[f.Key()]
	if !ok {
		return nil
	}
	list := c.lines[at].Profiles
	return list[max(0, len(list)-n):]
}

// shown returns the lines that a list shows: of each benchmark and value type the line of the
// newest run, on the branch that others are compared with unless branches or runs were named.
func (l *ledger) shown(named bool) []int {
	count := map[string]int{}
	for i := range l.lines {
		if l.verdicts[i].Key.Pair != "" {
			continue
		}
		count[l.lines[i].Profiles[0].Run.Branch] += len(l.lines[i].Profiles)
	}
	main := query.BaseBranch(count)
	before := func(s, o *history.Series) bool {
		if own, other := s.Profiles[0].Run.Branch == main, o.Profiles[0].Run.Branch == main; !named && own != other {
			return own
		}
		return compareRuns(newest(s), newest(o)) > 0
	}
	at := map[history.Key]int{}
	for i := range l.lines {
		s := &l.lines[i]
		if old, is := at[s.Key()]; l.verdicts[i].Key.Pair == "" && (!is || before(s, &l.lines[old])) {
			at[s.Key()] = i
		}
	}
	return slices.Sorted(maps.Values(at))
}

func newest(s *history.Series) *testrun.Run { return &s.Profiles[len(s.Profiles)-1].Run }

func compareRuns(a, b *testrun.Run) int {
	return cmp.Or(a.Date.Compare(b.Date), cmp.Compare(a.Key, b.Key))
}

// runs lists the runs that the benchmarks of each group may be in.
func (l *ledger) runs() map[group][]change.Run {
	type member struct {
		group
		run string
	}
	seen := map[member]bool{}
	out := map[group][]change.Run{}
	for i := range l.lines {
		s := &l.lines[i]
		if l.verdicts[i].Key.Pair != "" {
			continue
		}
		g := groupOf(s)
		for k := range s.Profiles {
			if r := &s.Profiles[k].Run; !seen[member{g, r.Key}] {
				seen[member{g, r.Key}] = true
				out[g] = append(out[g], change.Run{Run: r.Key, Commit: r.Commit, Date: r.Date})
			}
		}
	}
	for _, runs := range out {
		slices.SortFunc(runs, func(a, b change.Run) int { return cmp.Or(a.Date.Compare(b.Date), cmp.Compare(a.Run, b.Run)) })
	}
	return out
}

func groupOf(s *history.Series) group {
	p := &s.Profiles[0]
	return group{p.Benchmark.Group, p.Run.Branch, p.Run.Machine}
}

// standing returns what is known of a line. Runs of one commit are one: its benchmarks may be in
// several.
func (c *changes) standing(i int) change.Standing {
	v := c.verdicts[i]
	if v.Key.Pair != "" {
		return v.Standing(nil)
	}
	var runs []change.Run
	for _, r := range c.runs[groupOf(&c.lines[i])] {
		same := r.Commit != "" && r.Commit == v.Newest.Commit && r.Run != v.Newest.Run
		if n := len(runs); !same && (n == 0 || r.Commit == "" || r.Commit != runs[n-1].Commit) {
			runs = append(runs, r)
		}
	}
	return v.Standing(runs)
}

// listedOf returns the changes of a line; weather is a line above the list.
func listedOf(v *change.Verdict, s *history.Series) (list []regression.Finding) {
	for i := range v.Changes {
		if v.Changes[i].State != change.Passing {
			list = append(list, listed(&v.Changes[i], s))
		}
	}
	return list
}

// listed returns a change of a line as the finding that all surfaces show.
func listed(c *change.Change, s *history.Series) regression.Finding {
	f, k := c.Finding, change.Key{}
	profiles := func(runs []int) (list []*store.Profile) {
		for _, run := range runs {
			if run >= 0 && run < len(s.Profiles) { // a stored verdict is not trusted
				list = append(list, &s.Profiles[run])
			}
		}
		return list
	}
	if !s.Service { // whose findings have them
		k = change.KeyOf(&s.Profiles[0])
		f.Sides = regression.NewSides(profiles(c.Base), profiles(c.Head))
	}
	f.Change = &regression.Lasting{Finding: f.ID, State: string(c.State), Onset: c.Onset.Run, LastGood: c.Onset.LastGood,
		End: c.End, Seen: c.Seen,
		Runs: c.Runs, Program: c.Program, Explains: c.Explains, Branch: k.Branch, Machine: k.Machine}
	if k.Pair != "" {
		f.Change.Pair = pairText(s)
		f.Note = strings.TrimPrefix(f.Note+"; "+f.Change.Pair, "; ")
	}
	f.ID = c.ID
	f.Since = regression.Since{Run: c.Onset.Run.Run, Commit: c.Onset.Commit}
	if c.Onset.LastGood != nil {
		f.Since.LastGood = c.Onset.LastGood.Run
	}
	f.Status = statusOf(f.Change)
	return f
}

// open returns the changes of all lines that are there, newest onset first; accepted ones are
// the last.
func (c *changes) open() (list []regression.Finding) {
	return c.list(func(f *regression.Finding) bool { return f.Status != regression.Ended })
}

// list returns the changes of all lines that fit: accepted ones last, then by onset or end,
// newest first, costs first, by size.
func (c *changes) list(fits func(f *regression.Finding) bool) (list []regression.Finding) {
	for _, of := range c.findings {
		for i := range of {
			if fits(&of[i]) {
				list = append(list, of[i])
			}
		}
	}
	slices.SortStableFunc(list, inOrder)
	return list
}

// inOrder is the order of a list of changes.
func inOrder(f, g regression.Finding) int {
	rank := func(is bool) int {
		if is {
			return 1
		}
		return 0
	}
	at := func(f *regression.Finding) *regression.Moment {
		if f.Change.End != nil {
			return f.Change.End
		}
		return &f.Change.Onset
	}
	return cmp.Or(cmp.Compare(rank(f.Acknowledged != nil), rank(g.Acknowledged != nil)), at(&g).Date.Compare(at(&f).Date),
		cmp.Compare(at(&g).Run, at(&f).Run),
		cmp.Compare(rank(!f.Kind.Costs()), rank(!g.Kind.Costs())), -cmp.Compare(math.Abs(f.Delta.Share), math.Abs(g.Delta.Share)),
		cmp.Compare(f.ID, g.ID))
}

// since returns the changes of a list that were first stated by the newest n runs of their line, or
// since a date; ended ones that ended then.
func (c *changes) since(list []regression.Finding, text string) ([]regression.Finding, error) {
	n, err := strconv.Atoi(text)
	var date time.Time
	if err != nil || n > 9999 { // a year is no number of runs
		if date, err = words.ParseInstant(text, c.now); err != nil {
			return nil, param.Errorf("--new %q: give a number of runs, a date (2026-11-21), a day (Monday) or an age (7d)", text)
		}
	} else if n < 1 {
		return nil, param.Errorf("--new %d: the minimum is 1 run", n)
	}
	return slices.DeleteFunc(list, func(f regression.Finding) bool {
		at := f.Change.Seen
		if f.Change.End != nil {
			at = *f.Change.End
		}
		if !date.IsZero() {
			return at.Date.Before(date)
		}
		runs := c.newest(&f, n)
		if f.Change.Pair != "" { // of no run of the line
			return len(runs) > 0 && at.Date.Before(runs[0].Run.Date)
		}
		return !slices.ContainsFunc(runs, func(p store.Profile) bool { return p.Run.Key == at.Run })
	}), nil
}

// outcomes returns what the changes say of each benchmark.
func (c *changes) outcomes() map[testrun.Benchmark]report.Outcome {
	of, open, worse := map[testrun.Benchmark]*report.Standing{}, c.byImportance(), c.worse()
	for i := range c.lines {
		b := c.lines[i].Benchmark
		if of[b] == nil {
			of[b] = &report.Standing{Open: open[b], Worse: worse[b]}
		}
		of[b].Lines = append(of[b].Lines, report.Line{Standing: c.standing(i), Branch: c.verdicts[i].Key.Branch})
	}
	out := make(map[testrun.Benchmark]report.Outcome, len(of))
	for b, s := range of {
		out[b] = s.Outcome()
	}
	return out
}

// byImportance returns the open changes of each benchmark, the most important one first, accepted ones last.
func (c *changes) byImportance() map[testrun.Benchmark][]*regression.Finding {
	of := map[testrun.Benchmark][]*regression.Finding{}
	for i := range c.lines {
		b := c.lines[i].Benchmark
		for k := range c.findings[i] {
			if f := &c.findings[i][k]; f.Status != regression.Ended {
				of[b] = append(of[b], f)
			}
		}
	}
	for _, list := range of {
		slices.SortStableFunc(list, func(f, g *regression.Finding) int { return -cmp.Compare(importance(f), importance(g)) })
	}
	return of
}

// metrics compares the metrics of each benchmark: with an open change of the same runs that the most important one
// compares, so that no row denies what the list says; else of the newest runs with those before, as far back as the
// level that somebody accepted.
func (c *changes) metrics() *metrics.Table {
	if c.table != nil {
		return c.table
	}
	c.explained = map[testrun.Benchmark]bool{}
	list, open := metricRuns(c.result(nil)), c.byImportance()
	of := map[history.Key]map[string]store.Profile{} // by run
	for b, list := range open {
		of[history.Key{Benchmark: b, Type: list[0].Type}] = map[string]store.Profile{}
	}
	for i := range c.profiles {
		if runs := of[history.KeyOf(&c.profiles[i])]; runs != nil {
			runs[c.profiles[i].Run.Key] = c.profiles[i]
		}
	}
	for i := range list {
		r := &list[i]
		if len(open[r.Benchmark]) == 0 || open[r.Benchmark][0].Sides == nil {
			continue
		}
		f := open[r.Benchmark][0]
		if f.Acknowledged != nil { // its level is the one to compare with
			at := slices.IndexFunc(r.Base, func(p store.Profile) bool { return p.Run.Key == f.Since.Run })
			if at >= 0 && len(r.Base)-at >= leastSince {
				r.Base = r.Base[at:]
				continue
			}
			c.explained[r.Benchmark] = true
		}
		profiles := func(keys []string) (list []store.Profile) {
			for _, key := range keys {
				if p, ok := of[history.Key{Benchmark: r.Benchmark, Type: f.Type}][key]; ok {
					list = append(list, p)
				}
			}
			return list
		}
		r.Base, r.Head = profiles(f.Sides.Base), profiles(f.Sides.Head)
	}
	c.table = metrics.Compare(list)
	return c.table
}

// worse returns the primary metrics that are significantly worse, by the table that reports have.
func (c *changes) worse() map[testrun.Benchmark]*metrics.Row {
	of := map[testrun.Benchmark]*metrics.Row{}
	primary := map[testrun.Benchmark]string{}
	for i := range c.lines {
		if m, ok := history.Metric(&c.lines[i].Profiles[len(c.lines[i].Profiles)-1]); ok {
			primary[c.lines[i].Benchmark] = m.Name
		}
	}
	table := c.metrics()
	for i := range table.Rows {
		r := &table.Rows[i]
		if b := r.Of(); r.Significant && r.Worse() >= report.LeastWorse &&
			r.Metric == primary[b] && !c.explained[b] {
			of[b] = r
		}
	}
	return of
}

// importance orders the changes of a benchmark: confirmed costs by size, suspects, improvements, accepted ones.
func importance(f *regression.Finding) float64 {
	x := math.Abs(f.Delta.Share)
	switch {
	case f.Acknowledged != nil:
		return x - 3e6
	case !f.Kind.Costs():
		return x - 2e6
	case f.Status == regression.Suspect:
		return x - 1e6
	}
	return x
}

// weather says in a line for each machine and day how many benchmarks' newest runs were slower or
// faster in all their code.
func (c *changes) weather() (lines []string) {
	type at struct{ machine, day string }
	of := map[at][]float64{}
	var order []at
	for i, v := range c.verdicts {
		w := v.Now()
		if w == nil || i > 0 && c.lines[i-1].Benchmark == c.lines[i].Benchmark && c.verdicts[i-1].Now() != nil {
			continue // one of a benchmark's value types
		}
		k := at{v.Key.Machine, v.Newest.Run}
		if !v.Newest.Date.IsZero() {
			k.day = v.Newest.Date.UTC().Format("2006-01-02")
		}
		if of[k] == nil {
			order = append(order, k)
		}
		of[k] = append(of[k], w.Factor)
	}
	for _, k := range order {
		slices.Sort(of[k])
		on := ""
		if k.machine != "" {
			on = " on " + words.Clean(k.machine)
		}
		n := len(of[k])
		lines = append(lines, fmt.Sprintf("%s%s: all code took %.2f times as long (%s)", words.Counted(n, "benchmark"), on, of[k][n/2],
			words.Clean(k.day)))
	}
	return lines
}

// result returns the open changes as the result of an analysis, for documents: without what only a
// comparison of two sides has.
func (c *changes) result(findings []regression.Finding) *regression.Result {
	res := &regression.Result{Findings: findings, Benchmarks: make([]regression.Benchmark, 0, len(c.lines))}
	own := map[history.Key][]regression.Finding{}
	for i := range findings {
		f := &findings[i]
		k := f.Key()
		own[k] = append(own[k], *f)
	}
	for i := range c.lines {
		s, v := &c.lines[i], c.verdicts[i]
		b := regression.Benchmark{Benchmark: s.Benchmark, Type: s.Type, Findings: own[s.Key()],
			Reason: v.Reason, Profiles: s.Profiles, Tested: 1}
		if s.Service {
			b.Profiles, b.Tested = nil, 0 // releases are no runs of the store
		} else {
			first := max(1, len(s.Profiles)-newRuns, min(len(s.Profiles)-1, leastBase))
			if v.Key.Pair != "" {
				first = max(0, slices.IndexFunc(s.Profiles, func(p store.Profile) bool { return change.IsHead(&p) }))
				b.Tested = len(s.Profiles) - first
			}
			b.Base, b.Head = s.Profiles[:first], s.Profiles[first:]
			b.Base = b.Base[max(0, len(b.Base)-history.Window):]
		}
		res.Benchmarks = append(res.Benchmarks, b)
	}
	return res
}

// appendReleases adds what releases of services brought to a result on runs.
func (c *changes) appendReleases(res *regression.Result) {
	all := c.result(c.open())
	for i := range all.Benchmarks {
		if c.lines[i].Service {
			res.Benchmarks = append(res.Benchmarks, all.Benchmarks[i])
			res.Findings = append(res.Findings, all.Benchmarks[i].Findings...)
		}
	}
}

// relabel replaces the findings of a comparison of the newest runs by the open changes, so that
// all surfaces say the same. With a policy they stay what the newest runs brought, which has what
// a policy needs to know, as the changes that they are.
func (c *changes) relabel(res *regression.Result, policy *gate.Policy) {
	res.Findings = []regression.Finding{}
	c.insertPairs(res, policy)
	for i := range res.Benchmarks {
		b := &res.Benchmarks[i]
		at, ok := c.at[b.Key()]
		switch {
		case ok && c.verdicts[at].Key.Pair != "": // as it is
		case policy != nil && ok && c.leave(at, b):
		case policy != nil && ok:
			b.Findings = c.brought(at, b.Findings, policy)
		case policy == nil:
			b.Findings = []regression.Finding{}
			if ok {
				b.Findings = slices.DeleteFunc(slices.Clone(c.findings[at]), func(f regression.Finding) bool { return f.Status == regression.Ended })
			}
		}
		res.Findings = append(res.Findings, b.Findings...)
	}
	if policy == nil {
		slices.SortStableFunc(res.Findings, inOrder) // the first of a cause stands for the others
	}
}

// leave makes a benchmark that runs of a newer commit are without untested: what its last run brought is no news of
// that commit.
func (c *changes) leave(line int, b *regression.Benchmark) bool {
	runs, s := c.runs[groupOf(&c.lines[line])], c.standing(line)
	if s.Last == nil || runs[len(runs)-1].Commit == "" {
		return false
	}
	newest := runs[len(runs)-1]
	says := report.Line{Standing: s}
	*b = regression.Benchmark{Benchmark: b.Benchmark, Type: b.Type, Base: b.Base, Findings: []regression.Finding{},
		Reason: says.Says(), NotAt: &testrun.Run{Key: newest.Run, Commit: newest.Commit}}
	return true
}

// brought returns those of a line's findings that the newest runs brought, as the changes that they
// are. What all code took longer is a line above the list, unless it fails.
func (c *changes) brought(line int, findings []regression.Finding, policy *gate.Policy) []regression.Finding {
	weather := c.verdicts[line].Now() != nil && !policy.Slowdowns
	kept := []regression.Finding{}
	for _, f := range findings {
		switch {
		case f.Kind == regression.Environment, weather && f.Kind == regression.Slowdown && f.Function == "":
			continue
		case f.Kind.Costs() || f.Kind == regression.Improvement:
			of := c.findings[line]
			if at := slices.IndexFunc(of, func(g regression.Finding) bool {
				return g.Status != regression.Ended && g.Change.Pair == "" && f.SameAs(g)
			}); at >= 0 {
				g := &of[at]
				if !c.isNew(g) {
					continue
				}
				f.ID, f.Change, f.Since, f.Acknowledged, f.Delta, f.Sides = g.ID, g.Change, g.Since, g.Acknowledged, g.Delta, g.Sides // one size
			}
		}
		kept = append(kept, f)
	}
	return kept
}

// asListed gives a finding that a policy has judged the status of the change that it is: the list asks more
// of a change that it calls confirmed than one comparison does.
func asListed(f *regression.Finding) {
	if f.Change != nil && f.Status != regression.Transient {
		f.Status = statusOf(f.Change)
	}
}

// statusOf returns the status of the finding that a change is shown as.
func statusOf(c *regression.Lasting) regression.Status {
	switch change.State(c.State) {
	case change.Suspect:
		return regression.Suspect
	case change.Ended:
		return regression.Ended
	}
	return regression.Confirmed
}

// newRuns is the number of newest runs of a line that brought a change, if no sides are named: as
// many as it takes to confirm one.
const newRuns = 2

// leastBase is the number of runs below which only the newest run is compared with those before.
const leastBase = 3

// isNew reports whether the newest runs brought a change: it began with them, or they showed it
// first.
func (c *changes) isNew(f *regression.Finding) bool {
	return slices.ContainsFunc(c.newest(f, newRuns), func(p store.Profile) bool {
		return p.Run.Key == f.Change.Onset.Run || p.Run.Key == f.Change.Seen.Run
	})
}

// older says in one line how many changes are open that the newest runs did not bring, as many as the list has
// rows; empty: none.
func (c *changes) older() string {
	list := slices.DeleteFunc(c.open(), func(f regression.Finding) bool {
		return !f.Kind.Costs() || f.Status != regression.Confirmed || f.Acknowledged != nil || c.isNew(&f)
	})
	n := len(gate.Group(list))
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("%d older %s open: dendro regressions", n, words.Plural(n, "change is", "changes are"))
}

// follow returns the changes of a selection as of now.
func follow(ctx context.Context, st store.Reader, q store.Query, selected []store.Profile, f *facts.Facts,
	releases bool) (*changes, error) {
	var j Judging
	req, err := j.request(ctx, st, 0, f)
	if err != nil {
		return nil, err
	}
	if q.Last > 0 {
		q.Last, selected = 0, nil
	}
	return openChanges(ctx, st, q, selected, &req, releases)
}
