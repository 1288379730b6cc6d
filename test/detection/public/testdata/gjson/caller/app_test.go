package app

import "testing"

func BenchmarkOpen(b *testing.B) {
	o := Orders()
	for b.Loop() {
		Open(o)
	}
}
