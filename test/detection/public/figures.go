package public

import (
	"context"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/dendroprof/dendro/analysis/regression"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/test/detection"
)

// Figures are counts over pairs.
type Figures struct {
	Pairs, Changes                      int // all, and those that became slower
	Found, Fails, Headline, Place       int // of changes, two runs of the head
	Sized, Holds                        int // likewise
	Singles, Suspects, Large, LargeFail int // single runs of the head; of changes of at least 2 times
	Controls, False                     int // single runs and pairs of controls; those with a finding
	Beside                              int // changes with findings beside the true one
	Behind                              int // changes whose culprit ranks lower than in a diff of own samples
	Faster, FasterFound, FasterWrong    int // pairs that became faster: all, found, with a cost or a failing gate
}

// Run measures every pair, prints a line for each and returns the counts: of the pairs on
// which the method was chosen, of those held back, and of all.
func Run(ctx context.Context, w io.Writer, pairs []*Pair) (r Result, err error) {
	tw := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	fmt.Fprintln(tw, "pair\ttruth, %\tsaid, %\tsize\tholds\tkind\tgate\theadline\tplace\tbeside\tsingle runs\tcontrols")
	for _, p := range pairs {
		var f Figures
		if err := f.pair(ctx, tw, p); err != nil {
			return r, fmt.Errorf("%s: %w", p.Name, err)
		}
		half := &r.Chosen
		if p.Confirm {
			half = &r.Held
		}
		for _, of := range []*Figures{half, &r.Languages[slices.Index(languages[:], p.language())], &r.All} {
			of.add(&f)
		}
	}
	return r, tw.Flush()
}

// languages are those of the pairs.
var languages = [...]string{"Go", "Java", "Node.js", "Python"}

// Result is the counts of the pairs.
type Result struct {
	Chosen    Figures // pairs on which the method was chosen
	Held      Figures // pairs that were held back
	Languages [len(languages)]Figures
	All       Figures // which has to be as required
}

// add adds counts.
func (f *Figures) add(g *Figures) {
	to, from := reflect.ValueOf(f).Elem(), reflect.ValueOf(g).Elem()
	for i := range to.NumField() {
		to.Field(i).SetInt(to.Field(i).Int() + from.Field(i).Int())
	}
}

// baseRuns and headRuns are the runs of a side that are compared.
const (
	baseRuns = 4
	headRuns = 2
)

func (f *Figures) pair(ctx context.Context, w io.Writer, p *Pair) error {
	base := runs(p.Base, baseRuns)
	o, err := p.Measure(ctx, base, runs(p.Head, headRuns))
	if err != nil {
		return err
	}
	f.Pairs++
	var single, controls string
	for _, side := range []struct {
		list []store.Profile
		text *string
		none bool
	}{{p.Head, &single, p.None}, {p.Control, &controls, true}} {
		keys := detection.RunsOf(runs(side.list, headRuns))
		var sets [][]store.Profile
		for _, key := range keys {
			sets = append(sets, ofRuns(side.list, key))
		}
		if side.none {
			sets = append(sets, ofRuns(side.list, keys...))
		}
		for _, set := range sets {
			one, err := p.Measure(ctx, base, set)
			if err != nil {
				return err
			}
			*side.text += word(one) + " "
			f.count(p, one, side.none)
		}
	}
	if p.None {
		_, err = fmt.Fprintf(w, "%s\tnone\t%s\t\t\t\t\t\t\t\t%s\t%s\n", p.Name, word(o), single, controls)
		return err
	}
	if p.Faster() {
		f.Faster++
		f.FasterFound += count(o.Found)
		f.FasterWrong += count(o.Failed || o.Costs)
	} else if err := f.change(ctx, p, base, o); err != nil {
		return err
	}
	said := word(o)
	if o.Found {
		said = fmt.Sprintf("%+.0f (%+.0f … %+.0f)", o.Size, o.Low, o.High)
	}
	_, err = fmt.Fprintf(w, "%s\t%.0f … %.0f … %.0f\t%s\t%s\t%s\t%s\t%s\t%s %s\t%s %s\t%d\t%s\t%s\n", p.Name, p.Truth.Truth[0], p.Truth.Truth[1], p.Truth.Truth[2],
		said, yes(p.Sized(o)), yes(p.Holds(o)), o.Kind, gateWord(o.Failed), yes(o.HeadlineOK), short(o.Headline), yes(o.PlaceOK), short(o.Place),
		o.Beside, single, controls)
	return err
}

// change counts what was said of a change with two runs of the head.
func (f *Figures) change(ctx context.Context, p *Pair, base []store.Profile, o *Outcome) error {
	naive, err := p.Naive(ctx, base, runs(p.Head, headRuns))
	if err != nil {
		return err
	}
	f.Changes++
	f.Found += count(o.Found)
	f.Fails += count(o.Failed)
	f.Behind += count(naive > 0 && (o.Rank == 0 || o.Rank > naive))
	f.Headline += count(o.HeadlineOK)
	f.Place += count(o.PlaceOK)
	f.Sized += count(p.Sized(o))
	f.Holds += count(p.Holds(o))
	f.Beside += count(o.Beside > 0)
	return nil
}

// count counts a comparison that has one run of the head, or of unchanged runs.
func (f *Figures) count(p *Pair, o *Outcome, none bool) {
	if none {
		f.Controls++
		f.False += count(o.Found || o.Beside > 0)
		return
	}
	if p.Faster() {
		return
	}
	f.Singles++
	f.Suspects += count(o.Found)
	if p.Truth.Truth[1] >= 100 {
		f.Large++
		f.LargeFail += count(o.Failed)
	}
}

// row is a figure: so many of so many, and what is required of all pairs.
type row struct {
	name  string
	count func(f *Figures) (n, of int)
	check func(n, of int) detection.Check
}

// atLeast requires a part, atMost a number.
func atLeast(name string, part float64) func(n, of int) detection.Check {
	return func(n, of int) detection.Check { return detection.AtLeast(name, float64(n)/float64(max(1, of)), part) }
}

func atMost(name string, part float64) func(n, of int) detection.Check {
	return func(n, of int) detection.Check { return detection.AtMost(name, float64(n)/float64(max(1, of)), part) }
}

var rows = []row{
	{"found, two runs", func(f *Figures) (int, int) { return f.Found, f.Changes }, atLeast("PC1  changes found, two runs", 1)},
	{"gate fails, two runs", func(f *Figures) (int, int) { return f.Fails, f.Changes }, atLeast("PC2  gate fails, two runs", 0.95)},
	{"headline right", func(f *Figures) (int, int) { return f.Headline, f.Changes }, atLeast("PC3  headline right", 0.95)},
	{"innermost place right", func(f *Figures) (int, int) { return f.Place, f.Changes }, atLeast("PC4  innermost place right", 0.95)},
	{"size within 30% of the truth's range", func(f *Figures) (int, int) { return f.Sized, f.Changes },
		atLeast("PC5  size within 30% of the truth's range", 0.9)},
	{"interval holds the truth", func(f *Figures) (int, int) { return f.Holds, f.Changes }, atLeast("PC6  interval holds the truth", 0.9)},
	{"single runs found", func(f *Figures) (int, int) { return f.Suspects, f.Singles }, atLeast("PC7  single runs found", 0.85)},
	{"single runs of 2 × that fail", func(f *Figures) (int, int) { return f.LargeFail, f.Large },
		atLeast("PC8  single runs of 2 × that fail", 0.5)},
	{"controls with a finding", func(f *Figures) (int, int) { return f.False, f.Controls }, atMost("PC9  controls with a finding", 0)},
	{"findings beside the true one", func(f *Figures) (int, int) { return f.Beside, f.Changes },
		atMost("PC10 changes with findings beside the true one", 0)},
	{"culprit ranks behind pprof's diff", func(f *Figures) (int, int) { return f.Behind, f.Changes },
		atMost("PC11 culprits that rank behind pprof's diff", 0)},
	{"faster: found, two runs", func(f *Figures) (int, int) { return f.FasterFound, f.Faster }, atLeast("PC12 faster, found, two runs", 0.25)},
	{"faster: a cost or a failing gate", func(f *Figures) (int, int) { return f.FasterWrong, f.Faster },
		atMost("PC13 faster, with a cost or a failing gate", 0)},
}

// String returns the counts as a table: a row per figure, both halves, each language and all.
func (r Result) String() string {
	var b strings.Builder
	tw := tabwriter.NewWriter(&b, 0, 8, 2, ' ', 0)
	fmt.Fprintf(tw, "\tchosen on\theld back\t%s\tall\trequired\n", strings.Join(languages[:], "\t"))
	for _, row := range rows {
		fmt.Fprint(tw, row.name)
		for _, f := range append(append([]Figures{r.Chosen, r.Held}, r.Languages[:]...), r.All) {
			n, of := row.count(&f)
			fmt.Fprintf(tw, "\t%d of %d", n, of)
		}
		fmt.Fprintf(tw, "\t%s\n", row.check(row.count(&r.All)).Required)
	}
	tw.Flush()
	return b.String()
}

// Checks returns the figures of all pairs with what is required of them, and the single runs of each language.
func (r Result) Checks() (list []detection.Check) {
	for _, row := range rows {
		list = append(list, row.check(row.count(&r.All)))
	}
	for i, name := range languages {
		f := &r.Languages[i]
		list = append(list, atLeast("PC14 single runs found, "+name, 0.85)(f.Suspects, f.Singles))
	}
	return list
}

// runs returns the profiles of the first n runs.
func runs(list []store.Profile, n int) []store.Profile {
	keys := detection.RunsOf(list)
	return ofRuns(list, keys[:min(n, len(keys))]...)
}

func word(o *Outcome) string {
	switch {
	case o.Failed:
		return "fails"
	case !o.Found:
		if o.Beside > 0 {
			return "other"
		}
		return "-"
	case o.Kind != regression.Regression:
		return string(o.Kind)
	}
	return string(o.Status)
}

func gateWord(failed bool) string {
	if failed {
		return "fails"
	}
	return "passes"
}

func yes(is bool) string {
	if is {
		return "yes"
	}
	return "NO"
}

func count(is bool) int {
	if is {
		return 1
	}
	return 0
}
