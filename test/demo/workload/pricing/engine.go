package pricing

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"

	"github.com/dendroprof/dendro/test/demo/workload/catalog"
	"github.com/dendroprof/dendro/test/demo/workload/order"
)

// Line is a priced line of a quote. Amounts are in cents.
type Line struct {
	Product  *catalog.Product
	Quantity int
	Gross    int64
	Discount int64
	Tax      int64
	// Rules names the rules that gave the discount.
	Rules []string
}

// text returns what patterns of rules are matched against.
func (l *Line) text() string { return l.Product.SKU + " " + l.Product.Name }

// Net returns the price of the line after discount, before tax.
func (l *Line) Net() int64 { return l.Gross - l.Discount }

// Quote is the price of an order. Amounts are in cents.
type Quote struct {
	Lines    []*Line
	Discount int64
	Tax      int64
	Total    int64
}

// Engine prices orders. Several goroutines may use it at once.
type Engine struct {
	catalog *catalog.Catalog
	rules   []*rule
	cache   *patternCache
}

// NewEngine returns an engine for the catalog. With bypassCache every use of a
// rule compiles its pattern again; results stay the same.
func NewEngine(c *catalog.Catalog, bypassCache bool) *Engine {
	return &Engine{
		catalog: c,
		rules:   shopRules(c.Root),
		cache:   &patternCache{compiled: make(map[string]*regexp.Regexp), bypass: bypassCache},
	}
}

// Price returns the quote for an order.
func (e *Engine) Price(o *order.Order) (*Quote, error) {
	q := &Quote{Lines: make([]*Line, 0, len(o.Lines))}
	for _, ol := range o.Lines {
		l, err := e.priceLine(ol)
		if err != nil {
			return nil, fmt.Errorf("order %s: %w", o.ID, err)
		}
		q.Lines = append(q.Lines, l)
	}
	applyCoupons(q, o.Coupons)
	for _, l := range q.Lines {
		l.Tax = l.Net() * l.Product.Category.Tax() / 10000
		q.Discount += l.Discount
		q.Tax += l.Tax
		q.Total += l.Net() + l.Tax
	}
	slices.SortFunc(q.Lines, func(a, b *Line) int {
		return cmp.Or(cmp.Compare(b.Net(), a.Net()), cmp.Compare(a.Product.SKU, b.Product.SKU))
	})
	return q, nil
}

func (e *Engine) priceLine(ol order.Line) (*Line, error) {
	p := e.catalog.Lookup(ol.SKU)
	if p == nil {
		return nil, fmt.Errorf("no product %q", ol.SKU)
	}
	l := &Line{Product: p, Quantity: ol.Quantity, Gross: p.Cents * int64(ol.Quantity)}
	e.applyRules(l)
	return l, nil
}

// applyRules takes the discount of every rule that holds off the line, up to
// half of its price.
func (e *Engine) applyRules(l *Line) {
	for _, r := range e.rules {
		if matchRule(e.cache, r, l) {
			l.Discount += r.amount(l)
			l.Rules = append(l.Rules, r.name)
		}
	}
	l.Discount = min(l.Discount, l.Gross/2)
}
