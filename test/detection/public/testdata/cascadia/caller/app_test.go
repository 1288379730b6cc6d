package app

import "testing"

func BenchmarkPrices(b *testing.B) {
	page := Page()
	for b.Loop() {
		Prices(page)
	}
}
