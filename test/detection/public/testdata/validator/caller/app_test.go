package app

import "testing"

func BenchmarkValid(b *testing.B) {
	users := Users()
	for b.Loop() {
		Valid(users)
	}
}
