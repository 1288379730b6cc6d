package main

import (
	"github.com/dendroprof/dendro/test/bench"
	"github.com/dendroprof/dendro/test/bench/baseline"
	"github.com/dendroprof/dendro/test/bench/product"
)

// engines lists what is compared; ratios are against the first. The product is
// plugged in by one more line here.
func engines() []bench.Spec {
	return append(baseline.Specs(), product.Spec())
}

// storedNames is how engines that keep names as they are get to the names that
// a normalising engine stores, so that answers compare: the product's own
// normaliser.
var storedNames = product.Names()
