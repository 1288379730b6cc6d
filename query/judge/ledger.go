package judge

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/dendroprof/dendro/analysis/change"
	"github.com/dendroprof/dendro/analysis/history"
	"github.com/dendroprof/dendro/analysis/regression"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/testrun"
)

// ledger is the verdicts of a selection: read from the store as far as it keeps them and they
// are current, else judged, and kept where that is possible. What it says never depends on what
// was kept.
type ledger struct {
	st       store.Reader
	options  regression.Options
	variant  string // of the keys: verdicts with other options stand beside
	lines    []history.Series
	cut      []bool // by line: newer runs of it are not selected
	verdicts []*change.Verdict
	profiles []store.Profile // of all lines, cut or not

	keeper store.VerdictKeeper // nil: the store keeps none
	stored store.Verdicts
}

// openLedger returns the verdicts of the benchmarks of a selection, as of its newest run of each
// line: what a query says of runs chooses that, and no run before it is left out. A caller who knows the selected
// profiles passes them: of 10,000 benchmarks, reading and copying these is what costs most.
func openLedger(ctx context.Context, st store.Reader, q store.Query, selected []store.Profile, o regression.Options) (*ledger, error) {
	var err error
	if selected == nil {
		if selected, err = st.Profiles(ctx, q); err != nil {
			return nil, err
		}
	}
	of, all := linesOf(q), selected
	onlyLines := of.String() == q.String()
	of.Branches = nil // a pair has runs of two
	if of.String() != q.String() {
		if all, err = st.Profiles(ctx, of); err != nil {
			return nil, err
		}
	}
	l := &ledger{st: st, options: o, profiles: selected}
	if !onlyLines {
		branches := store.Query{Branches: q.Branches}
		l.profiles = branches.Filter(all)
	}
	l.cutLines(change.Lines(all), selected, len(all) == len(selected))
	return l, l.read(ctx)
}

// Follow judges the benchmarks of profiles, all of the store if none is named, and keeps what a
// store keeps of it, so that queries need not: after an import those that it touched.
func Follow(ctx context.Context, st store.Reader, touched []store.ProfileID, own []string) error {
	if _, ok := store.As[store.VerdictKeeper](st); !ok {
		return nil
	}
	all, err := st.Profiles(ctx, store.Query{})
	if err != nil {
		return err
	}
	if len(touched) > 0 {
		of, is := map[testrun.Benchmark]bool{}, map[store.ProfileID]bool{}
		for _, id := range touched {
			is[id] = true
		}
		for i := range all {
			if is[all[i].ID] {
				of[all[i].Benchmark] = true
			}
		}
		all = slices.DeleteFunc(slices.Clone(all), func(p store.Profile) bool { return !of[p.Benchmark] })
	}
	l := &ledger{st: st, options: regression.Options{Own: own}, profiles: all}
	l.cutLines(change.Lines(all), all, true)
	if err := l.read(ctx); err != nil || len(touched) > 0 {
		return err
	}
	_, err = readReleases(ctx, st, store.Query{}, l.options)
	return err
}

// read returns the verdicts of the lines from the store, or judges them.
func (l *ledger) read(ctx context.Context) error {
	var of []testrun.Benchmark
	if list := l.benchmarks(); len(list) <= someBenchmarks {
		of = list
	}
	if err := l.begin(ctx, of); err != nil {
		return err
	}
	return l.judge(ctx)
}

// begin reads the stored verdicts of benchmarks, of all if none is named.
func (l *ledger) begin(ctx context.Context, of []testrun.Benchmark) (err error) {
	o := &l.options
	if len(o.Own) > 0 {
		key := store.KeyOf([]byte(strings.Join(o.Own, "\x00")))
		l.variant = fmt.Sprintf("%x", key[:4])
	}
	if keeper, ok := store.As[store.VerdictKeeper](l.st); ok && !tried(o) { // what somebody tries others do not ask for
		l.keeper = keeper
		l.stored, err = keeper.Verdicts(ctx, of)
	}
	return err
}

// someBenchmarks is the largest number of benchmarks whose verdicts are read by name; of more
// all of the store are.
const someBenchmarks = 50

// linesOf returns a query without its conditions on runs of a line.
func linesOf(q store.Query) store.Query {
	return store.Query{Groups: q.Groups, Benchmarks: q.Benchmarks, Params: q.Params, Branches: q.Branches, Machines: q.Machines,
		Types: q.Types}
}

// cutLines takes the lines that have selected profiles, each up to its newest one.
func (l *ledger) cutLines(lines []history.Series, selected []store.Profile, all bool) {
	if all {
		l.lines, l.cut = lines, make([]bool, len(lines))
		return
	}
	is := store.IDSet(selected)
	for _, s := range lines {
		n := len(s.Profiles)
		for n > 0 && !is[s.Profiles[n-1].ID] {
			n--
		}
		if n > 0 && (n == len(s.Profiles) || change.KeyOf(&s.Profiles[0]).Pair == "") { // half a pair is none
			l.cut = append(l.cut, n < len(s.Profiles))
			s.Profiles = s.Profiles[:n]
			l.lines = append(l.lines, s)
		}
	}
}

// tried reports whether options are not the default but for whose code is the user's own.
func tried(o *regression.Options) bool {
	return o.Alpha != 0 || o.MinShare != 0 || o.Impact != 0 || o.SkipOwnHistory
}

// benchmarks lists those of the lines, each once.
func (l *ledger) benchmarks() (list []testrun.Benchmark) {
	for i := range l.lines {
		if b := l.lines[i].Benchmark; len(list) == 0 || list[len(list)-1] != b {
			list = append(list, b)
		}
	}
	return list
}

// keyOf returns the key of the verdict of a line among those of its benchmark.
func (l *ledger) keyOf(s *history.Series) string {
	k := change.KeyOf(&s.Profiles[0])
	return strings.Join([]string{l.variant, k.Type, k.Branch, k.Machine, k.Profiler, k.Pair}, "\x00")
}

// kept returns the stored verdict of a line, whether it is current or not; nil: none.
func (l *ledger) kept(s *history.Series, of map[string]*store.Verdict) *change.Verdict {
	v := of[l.keyOf(s)]
	if v == nil || v.Stamp != l.stamp() {
		return nil
	}
	out := &change.Verdict{}
	if json.Unmarshal(v.Document, out) != nil {
		return nil // of another version, or broken: it is derived data
	}
	return out
}

// stamp is what verdicts rest on beside the runs and options, whose digest they have.
func (l *ledger) stamp() string {
	return "method " + strconv.Itoa(change.Method) + " code " + strconv.FormatInt(l.stored.Code, 10)
}

// judge reads the verdicts of all lines, judges those that are not current, and keeps them.
func (l *ledger) judge(ctx context.Context) error {
	byBenchmark := map[testrun.Benchmark]map[string]*store.Verdict{}
	for i := range l.stored.List {
		v := &l.stored.List[i]
		if byBenchmark[v.Benchmark] == nil {
			byBenchmark[v.Benchmark] = map[string]*store.Verdict{}
		}
		byBenchmark[v.Benchmark][v.Key] = v
	}
	l.verdicts = make([]*change.Verdict, len(l.lines))
	var stale []int
	for i := range l.lines {
		s := &l.lines[i]
		if !l.cut[i] {
			l.verdicts[i] = l.kept(s, byBenchmark[s.Benchmark])
		}
		if !change.Current(l.verdicts[i], s, l.options) {
			stale = append(stale, i)
		}
	}
	if len(stale) == 0 {
		return nil
	}
	lines, prev := make([]*history.Series, len(stale)), make([]*change.Verdict, len(stale))
	for k, i := range stale {
		lines[k], prev[k] = &l.lines[i], l.verdicts[i]
	}
	fresh, err := change.JudgeAll(ctx, l.st, lines, prev, l.options)
	if err != nil {
		return err
	}
	var whole []*history.Series
	for k, i := range stale {
		l.verdicts[i] = fresh[k]
		if !l.cut[i] {
			whole = append(whole, lines[k])
		}
	}
	if l.keeper == nil || len(whole) == 0 {
		return nil
	}
	return l.keep(ctx, whole, byBenchmark)
}

// mostOthers is the largest number of verdicts of a benchmark that the selection does not have, as
// of other value types, that stay beside those that are kept.
const mostOthers = 64

// keep stores the verdicts of the benchmarks of some lines. It is no error if it cannot: the next
// query judges again.
func (l *ledger) keep(ctx context.Context, judged []*history.Series, byBenchmark map[testrun.Benchmark]map[string]*store.Verdict) error {
	touched := map[testrun.Benchmark]bool{}
	for _, s := range judged {
		touched[s.Benchmark] = true
	}
	var list []store.Verdict
	for i := range l.lines {
		s := &l.lines[i]
		if !touched[s.Benchmark] || l.cut[i] {
			continue
		}
		document, err := json.Marshal(l.verdicts[i])
		if err != nil {
			return fmt.Errorf("verdict on %s: %w", s.Benchmark, err)
		}
		key := l.keyOf(s)
		list = append(list, store.Verdict{Benchmark: s.Benchmark, Key: key, Stamp: l.stamp(), Document: document})
		delete(byBenchmark[s.Benchmark], key)
	}
	for b := range touched {
		var others []store.Verdict
		for _, v := range byBenchmark[b] {
			if v.Stamp == l.stamp() {
				others = append(others, *v)
			}
		}
		slices.SortFunc(others, func(a, b store.Verdict) int { return cmp.Compare(a.Key, b.Key) })
		list = append(list, others[:min(len(others), mostOthers)]...)
	}
	if err := l.keeper.KeepVerdicts(ctx, list); err != nil && !errors.Is(err, store.ErrReadOnly) {
		return ctx.Err()
	}
	return nil
}
