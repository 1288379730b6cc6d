package app

import "testing"

func BenchmarkColumn(b *testing.B) {
	names := Names()
	for b.Loop() {
		Column(names)
	}
}
