package app

import "testing"

func BenchmarkBill(b *testing.B) {
	amounts := Amounts()
	for b.Loop() {
		Bill(amounts)
	}
}
