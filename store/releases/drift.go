package releases

import (
	"context"
	"math"
	"time"

	"github.com/dendroprof/dendro/continuous"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/store/pushed"
)

// drift is by what factor the share of each function of the forest changed in the base, from the time after
// its instances were as old as those of a young head to the time of the head. Young instances of the base, times
// that, are what they would cost now: other requests come by night than by day. (A difference in differences.)
type drift []float64

// steadyShare is a share of the program. The drift of functions with less is not known.
const steadyShare = 1e-4

// driftOf reads the windows of both times; nil where there are none.
func (b *builder) driftOf(ctx context.Context, t continuous.Type) (drift, error) {
	var shares [2]drift
	list := b.startedAfter(b.began)
	for i, q := range []continuous.Query{b.selection(t, b.base, b.From, b.Until), b.selection(t, b.base, time.Time{}, time.Time{})} {
		f, _, err := b.to.Read(ctx, &pushed.Run{Windows: windows(q, b.label, list, false), Instance: true})
		if err != nil || f == nil {
			return nil, err
		}
		shares[i] = sharesOf(f.Records[0])
		age := b.Until.Sub(b.head.first)
		for at := range list { // for the second
			list[at].from = whole(list[at].first.Add(max(age, warmUp)))
			list[at].until = list[at].from.Add(age)
		}
	}
	d := make(drift, max(len(shares[0]), len(shares[1])))
	for fn := range d {
		d[fn] = (shares[0].at(fn) + steadyShare) / (shares[1].at(fn) + steadyShare)
	}
	return d, nil
}

// at returns the value of a function.
func (d drift) at(fn int) float64 {
	if fn < len(d) {
		return d[fn]
	}
	return 0
}

// sharesOf returns the share of each function of the forest.
func sharesOf(r *store.Record) drift {
	list, total := make(drift, len(r.Forest.Functions)), float64(r.Self.Sum())
	for i, n := range r.Self.Nodes {
		list[r.Forest.Paths.Item[n]] += float64(r.Self.Self[i]) / total
	}
	return list
}

// apply multiplies the values of a run.
func (d drift) apply(r *store.Record) {
	kept := 0
	for i, n := range r.Self.Nodes {
		x := float64(r.Self.Self[i])
		if factor := d.at(int(r.Forest.Paths.Item[n])); factor > 0 {
			x = math.Round(x * factor)
		}
		if x != 0 {
			r.Self.Nodes[kept], r.Self.Self[kept] = n, int64(x)
			kept++
		}
	}
	r.Self.Nodes, r.Self.Self = r.Self.Nodes[:kept], r.Self.Self[:kept]
}
