package app

import "testing"

func BenchmarkSum(b *testing.B) {
	rows := Rows()
	for b.Loop() {
		Sum(rows)
	}
}
