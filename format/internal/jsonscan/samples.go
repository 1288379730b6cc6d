package jsonscan

import "github.com/dendroprof/dendro/profile"

// Samples is a table of samples in the making whose values are numbers of any decimals: those
// in Values, not in Value, until it is Done.
type Samples struct {
	profile.Samples
	Values Decimals
}

// Bound sums the rows so far if they are many.
func (t *Samples) Bound(l profile.Limits) {
	t.Value = t.Values.Values
	t.Samples.Bound(l)
	t.Values.Values = t.Value
}

// Done returns the table with its values and their scale.
func (t *Samples) Done() profile.Samples {
	t.Value, t.Type.Scale = t.Values.Values, t.Values.Scale
	t.Bounded()
	return t.Samples
}
