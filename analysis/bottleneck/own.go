package bottleneck

import (
	"context"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/store"
)

// ownPotentials ranks by the potential of own code: a sample counts for the innermost function
// of the user's own code in its stack, and without one for the outermost function. That is what
// the user's lines cost with the libraries and the runtime that they call.
func (a *analysis) ownPotentials(ctx context.Context) error {
	if a.r.Value == 0 {
		return nil
	}
	w, carried, err := a.held(ctx)
	if err != nil {
		return err
	}
	shares := make(map[string]float64)
	for n, v := range carried {
		if v != 0 {
			shares[w.Functions[w.Func[n]].Name] += v
		}
	}
	for name, share := range shares {
		if share = round(share); share != 0 {
			a.r.Rows = append(a.r.Rows, Row{Function: name, Score: share})
		}
	}
	return nil
}

// holders returns for each node the one for which its self value counts.
func (a *analysis) holders(ctx context.Context, t *calltree.Table) ([]int32, error) {
	section, err := a.sectionOf(ctx)
	if err != nil {
		return nil, err
	}
	own := make([]bool, len(t.Functions))
	for fn := range own {
		own[fn] = section[t.Functions[fn].Name] == OwnCode
	}
	return t.Holders(own), nil
}

// held returns the weighted sum, with what each node holds in place of its self value.
func (a *analysis) held(ctx context.Context) (*weighted, []float64, error) {
	w, err := a.sum(ctx)
	if err != nil {
		return nil, nil, err
	}
	holders, err := a.holders(ctx, w.Table)
	if err != nil {
		return nil, nil, err
	}
	carried := make([]float64, len(w.self))
	for n, v := range w.self {
		carried[holders[n]] += v
	}
	return w, carried, nil
}

// heldByProfile adds to values what the functions that are its keys hold in each profile.
func (a *analysis) heldByProfile(ctx context.Context, values map[string]map[int32]value) ([]store.Profile, error) {
	set, err := a.st.Trees(ctx, a.q, store.TreeOptions{})
	if err != nil {
		return nil, err
	}
	holders, err := a.holders(ctx, set.Table)
	if err != nil {
		return nil, err
	}
	of := make([]map[int32]value, len(set.Table.Functions))
	for f := range of {
		of[f] = values[set.Table.Functions[f].Name]
	}
	for v, err := range set.Vectors {
		if err != nil {
			return nil, err
		}
		for i, n := range v.Nodes {
			if m := of[set.Table.Func[holders[n]]]; m != nil {
				x := m[int32(v.Profile)]
				x.held += v.Self[i]
				m[int32(v.Profile)] = x
			}
		}
	}
	return set.Profiles, nil
}
