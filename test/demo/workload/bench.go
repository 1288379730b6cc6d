package main

import (
	"maps"
	"slices"

	"github.com/dendroprof/dendro/test/demo/workload/catalog"
	"github.com/dendroprof/dendro/test/demo/workload/checkout"
	"github.com/dendroprof/dendro/test/demo/workload/order"
	"github.com/dendroprof/dendro/test/demo/workload/report"
	"github.com/dendroprof/dendro/test/demo/workload/search"
	"github.com/dendroprof/dendro/test/demo/workload/wire"
)

const (
	seed     = 20
	products = 2000
	orders   = 256
	// batch is how many orders one operation of checkout takes.
	batch = 32
	// limit is how many results a search shows.
	limit = 10
	sales = 4000
	// fresh is how many products one operation of search indexes anew.
	fresh = 40
)

// operation does the work of one benchmark once; i counts the calls.
type operation func(i int) ([]*wire.Response, error)

// benchmarks maps names to what sets the operation up. Only checkout heeds slow.
var benchmarks = map[string]func(c *catalog.Catalog, slow bool) (operation, error){
	"checkout": setUpCheckout,
	"search":   setUpSearch,
	"report":   setUpReport,
}

// names returns the names of the benchmarks, sorted.
func names() []string { return slices.Sorted(maps.Keys(benchmarks)) }

func setUpCheckout(c *catalog.Catalog, slow bool) (operation, error) {
	requests, err := order.Generate(seed, orders, c)
	if err != nil {
		return nil, err
	}
	service := checkout.New(c, checkout.Options{BypassRuleCache: slow})
	return func(i int) ([]*wire.Response, error) {
		from := i * batch % orders
		return service.Checkout(requests[from : from+batch])
	}, nil
}

// queries are what customers look for.
var queries = []string{
	"steel pans",
	"recycled paper notebooks not refurbished",
	"(oak or maple) (desks or chairs) folding",
	"gla* double",
	"coppr~ knives",
	"(organic or bamboo) (coffee or tea or spices) pack",
	"warranty (studio or outdoor) not (glass or enamel)",
	"h* not heavy",
	"((linen or cotton) and washing) or (records~ limited)",
	"profesional~ designed",
}

func setUpSearch(c *catalog.Catalog, _ bool) (operation, error) {
	index := search.NewIndex(c.Products)
	return func(i int) ([]*wire.Response, error) {
		// The shop's front page searches what is new.
		from := i * fresh % products
		latest := search.NewIndex(c.Products[from : from+fresh])
		var responses []*wire.Response
		for _, ix := range []*search.Index{latest, index} {
			for _, q := range queries {
				r, err := ix.Search(q, limit)
				if err != nil {
					return nil, err
				}
				responses = append(responses, r)
			}
		}
		return responses, nil
	}, nil
}

func setUpReport(c *catalog.Catalog, _ bool) (operation, error) {
	ledger, err := report.GenerateLedger(seed, sales, c)
	if err != nil {
		return nil, err
	}
	return func(int) ([]*wire.Response, error) { return report.Build(ledger, c) }, nil
}
