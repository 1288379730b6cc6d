package main

import "testing"

func BenchmarkOrder(b *testing.B) {
	all, sum := rates(), uint64(0)
	for b.Loop() {
		sum += order(all[0], sum)
	}
	_ = sum
}
