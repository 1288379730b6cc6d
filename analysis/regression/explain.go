package regression

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/dendroprof/dendro/analysis/history"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/store"
)

// Limits below which compile modes explain nothing: the part of a function's samples whose
// mode changed, and samples of a side.
const (
	leastModeChange = 0.2
)

// explain adds to findings that the virtual machine compiled their functions differently
// before. It reads the tested runs if a function may be of such a machine, and those before
// only if profilers recorded modes.
func (b *Benchmark) explain(ctx context.Context, st store.Reader, functions []profile.Function) error {
	if b.Tested == 0 || b.Tested == len(b.Profiles) {
		return nil
	}
	places := map[string][]*Finding{}
	for i := range b.Findings {
		f := &b.Findings[i]
		if f.Kind == Moved || f.Kind == Environment {
			continue
		}
		names := map[string]bool{f.Function: true}
		for _, p := range f.Parts {
			names[p.Function] = true
		}
		if f.Headline != nil {
			names[f.Headline.Function], names[f.Headline.Calls] = true, true
		}
		delete(names, "")
		for name := range names {
			places[name] = append(places[name], f)
		}
	}
	if !slices.ContainsFunc(functions, func(f profile.Function) bool {
		return places[f.Name] != nil && (f.Kind == profile.KindJava || f.Kind == profile.KindUnknown)
	}) {
		return nil
	}
	from := len(b.Profiles) - b.Tested
	now, err := readModes(ctx, st, b.Profiles[from:], places)
	if err != nil || len(now) == 0 {
		return err
	}
	before, err := readModes(ctx, st, b.Profiles[:from], places)
	if err != nil {
		return err
	}
	largest := map[*Finding]float64{}
	for _, name := range slices.Sorted(maps.Keys(now)) {
		modes := now[name]
		past := before[name]
		if past == nil || past.samples() < leastSamples || modes.samples() < leastSamples {
			continue
		}
		for _, f := range places[name] {
			sign := 1.0
			if f.Delta.Samples < 0 {
				sign = -1
			}
			e, change := past.explain(modes, sign)
			if change > largest[f] || change == largest[f] && change > 0 && name == f.Function {
				if name != f.Function {
					e.Evidence += ", in " + name
				}
				largest[f], f.Explained = change, []Explanation{e}
			}
		}
	}
	return nil
}

// modeSums is the self samples of a function by the mode of its code.
type modeSums [profile.FrameTypes]float64

func (m *modeSums) samples() (sum float64) {
	for _, v := range m {
		sum += v
	}
	return sum
}

// explain returns what makes slow code (sign 1) or fast code (-1) of the change from m to
// now, and by how much of the samples; 0: the modes explain nothing.
func (m *modeSums) explain(now *modeSums, sign float64) (e Explanation, change float64) {
	share := func(x *modeSums, mode profile.FrameType) float64 { return x[mode] / x.samples() }
	for _, c := range []struct {
		mode  profile.FrameType
		slow  bool // code in this mode is slower
		cause [2]string
	}{
		{profile.FrameInterpreted, true, [2]string{"interpreted", "compiled"}},
		{profile.FrameC1, true, [2]string{"c1", "compiled"}},
		{profile.FrameInlined, false, [2]string{"not inlined", "inlined"}},
	} {
		before, after := share(m, c.mode), share(now, c.mode)
		rise, cause := sign*(after-before), c.cause[0]
		if !c.slow {
			rise = -rise
		}
		if sign < 0 {
			cause = c.cause[1]
		}
		if rise >= leastModeChange && rise > change {
			change = rise
			e = Explanation{cause, fmt.Sprintf("%s %.0f%% of its samples, before %.0f%%", c.mode, 100*after, 100*before)}
		}
	}
	return e, change
}

// readModes sums the self samples of functions by mode over profiles; functions without a mode
// are left out.
func readModes(ctx context.Context, st store.Reader, list []store.Profile, places map[string][]*Finding) (map[string]*modeSums, error) {
	set, err := st.Trees(ctx, store.Query{Profiles: store.IDs(list)}, store.TreeOptions{Modes: true})
	if err != nil {
		return nil, fmt.Errorf("compile modes: %w", err)
	}
	of := make([]*modeSums, len(set.Table.Functions))
	sums := map[string]*modeSums{}
	for i := range set.Table.Functions {
		if name := set.Table.Functions[i].Name; places[name] != nil {
			of[i] = new(modeSums)
			sums[name] = of[i]
		}
	}
	var common int64
	for v, err := range set.Vectors {
		if err != nil {
			return nil, fmt.Errorf("compile modes: %w", err)
		}
		for _, m := range v.Modes {
			for i, n := range m.Nodes {
				if s := of[set.Table.Func[n]]; s != nil {
					s[m.Mode] += math.Abs(float64(m.Self[i]))
				}
			}
			common = history.CommonDivisor(common, m.Self)
		}
	}
	unit := history.SampleUnit(list[0].Type, common)
	for name, s := range sums {
		if s.samples() == 0 {
			delete(sums, name)
		}
		for mode := range s {
			s[mode] /= unit
		}
	}
	return sums, nil
}
