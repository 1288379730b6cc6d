// Package pricing turns orders into quotes: it finds the rules that hold for
// each line, takes their discounts off and adds tax.
package pricing

import (
	"fmt"
	"regexp"
	"slices"

	"github.com/dendroprof/dendro/test/demo/workload/catalog"
)

// discount returns what a rule takes off a line, in cents.
type discount func(l *Line) int64

// rule gives a discount on the lines it matches.
type rule struct {
	name string
	// category limits the rule to products at or below it.
	category    *catalog.Category
	minQuantity int
	// pattern is a regular expression over the product's SKU and name.
	pattern string
	amount  discount
}

// matchRule reports whether the rule holds for the line. The cheap conditions
// come first; the pattern is compiled when the cache does not have it.
func matchRule(cache *patternCache, r *rule, l *Line) bool {
	if l.Quantity < r.minQuantity || !l.Product.Category.Under(r.category) {
		return false
	}
	pattern := cache.lookup(r.pattern)
	if pattern == nil {
		pattern = regexp.MustCompile(r.pattern)
		cache.store(r.pattern, pattern)
	}
	return pattern.MatchString(l.text())
}

// percent returns a discount of n percent of the line.
func percent(n int64) discount {
	return func(l *Line) int64 { return l.Gross * n / 100 }
}

// everyNth returns a discount that gives every nth piece for free.
func everyNth(n int) discount {
	return func(l *Line) int64 { return int64(l.Quantity/n) * l.Product.Cents }
}

// best returns a discount that is the largest of several.
func best(of ...discount) discount {
	return func(l *Line) int64 {
		amounts := make([]int64, len(of))
		for i, d := range of {
			amounts[i] = d(l)
		}
		return slices.Max(amounts)
	}
}

// capped returns a discount that never exceeds the limit.
func capped(limit int64, d discount) discount {
	return func(l *Line) int64 { return min(limit, d(l)) }
}

// shopRules returns the rules of the shop for the categories below root.
func shopRules(root *catalog.Category) []*rule {
	var rules []*rule
	add := func(category string, minQuantity int, pattern string, d discount) {
		rules = append(rules, &rule{
			name:        fmt.Sprintf("%s-%d", category, len(rules)+1),
			category:    root.Find(category),
			minQuantity: minQuantity,
			pattern:     pattern,
			amount:      d,
		})
	}
	add("shop", 14, `(?i)^[a-z]{3}-[0-9]{5}-x?l .*\b(recycled|organic|bamboo)\b`, percent(3))
	add("shop", 12, `\b(refurbished|limited)\b.*\bpack of (6|8|1[0-2])$`, capped(2500, percent(12)))
	add("office", 10, `^(NOT|ENV|PEN|MAR)-0[0-9]{4}-`, best(percent(5), everyNth(10)))
	add("furniture", 8, `-(XL|XXL) (folding|heavy|double) `, capped(5000, percent(8)))
	add("kitchen", 10, `\b(steel|copper|cast|enamel)\s+(pans|knives)\b`, best(percent(6), everyNth(4)))
	add("pantry", 9, `(?i)^(cof|tea|spi)-[0-9]*[02468]-[sml] `, everyNth(6))
	add("garden", 10, `\b(outdoor|large) (steel|bamboo|recycled) \w+, pack of [2-9]\b`, percent(10))
	add("media", 10, `^(NOV|ATL|REC|SCO)-[0-9]{4}[13579]-`, best(percent(4), capped(900, everyNth(3))))
	return rules
}
