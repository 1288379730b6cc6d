package detection

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/dendroprof/dendro/analysis/change"
	"github.com/dendroprof/dendro/analysis/history"
	"github.com/dendroprof/dendro/analysis/regression"
	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/testrun"
)

// Nights is real runs of one benchmark and state of its machine, of which histories of any
// length are made: nights of unchanged code, and nights with a change.
type Nights struct {
	Name  string
	Size  float64 // of the change, as a share of the program; negative: faster
	Shows func(f *regression.Finding) bool

	benchmark      testrun.Benchmark
	typ            profile.ValueType
	table          *calltree.Table
	clean, changed []Night
}

// Night is one run.
type Night struct {
	Profile store.Profile
	Vector  calltree.Vector
}

// NewNights returns the runs of profiles of one store.
func NewNights(ctx context.Context, st store.Reader, name string, clean, changed []store.Profile) (*Nights, error) {
	n := &Nights{Name: name, benchmark: clean[0].Benchmark, typ: clean[0].Type}
	set, err := st.Trees(ctx, store.Query{Profiles: append(store.IDs(clean), store.IDs(changed)...)}, store.TreeOptions{})
	if err != nil {
		return nil, err
	}
	n.table = set.Table
	vectors := map[store.ProfileID]calltree.Vector{}
	for v, err := range set.Vectors {
		if err != nil {
			return nil, err
		}
		vectors[set.Profiles[v.Profile].ID] = calltree.Vector{Nodes: slices.Clone(v.Nodes), Self: slices.Clone(v.Self)}
	}
	for _, p := range clean {
		n.clean = append(n.clean, Night{p, vectors[p.ID]})
	}
	for _, p := range changed {
		n.changed = append(n.changed, Night{p, vectors[p.ID]})
	}
	return n, nil
}

// SimulatedNights returns the runs of a simulated history without a change.
func SimulatedNights(plan Plan) (*Nights, bool) {
	s, ok := Simulate(plan)
	if !ok {
		return nil, false
	}
	n := &Nights{Name: s.Profiles[0].Benchmark.Name, benchmark: s.Profiles[0].Benchmark, typ: s.Profiles[0].Type, table: s.Table}
	for i, p := range s.Profiles {
		p.Hash = string(p.ID)
		n.clean = append(n.clean, Night{p, s.Vectors[i]})
	}
	return n, true
}

// MeasureNights measures the changes of real subjects, each in so many histories.
func MeasureNights(ctx context.Context, subjects []*Subject, histories uint64, most int, trace io.Writer) (*NightsFigures, error) {
	f := &NightsFigures{}
	for _, s := range subjects {
		for seed := range histories {
			for _, n := range s.Nights {
				if err := f.Measure(ctx, n, seed, most, trace); err != nil {
					return nil, err
				}
			}
			for i := range uint64(2) {
				if err := f.MeasureClean(ctx, s.Nights[0], 2*seed+i, 0, trace); err != nil {
					return nil, err
				}
			}
		}
	}
	return f, nil
}

// SimulatedCleanNights measures simulated histories without a change.
func SimulatedCleanNights(ctx context.Context, histories int, seed uint64, trace io.Writer) (*NightsFigures, error) {
	f := &NightsFigures{}
	for i := range uint64(histories) {
		n, ok := SimulatedNights(Plan{Seed: seed + i, Nodes: 2000, Runs: NightsClean - 1, K: 1, Samples: 10000, Kind: "none"})
		if !ok {
			continue
		}
		if err := f.MeasureClean(ctx, n, i, 0, trace); err != nil {
			return nil, err
		}
	}
	return f, nil
}

// Checks returns the required figures; of a set without smaller changes, those of the large ones.
func (f *NightsFigures) Checks(of string) []Check {
	dated, exact := f.Large.Dated+f.Small.Dated, f.Large.Exact+f.Small.Exact
	ends, over := f.Large.Ends+f.Small.Ends, f.Large.Over+f.Small.Over
	var checks []Check
	name := func(n int, what string) string { return fmt.Sprintf("N%d  %s, %s", n, what, of) }
	if f.Large.Histories > 0 {
		checks = append(checks, AtLeast(name(1, "changes of 20% listed, from the second night on"), f.Large.fromSecond(), 0.95))
	}
	if two := ratio(f.Small.TwoRuns, f.Small.Histories); f.Small.Histories > 0 {
		second := ratio(f.Small.Listed[2], f.Small.Lists[2])
		checks = append(checks, AtLeast(name(2, "smaller ones listed in the second night"), second, two),
			AtLeast(name(2, "and from the third night on"), f.Small.from(3), second))
	}
	if dated > 0 {
		checks = append(checks, AtLeast(name(3, "first night right"), ratio(exact, dated), 0.85),
			AtLeast(name(4, "over within three nights"), ratio(over, ends), 0.95))
	}
	return append(checks, AtMost(name(5, fmt.Sprintf("false changes per clean history of %d nights", NightsClean)), f.falsePerHistory(), 0.2))
}

// pool draws runs in random order. A run that is drawn again is another one of the same program and
// machine: its samples are Poisson counts around the recorded ones.
type pool struct {
	r     *rand.Rand
	runs  []Night
	order []int
	drawn int
}

func newPool(r *rand.Rand, runs []Night) *pool {
	return &pool{r: r, runs: runs, order: r.Perm(len(runs))}
}

func (p *pool) draw() Night {
	again := p.drawn >= len(p.runs)
	if again && p.drawn%len(p.runs) == 0 {
		p.order = p.r.Perm(len(p.runs))
	}
	n := p.runs[p.order[p.drawn%len(p.runs)]]
	p.drawn++
	if !again {
		return n
	}
	var common int64
	unit := int64(history.SampleUnit(n.Profile.Type, history.CommonDivisor(common, n.Vector.Self)))
	v := calltree.Vector{}
	n.Profile.Sum = 0
	for i, x := range n.Vector.Self {
		if x = poisson(p.r, float64(x)/float64(unit)) * unit; x > 0 {
			v.Nodes, v.Self = append(v.Nodes, n.Vector.Nodes[i]), append(v.Self, x)
			n.Profile.Sum += x
		}
	}
	n.Vector = v
	return n
}

// diary is the nights of one history and their verdict.
type diary struct {
	of      *Nights
	series  history.Series
	vectors []calltree.Vector
	verdict *change.Verdict
}

// add adds a night and judges it.
func (d *diary) add(ctx context.Context, n Night) error {
	t := len(d.vectors)
	p := n.Profile
	p.ID = store.ProfileID(fmt.Sprintf("%016x", t))
	p.Hash = fmt.Sprintf("%s-%d", p.Hash, n.Vector.Sum())
	p.Run = testrun.Run{Key: fmt.Sprintf("night-%03d", t), Date: time.Date(2026, 1, 1+t, 3, 0, 0, 0, time.UTC)}
	d.series.Profiles = append(d.series.Profiles[:t:t], p)
	d.vectors = append(d.vectors[:t:t], n.Vector)
	v, err := change.JudgeSamples(ctx, &d.series, history.NewSamples(&d.series, d.of.table, d.vectors), d.verdict, regression.Options{})
	d.verdict = v
	return err
}

// diary begins a history.
func (n *Nights) diary() *diary {
	return &diary{of: n, series: history.Series{Benchmark: n.benchmark, Type: n.typ}}
}

// The nights of a measurement.
const (
	nightsBefore = 12
	nightsAfter  = 3
	// NightsClean is the length of a history without a change.
	NightsClean = 35
)

// nightsLast is how long changes last.
var nightsLast = []int{1, 2, 3, 6, 12, 40}

// NightsFigures counts what changes.Judge states of changes that last and end.
type NightsFigures struct {
	Large, Small nightsOf // changes of at least largeChange, and others
	Clean        struct{ Nights, Changes, Suspects int }
}

// nightsOf counts the nights of some changes.
type nightsOf struct {
	Histories int
	TwoRuns   int     // in which the comparison of the first two nights alone shows the change
	Listed    [41]int // histories in which the change is listed in its nth night
	Lists     [41]int // histories of so many nights
	Beside    int     // other costs listed, of all nights
	Dated     int     // confirmed changes
	Exact     int     // of these with the right first night
	Ends      int     // changes that were listed and ended
	Over      int     // of these over within three nights
}

// largeChange is the size from which on a change has to be listed nearly always.
const largeChange = 0.2

// Measure makes histories of a set of runs, of which the change lasts at most so many nights.
func (f *NightsFigures) Measure(ctx context.Context, n *Nights, seed uint64, most int, trace io.Writer) error {
	r := rand.New(rand.NewPCG(seed, 7))
	clean, changed := newPool(r, n.clean), newPool(r, n.changed)
	d := n.diary()
	for range nightsBefore {
		if err := d.add(ctx, clean.draw()); err != nil {
			return err
		}
	}
	of := &f.Small
	if n.Size >= largeChange || n.Size <= -largeChange {
		of = &f.Large
	}
	of.Histories++
	for i := 1; i <= most; i++ {
		if err := d.add(ctx, changed.draw()); err != nil {
			return err
		}
		listed := n.listed(d.verdict)
		of.Lists[i]++
		if listed != nil {
			of.Listed[i]++
		}
		for _, c := range d.verdict.Open() {
			if c.Costs() && !n.Shows(&c.Finding) {
				of.Beside++
			}
		}
		if i == 2 && n.twoRuns(d) {
			of.TwoRuns++
		}
		if !slices.Contains(nightsLast, i) {
			continue
		}
		if trace != nil {
			n.trace(trace, seed, i, d.verdict)
		}
		if listed == nil {
			continue
		}
		if listed.State == change.Confirmed {
			of.Dated++
			if listed.Onset.Run.Run == fmt.Sprintf("night-%03d", nightsBefore) {
				of.Exact++
			}
		}
		after := *d
		rest := *clean
		rest.r = rand.New(rand.NewPCG(seed, uint64(i)))
		for range nightsAfter {
			if err := after.add(ctx, rest.draw()); err != nil {
				return err
			}
		}
		of.Ends++
		if n.listed(after.verdict) == nil {
			of.Over++
		} else if trace != nil {
			fmt.Fprintf(trace, "not over after %d nights: ", i)
			n.trace(trace, seed, i+nightsAfter, after.verdict)
		}
	}
	return nil
}

// MeasureClean makes a history without a change of so many nights; 0: of every run once.
func (f *NightsFigures) MeasureClean(ctx context.Context, n *Nights, seed uint64, nights int, trace io.Writer) error {
	r := rand.New(rand.NewPCG(seed, 8))
	clean, d := newPool(r, n.clean), n.diary()
	if nights == 0 {
		nights = len(n.clean)
	}
	confirmed, suspects := map[string]bool{}, map[string]bool{}
	for range nights {
		if err := d.add(ctx, clean.draw()); err != nil {
			return err
		}
		for _, c := range d.verdict.Open() {
			if !c.Costs() {
				continue
			}
			suspects[c.ID] = true
			if c.State == change.Confirmed && !confirmed[c.ID] {
				confirmed[c.ID] = true
				if trace != nil {
					fmt.Fprintf(trace, "clean %s %d: ", n.Name, seed)
					n.trace(trace, seed, 0, d.verdict)
				}
			}
		}
	}
	f.Clean.Nights += nights
	f.Clean.Changes += len(confirmed)
	f.Clean.Suspects += len(suspects) - len(confirmed)
	return nil
}

// listed returns the open change that was made.
func (n *Nights) listed(v *change.Verdict) *change.Change {
	for _, c := range v.Open() {
		if c.Costs() == (n.Size > 0) && n.Shows(&c.Finding) {
			return &c
		}
	}
	return nil
}

// twoRuns reports whether one comparison of the first two nights with those before shows the change.
func (n *Nights) twoRuns(d *diary) bool {
	m := history.NewMatrix(n.table, d.series.Profiles, d.vectors)
	var base []int
	for t := range nightsBefore {
		base = append(base, t)
	}
	a, err := regression.Prepare(&d.series, m).Compare(base, []int{nightsBefore, nightsBefore + 1}, regression.Options{})
	if err != nil {
		return false
	}
	return slices.ContainsFunc(a.Findings, func(f regression.Finding) bool {
		return (f.Kind.Costs() && n.Size > 0 || f.Kind == regression.Improvement && n.Size < 0) && n.Shows(&f)
	})
}

func (n *Nights) trace(w io.Writer, seed uint64, night int, v *change.Verdict) {
	fmt.Fprintf(w, "%s %+.0f%% seed %d night %d:", n.Name, 100*n.Size, seed, night)
	for _, c := range v.Open() {
		mark := ""
		if n.Shows != nil && n.Shows(&c.Finding) {
			mark = "*"
		}
		fmt.Fprintf(w, " | %s%s %s %s %+.1f%% z %.1f p %.2g since %s (%d)", mark, c.State, c.Finding.Kind, c.Finding.Function,
			100*c.Finding.Delta.Share, c.Finding.Score, c.Finding.Chance, c.Onset.Run.Run, c.Runs)
	}
	fmt.Fprintln(w)
}

// Print prints the tables.
func (f *NightsFigures) Print(w io.Writer) {
	tw := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	fmt.Fprintln(tw, "listed\thistories\ttwo runs\tnight 1\t2\t3\t4\t5\t6\t8\t12\t20\t40\tfrom 2 on\tonset exact\tover in 3\tbeside a night")
	for _, of := range []struct {
		name string
		*nightsOf
	}{{"20% and more", &f.Large}, {"smaller", &f.Small}} {
		if of.Histories == 0 {
			continue
		}
		fmt.Fprintf(tw, "%s\t%d\t%.2f", of.name, of.Histories, ratio(of.TwoRuns, of.Histories))
		for _, n := range []int{1, 2, 3, 4, 5, 6, 8, 12, 20, 40} {
			fmt.Fprintf(tw, "\t%.2f", ratio(of.Listed[n], of.Lists[n]))
		}
		fmt.Fprintf(tw, "\t%.3f\t%.3f (%d)\t%.3f (%d)\t%.3f\n", of.fromSecond(), ratio(of.Exact, of.Dated), of.Dated, ratio(of.Over, of.Ends),
			of.Ends, ratio(of.Beside, sum(of.Lists[:])))
	}
	tw.Flush()
	fmt.Fprintf(w, "clean: %d nights, %.3f false changes and %.3f suspects per %d nights\n", f.Clean.Nights, f.falsePerHistory(), ratio(f.Clean.Suspects*NightsClean, f.Clean.Nights), NightsClean)
}

func (f *NightsFigures) falsePerHistory() float64 {
	return ratio(f.Clean.Changes*NightsClean, f.Clean.Nights)
}

// fromSecond is the part of the nights from the second on in which changes are listed.
func (of *nightsOf) fromSecond() float64 { return of.from(2) }

// from is the part of the nights from the nth on in which changes are listed.
func (of *nightsOf) from(n int) float64 { return ratio(sum(of.Listed[n:]), sum(of.Lists[n:])) }

func sum(list []int) (n int) {
	for _, x := range list {
		n += x
	}
	return n
}
