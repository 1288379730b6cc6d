package app

import "testing"

func BenchmarkSafe(b *testing.B) {
	c := Comments()
	for b.Loop() {
		Safe(c)
	}
}
