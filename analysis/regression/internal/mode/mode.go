// Package mode tells from compile modes why a function became slower or faster.
//
// A mode is how a virtual machine ran code when it was sampled: interpreted, compiled by the first or the
// last compiler, or inlined. Sums are a function's samples by mode, over the runs of one side; two of them
// explain what the other modes of slow code, or of fast code, made of a change. The package knows functions
// by name, no finding, and reads no more than the trees of the runs.
package mode

import (
	"context"
	"fmt"
	"math"

	"github.com/dendroprof/dendro/analysis/history"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/store"
)

// leastChange is the part of a function's samples whose mode changed, below which modes explain nothing.
const leastChange = 0.2

// Sums is the self samples of a function by the mode of its code.
type Sums [profile.FrameTypes]float64

// Samples returns those of all modes.
func (m *Sums) Samples() (sum float64) {
	for _, v := range m {
		sum += v
	}
	return sum
}

// Explain returns what makes slow code (sign 1) or fast code (-1) of the change from m to
// now, the evidence, and by how much of the samples; 0: the modes explain nothing.
func (m *Sums) Explain(now *Sums, sign float64) (cause, evidence string, change float64) {
	share := func(x *Sums, mode profile.FrameType) float64 { return x[mode] / x.Samples() }
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
		rise, name := sign*(after-before), c.cause[0]
		if !c.slow {
			rise = -rise
		}
		if sign < 0 {
			name = c.cause[1]
		}
		if rise >= leastChange && rise > change {
			cause, change = name, rise
			evidence = fmt.Sprintf("%s %.0f%% of its samples, before %.0f%%", c.mode, 100*after, 100*before)
		}
	}
	return cause, evidence, change
}

// Read sums the self samples of the functions of these names by mode over profiles; functions without a
// mode are left out.
func Read(ctx context.Context, st store.Reader, list []store.Profile, is func(name string) bool) (map[string]*Sums, error) {
	set, err := st.Trees(ctx, store.Query{Profiles: store.IDs(list)}, store.TreeOptions{Modes: true})
	if err != nil {
		return nil, fmt.Errorf("compile modes: %w", err)
	}
	of := make([]*Sums, len(set.Table.Functions))
	sums := map[string]*Sums{}
	for i := range set.Table.Functions {
		if name := set.Table.Functions[i].Name; is(name) {
			of[i] = new(Sums)
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
		if s.Samples() == 0 {
			delete(sums, name)
		}
		for mode := range s {
			s[mode] /= unit
		}
	}
	return sums, nil
}
