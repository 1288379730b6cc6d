package app

import "testing"

func BenchmarkCount(b *testing.B) {
	words := Words()
	b.ResetTimer()
	for i := 0; i < b.N; i++ {
		Count(words)
	}
}
