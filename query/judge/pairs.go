package judge

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/dendroprof/dendro/analysis/change"
	"github.com/dendroprof/dendro/analysis/gate"
	"github.com/dendroprof/dendro/analysis/history"
	"github.com/dendroprof/dendro/analysis/regression"
	"github.com/dendroprof/dendro/internal/words"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/testrun"
)

// mostPairs is the largest number of pairs of a benchmark that a list has: those of the newest heads.
const mostPairs = 10

// pairs returns the lines of runs that were recorded in turns, by benchmark and value type: the
// newest of each head's branch, newest first.
func (l *ledger) pairs() map[history.Key][]int {
	of := map[history.Key][]int{}
	for i := range l.lines {
		if s := &l.lines[i]; l.verdicts[i].Key.Pair != "" {
			k := s.Key()
			of[k] = append(of[k], i)
		}
	}
	for k, list := range of {
		slices.SortStableFunc(list, func(a, b int) int { return compareRuns(newest(&l.lines[b]), newest(&l.lines[a])) })
		seen := map[string]bool{}
		list = slices.DeleteFunc(list, func(i int) bool {
			head := headName(newest(&l.lines[i]))
			is := seen[head]
			seen[head] = true
			return is
		})
		of[k] = list[:min(len(list), mostPairs)]
	}
	return of
}

// headName is the name of one side of a pair: its branch, else its commit.
func headName(r *testrun.Run) string {
	return cmp.Or(r.Branch, r.Commit[:min(len(r.Commit), 12)], r.Key)
}

// pairText says which commits a pair compares.
func pairText(s *history.Series) string {
	return words.Clean(headName(newest(s))) + " against " + words.Clean(headName(&s.Profiles[0].Run)) + ", recorded in turns"
}

// addPairs adds what runs that were recorded in turns show of the benchmarks of the lines, and the
// benchmarks that have no other runs.
func (c *changes) addPairs(l *ledger, accept func(*change.Verdict) *change.Verdict) {
	of := l.pairs()
	add := func(at int, pairs []int) {
		for _, i := range pairs {
			c.findings[at] = append(c.findings[at], listedOf(accept(l.verdicts[i]), &l.lines[i])...)
		}
	}
	for at := range c.lines {
		k := c.lines[at].Key()
		add(at, of[k])
		delete(of, k)
	}
	var alone []int
	for _, pairs := range of {
		alone = append(alone, pairs[0])
	}
	slices.Sort(alone)
	for _, i := range alone {
		s := l.lines[i]
		c.lines, c.verdicts, c.findings = append(c.lines, s), append(c.verdicts, accept(l.verdicts[i])), append(c.findings, nil)
		add(len(c.lines)-1, of[s.Key()])
	}
}

// inHistories returns the selected profiles that were not recorded in turns, which are in no history,
// and whether there are any; none: all are.
func (c *changes) inHistories(q store.Query) (ids []store.ProfileID, some bool) {
	paired := false
	for i := range c.profiles {
		if p := &c.profiles[i]; change.KeyOf(p).Pair == "" {
			ids = append(ids, p.ID)
		} else {
			paired = true
		}
	}
	if !paired {
		return q.Profiles, true
	}
	return ids, len(ids) > 0
}

// insertPairs adds the benchmarks that have no runs but some recorded in turns: compared with each other,
// or with a policy, which judges the newest runs by those before, untested.
func (c *changes) insertPairs(res *regression.Result, policy *gate.Policy) {
	whole := c.result(c.open()).Benchmarks
	for i, v := range c.verdicts {
		if v.Key.Pair == "" {
			continue
		}
		b := whole[i]
		if policy != nil {
			b = regression.Benchmark{Benchmark: b.Benchmark, Type: b.Type, Profiles: b.Profiles, Findings: []regression.Finding{},
				Reason: fmt.Sprintf("it has %s only: --base %s=%[3]s-base --head %[2]s=%[3]s-head", pairText(&c.lines[i]),
					"attr."+history.SideAttribute, v.Key.Pair)}
		}
		res.Benchmarks = append(res.Benchmarks, b)
	}
	slices.SortStableFunc(res.Benchmarks, func(a, b regression.Benchmark) int { return a.Benchmark.Compare(b.Benchmark) })
}
