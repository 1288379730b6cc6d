package suite

import "testing"

// BenchmarkAppendFolded is the rate at which text is generated, which bounds
// how many rounds a benchmark of imports can afford.
func BenchmarkAppendFolded(b *testing.B) {
	for _, c := range []struct {
		name   string
		config Config
	}{
		{"large/sorted", Config{Groups: 1}},
		{"large/shuffled", Config{Groups: 1, Order: Shuffled}},
		{"real/sorted", Config{Shape: Real}},
		{"real/shuffled", Config{Shape: Real, Order: Shuffled}},
	} {
		b.Run(c.name, func(b *testing.B) {
			s := New(c.config)
			var text []byte
			var n int64
			for i := 0; b.Loop(); i++ {
				text, _ = s.AppendFolded(text[:0], i%s.Len())
				n += int64(len(text))
			}
			b.SetBytes(n / int64(b.N))
		})
	}
}

// BenchmarkNew is the time to build the trees of the 1,000-profile suites.
func BenchmarkNew(b *testing.B) {
	for _, shape := range []Shape{Large, Real} {
		b.Run(shape.String(), func(b *testing.B) {
			for b.Loop() {
				New(Config{Shape: shape})
			}
		})
	}
}
