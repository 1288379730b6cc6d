package diff

import (
	"fmt"
	"math"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/profile"
)

// Net returns the difference as one tree, as Firefox Profiler compares two profiles.
// Functions are the same only if all attributes agree, including the line. Samples of
// the base count negative, and samples of the side with the longer period count as
// several of the other's. Functions keep the order of the base's table, followed by
// those of head. If the ratio of the periods is a fraction, values keep as many decimals
// as fit.
//
// A zero total in the result means equal sums, not absence; Compare shows more.
func Net(base, head *calltree.Tree) (*calltree.Tree, error) {
	var d Diff
	d.Type = head.Type
	if err := d.commensurable(base, head); err != nil {
		return nil, err
	}
	wb, wn, digits, err := netWeights(d.common, sumAbs(base), sumAbs(head))
	if err != nil {
		return nil, err
	}
	d.Type.Scale += digits
	functions, fb, fn := identicalFunctions(base.Functions, head.Functions)
	table, rb, rn := overlay(base.Table, head.Table, fb, fn, functions)
	self := calltree.Gather(head.Self, rn)
	for i, n := range rb {
		self[i] *= wn
		if n != calltree.NoNode {
			self[i] -= base.Self[n] * wb
		}
	}
	table = withCategories(table, [2]*calltree.Table{base.Table, head.Table}, [2][]int32{rb, rn})
	return calltree.NewTree(table, d.Type, self), nil
}

// netWeights returns two factors as integers times 10^-digits.
func netWeights(factor [2]float64, base, head uint64) (wb, wn int64, digits int, err error) {
	fits := func(digits int) bool {
		p := math.Pow10(digits)
		return (float64(base)*factor[0]+float64(head)*factor[1])*p < math.MaxInt64/2
	}
	whole := func(f float64) bool { return math.Abs(f-math.Round(f)) < 1e-9*f }
	for digits = 0; ; digits++ {
		if !fits(digits) {
			if digits--; digits < 0 {
				return 0, 0, 0, fmt.Errorf("%w: the difference exceeds 63 bits", profile.ErrMalformed)
			}
			break
		}
		if p := math.Pow10(digits); whole(factor[0]*p) && whole(factor[1]*p) || digits == 9 {
			break
		}
	}
	p := math.Pow10(digits)
	return int64(math.Round(factor[0] * p)), int64(math.Round(factor[1] * p)), digits, nil
}
