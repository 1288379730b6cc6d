package report

import (
	"cmp"
	"slices"

	"github.com/dendroprof/dendro/test/demo/workload/catalog"
)

// Summary is what was sold at and below a category.
type Summary struct {
	Name     string
	Pieces   int
	Cents    int64
	Median   int64
	Top      []Seller
	Children []*Summary
}

// Seller is a product and its turnover.
type Seller struct {
	SKU   string
	Cents int64
}

// bucket collects the sales of one category.
type bucket struct {
	pieces  int
	amounts []int64
	sellers map[string]int64
}

// sumUp returns the summary of all sales.
func sumUp(sales []sale, root *catalog.Category) *Summary {
	buckets := make(map[*catalog.Category]*bucket)
	for _, s := range sales {
		b := buckets[s.product.Category]
		if b == nil {
			b = &bucket{sellers: make(map[string]int64)}
			buckets[s.product.Category] = b
		}
		b.pieces += s.pieces
		b.amounts = append(b.amounts, s.cents)
		b.sellers[s.product.SKU] += s.cents
	}
	summary, _ := rollUp(root, buckets)
	return summary
}

// rollUp sums up a category and those below it. It also returns the amounts of
// all sales there, sorted.
func rollUp(c *catalog.Category, buckets map[*catalog.Category]*bucket) (*Summary, []int64) {
	s := &Summary{Name: c.Name}
	var amounts []int64
	if b := buckets[c]; b != nil {
		s.Pieces = b.pieces
		amounts = append(amounts, b.amounts...)
		s.Top = bestSellers(b.sellers)
	}
	for _, child := range c.Children {
		below, more := rollUp(child, buckets)
		s.Children = append(s.Children, below)
		s.Pieces += below.Pieces
		s.Top = mergeSellers(s.Top, below.Top)
		amounts = append(amounts, more...)
	}
	slices.Sort(amounts)
	for _, a := range amounts {
		s.Cents += a
	}
	if len(amounts) > 0 {
		s.Median = amounts[len(amounts)/2]
	}
	return s, amounts
}

func bestSellers(turnover map[string]int64) []Seller {
	sellers := make([]Seller, 0, len(turnover))
	for sku, cents := range turnover {
		sellers = append(sellers, Seller{sku, cents})
	}
	return mergeSellers(sellers, nil)
}

// mergeSellers returns the five best of both lists, best first.
func mergeSellers(a, b []Seller) []Seller {
	all := slices.Concat(a, b)
	slices.SortFunc(all, func(x, y Seller) int {
		return cmp.Or(cmp.Compare(y.Cents, x.Cents), cmp.Compare(x.SKU, y.SKU))
	})
	return all[:min(5, len(all))]
}
