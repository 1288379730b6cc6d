package storetest

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/testrun"
)

// historySteps is how long a history is.
const historySteps = 50

// History makes one random history of puts, deletes, compactions, reopenings
// and queries, the same for all engines, and requires the outcomes and answers
// of the model from each. A failure prints the seed and what led to it.
func History(t testing.TB, seed uint64, engines ...Engine) {
	t.Helper()
	h := &history{
		t: t, r: rand.New(rand.NewPCG(seed, 0)),
		importers: []*Importer{historyImporter(), historyImporter()},
	}
	for _, e := range engines {
		h.labs = append(h.labs, newLab(t, e))
	}
	for step := range historySteps {
		what := h.step()
		h.log = append(h.log, fmt.Sprintf("%2d  %s", step, what))
		if step%10 == 9 || step == historySteps-1 {
			h.each((*lab).check)
		}
		if t.Failed() {
			t.Fatalf("history with seed %d:\n%s", seed, strings.Join(h.log, "\n"))
		}
	}
}

type history struct {
	t         testing.TB
	r         *rand.Rand
	labs      []*lab
	importers []*Importer
	files     []*store.File // all that were put
	log       []string
	unique    int64 // makes every content a new one
}

// historyImporter gives functions attributes that follow from their names, and
// those named L$n the name L$*.
func historyImporter() *Importer {
	im := rawImporter()
	normalize := im.Rename
	im.Rename = func(fn profile.Function) profile.Function {
		fn = normalize(fn)
		fn.Kind = profile.Kind(len(fn.Name) % 4)
		if fn.Name > "C" {
			fn.Module, fn.File, fn.StartLine = "lib"+fn.Name, fn.Name+".c", int32(fn.Name[0])
		}
		return fn
	}
	return im
}

func (h *history) each(do func(*lab)) {
	h.t.Helper()
	for _, l := range h.labs {
		do(l)
	}
}

// step does one thing and describes what.
func (h *history) step() string {
	h.t.Helper()
	switch n := h.r.IntN(100); {
	case n < 45:
		return h.put()
	case n < 53:
		return h.repeat()
	case n < 60:
		return h.metrics()
	case n < 72:
		return h.delete()
	case n < 80:
		h.each((*lab).compact)
		return "compact"
	case n < 85:
		h.each((*lab).reopen)
		return "reopen"
	case n < 90:
		i := h.r.IntN(len(h.importers))
		h.importers[i] = historyImporter()
		return fmt.Sprintf("importer %d starts anew", i)
	default:
		q := h.query()
		h.each(func(l *lab) { l.checkSelection(q, l.profiles(store.Query{})) })
		return "ask for " + q.String()
	}
}

func (h *history) put() string {
	h.t.Helper()
	c := []store.Conflict{store.Refuse, store.Refuse, store.Refuse, store.Replace, store.Add}[h.r.IntN(5)]
	var files []*store.File
	var names []string
	for range 1 + h.r.IntN(3) {
		f := h.file(h.pair())
		files = append(files, f)
		names = append(names, f.Name)
	}
	h.files = append(h.files, files...)
	h.each(func(l *lab) { l.putAs(c, files...) })
	return fmt.Sprintf("put (%s) %s", [...]string{"refuse", "replace", "add"}[c], strings.Join(names, ", "))
}

// repeat puts an old file again, which may be a part of a sum now.
func (h *history) repeat() string {
	h.t.Helper()
	if len(h.files) == 0 {
		return "repeat nothing"
	}
	f := h.files[h.r.IntN(len(h.files))]
	c := []store.Conflict{store.Refuse, store.Replace, store.Add}[h.r.IntN(3)]
	h.each(func(l *lab) { l.putAs(c, f) })
	return fmt.Sprintf("repeat (%d) %s", c, f.Name)
}

func (h *history) metrics() string {
	h.t.Helper()
	at := h.pair()
	f := MetricsFile(at.benchmark.Group, at.benchmark.Name, at.run, append(h.someMetrics(), Metric("alone", h.r.Float64()))...)
	h.facts(&f.Run)
	h.each(func(l *lab) { l.putAs(store.Refuse, f) })
	return "metrics of " + f.Name
}

func (h *history) someMetrics() []testrun.Metric {
	var list []testrun.Metric
	for _, name := range []string{"time", "rate", "size"} {
		if h.r.IntN(2) == 0 {
			m := Metric(name, h.r.NormFloat64())
			m.Primary = name == "time"
			list = append(list, m)
		}
	}
	return list
}

// delete removes a few profiles.
func (h *history) delete() string {
	h.t.Helper()
	all := h.labs[0].profiles(store.Query{})
	list := []store.ProfileID{"0123456789abcdef"}
	for range h.r.IntN(4) {
		if len(all) > 0 {
			list = append(list, all[h.r.IntN(len(all))].ID)
		}
	}
	if h.r.IntN(12) == 0 {
		list = ids(all)
	}
	h.each(func(l *lab) { l.delete(list...) })
	return fmt.Sprint("delete ", list)
}

// pair chooses a benchmark and a run.
func (h *history) pair() pair {
	return pair{
		testrun.Benchmark{Group: fmt.Sprint("g", 1+h.r.IntN(2)), Name: fmt.Sprintf("b%d/size=%d", 1+h.r.IntN(2), 1+h.r.IntN(2))},
		fmt.Sprint("r", h.r.IntN(5)),
	}
}

// file draws a file with one or two profiles and, at times, everything else
// that a file can have.
func (h *history) file(at pair) *store.File {
	im := h.importers[h.r.IntN(len(h.importers))]
	f := newFile(at.benchmark.Group, at.benchmark.Name, at.run)
	types := []string{profile.CPUSamples, profile.Alloc, profile.Wall}
	h.r.Shuffle(len(types), func(i, j int) { types[i], types[j] = types[j], types[i] })
	for _, typ := range types[:1+h.r.IntN(2)] {
		h.record(im, f, typ)
	}
	f.Name += fmt.Sprint(" #", h.unique)
	h.facts(&f.Run)
	if h.r.IntN(3) == 0 {
		f.Metrics = h.someMetrics()
	}
	if h.r.IntN(4) == 0 {
		f.Source = []byte("source of " + f.Name)
	}
	return f
}

// facts sets random facts of a run, sometimes contradictory ones.
func (h *history) facts(r *testrun.Run) {
	if h.r.IntN(2) == 0 {
		r.Commit = "c0ffee00" + r.Key
	}
	if h.r.IntN(2) == 0 {
		r.Branch = []string{"main", "dev"}[int(r.Key[1])%2]
	}
	if h.r.IntN(3) == 0 {
		r.Attributes = map[string]string{[]string{"jdk", "os"}[h.r.IntN(2)]: r.Key}
	}
	if h.r.IntN(15) == 0 {
		r.Commit = "another"
	}
}

// record draws a profile of random stacks, at times with compile modes.
func (h *history) record(im *Importer, f *store.File, typ string) {
	h.unique++
	samples := []Sample{{[]string{"main"}, 1000 + h.unique}}
	for range h.r.IntN(12) {
		stack := []string{"main"}
		for range h.r.IntN(6) {
			name := string(rune('A' + h.r.IntN(6)))
			if name == "F" {
				name = fmt.Sprint("L$", h.r.IntN(1000))
			}
			stack = append(stack, name)
		}
		stack, value := stack[h.r.IntN(len(stack)):], 1+h.r.Int64N(100)
		if h.r.IntN(12) == 0 {
			// At nodes of their own, so that no sum leaves a mode more than the whole.
			stack, value = append(stack, "N"), -value
		}
		samples = append(samples, Sample{stack, value})
	}
	rec := im.AddSamples(f, typ, samples...)
	if h.r.IntN(4) > 0 {
		return
	}
	// Each node's value is given to one mode or to none.
	for _, mode := range []profile.FrameType{profile.FrameInterpreted, profile.FrameJIT} {
		part := store.ModeVector{Mode: mode}
		for i, n := range rec.Self.Nodes {
			if rec.Self.Self[i] > 0 && i%3 == int(mode)%3 {
				part.Nodes, part.Self = append(part.Nodes, n), append(part.Self, rec.Self.Self[i])
			}
		}
		rec.Modes = append(rec.Modes, part)
	}
}

// query chooses a selection.
func (h *history) query() store.Query {
	var q store.Query
	some := func() bool { return h.r.IntN(4) == 0 }
	if some() {
		q.Groups = []string{fmt.Sprint("g", 1+h.r.IntN(3))}
	}
	if some() {
		q.Benchmarks = []string{[]string{"b1", "b?", "b2/size=1", "*size=2"}[h.r.IntN(4)]}
	}
	if some() {
		q.Params = map[string]string{"size": []string{"1", "?", "3"}[h.r.IntN(3)]}
	}
	if some() {
		q.Runs = []string{fmt.Sprint("r", h.r.IntN(5)), fmt.Sprint("r", h.r.IntN(5))}
	}
	if some() {
		q.Branches = []string{"m*"}
	}
	if some() {
		q.Commits = []string{"c0ffee0", "another"}
	}
	if some() {
		q.Attributes = map[string]string{"jdk": "*"}
	}
	if h.r.IntN(2) == 0 {
		q.Types = []string{[]string{profile.CPUSamples, profile.Alloc, "*"}[h.r.IntN(3)]}
	}
	if some() {
		q.Since = RunOf(fmt.Sprint("r", h.r.IntN(4))).Date
	}
	if some() {
		q.Until = RunOf(fmt.Sprint("r", 1+h.r.IntN(4))).Date
	}
	if some() {
		q.Last = 1 + h.r.IntN(3)
	}
	return q
}
