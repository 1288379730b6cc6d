package billing

import (
	"slices"
	"strings"
)

// Item is an article in stock.
type Item struct {
	SKU, Name string
	Count     int
}

// Stock counts articles by stock number, in their order.
func Stock(sales []Sale, delivered []Item) []Item {
	count := map[string]int{}
	names := map[string]string{}
	for i := range delivered {
		sku := cleanSKU(delivered[i].SKU)
		count[sku] += delivered[i].Count
		names[sku] = delivered[i].Name
	}
	for i := range sales {
		count[cleanSKU(sales[i].SKU)] -= sales[i].Quantity
	}
	list := make([]Item, 0, len(count))
	for sku, n := range count {
		list = append(list, Item{sku, names[sku], n})
	}
	sortItems(list)
	return list
}

func sortItems(list []Item) {
	slices.SortFunc(list, func(a, b Item) int { return compareSKU(a.SKU, b.SKU) })
}

// compareSKU orders stock numbers by their letters, then by their number.
func compareSKU(a, b string) int {
	i, j := letters(a), letters(b)
	if c := strings.Compare(a[:i], b[:j]); c != 0 {
		return c
	}
	return strings.Compare(a[i:], b[j:])
}

func letters(sku string) int {
	i := 0
	for i < len(sku) && sku[i] > '9' {
		i++
	}
	return i
}
