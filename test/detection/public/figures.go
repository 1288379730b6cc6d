package public

import (
	"context"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/dendroprof/dendro/analysis/regression"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/test/detection"
)

// Figures are counts over pairs.
type Figures struct {
	Changes, Pairs                      int // pairs with a change, all
	Found, Fails, Headline, Place       int // of changes, two runs of the head
	Sized, Holds                        int //
	Singles, Suspects, Large, LargeFail int // single runs of the head; of changes of at least 2 times
	Controls, False                     int // single runs and pairs of controls; those with a finding
	Beside                              int // changes with findings beside the true one
}

// Run measures every pair, prints a line for each and returns the counts.
func Run(ctx context.Context, w io.Writer, pairs []*Pair) (f Figures, err error) {
	tw := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	fmt.Fprintln(tw, "pair\ttruth, %\tsaid, %\tsize\tholds\tkind\tgate\theadline\tplace\tbeside\tsingle runs\tcontrols")
	for _, p := range pairs {
		if err := f.pair(ctx, tw, p); err != nil {
			return f, fmt.Errorf("%s: %w", p.Name, err)
		}
	}
	return f, tw.Flush()
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
		keys := runKeys(runs(side.list, headRuns))
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
	f.Changes++
	f.Found += count(o.Found)
	f.Fails += count(o.Failed)
	f.Headline += count(o.HeadlineOK)
	f.Place += count(o.PlaceOK)
	f.Sized += count(p.Sized(o))
	f.Holds += count(p.Holds(o))
	f.Beside += count(o.Beside > 0)
	said := word(o)
	if o.Found {
		said = fmt.Sprintf("%+.0f (%+.0f … %+.0f)", o.Size, o.Low, o.High)
	}
	_, err = fmt.Fprintf(w, "%s\t%.0f … %.0f … %.0f\t%s\t%s\t%s\t%s\t%s\t%s %s\t%s %s\t%d\t%s\t%s\n", p.Name, p.Truth.Truth[0], p.Truth.Truth[1], p.Truth.Truth[2],
		said, yes(p.Sized(o)), yes(p.Holds(o)), o.Kind, gateWord(o.Failed), yes(o.HeadlineOK), short(o.Headline), yes(o.PlaceOK), short(o.Place), o.Beside, single, controls)
	return err
}

// count counts a comparison that has one run of the head, or of unchanged runs.
func (f *Figures) count(p *Pair, o *Outcome, none bool) {
	if none {
		f.Controls++
		f.False += count(o.Found || o.Beside > 0)
		return
	}
	f.Singles++
	f.Suspects += count(o.Found)
	if p.Truth.Truth[1] >= 100 {
		f.Large++
		f.LargeFail += count(o.Failed)
	}
}

// String returns the counts on lines.
func (f Figures) String() string {
	return fmt.Sprintf(`found, two runs                %d of %d
gate fails, two runs           %d of %d
headline right                 %d of %d
place right                    %d of %d
size within 30%%                %d of %d
interval holds the truth       %d of %d
single runs found              %d of %d
single runs of 2 × that fail   %d of %d
controls with a finding        %d of %d
changes with other findings    %d of %d
`, f.Found, f.Changes, f.Fails, f.Changes, f.Headline, f.Changes, f.Place, f.Changes, f.Sized, f.Changes, f.Holds, f.Changes,
		f.Suspects, f.Singles, f.LargeFail, f.Large, f.False, f.Controls, f.Beside, f.Changes)
}

// Checks returns the figures with what is required of them.
func (f Figures) Checks() []detection.Check {
	part := func(n, of int) float64 { return float64(n) / float64(max(1, of)) }
	return []detection.Check{
		detection.AtLeast("PC1  changes found, two runs", part(f.Found, f.Changes), 1),
		detection.AtMost("PC2  changes that pass the gate, two runs", float64(f.Changes-f.Fails), 1),
		detection.AtMost("PC3  changes with another headline", float64(f.Changes-f.Headline), 1),
		detection.AtLeast("PC4  innermost place right", part(f.Place, f.Changes), 0.9),
		detection.AtLeast("PC5  size within 30% of the truth's range", part(f.Sized, f.Changes), 0.85),
		detection.AtLeast("PC6  interval holds the truth", part(f.Holds, f.Changes), 0.8),
		detection.AtLeast("PC7  single runs found", part(f.Suspects, f.Singles), 0.85),
		detection.AtLeast("PC8  single runs of 2 × that fail", part(f.LargeFail, f.Large), 0.5),
		detection.AtMost("PC9  controls with a finding", part(f.False, f.Controls), 0.02),
		detection.AtMost("PC10 changes with findings beside the true one", float64(f.Beside), 0),
	}
}

// runs returns the profiles of the first n runs.
func runs(list []store.Profile, n int) []store.Profile {
	keys := runKeys(list)
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
