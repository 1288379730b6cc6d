package stacktext

import "math"

// Unsample estimates how many objects of how many bytes there were, of which a heap
// profiler has seen count of size bytes in total. It picks about one byte in rate, so an
// object of n bytes is seen with probability 1 - exp(-n/rate). The formula is that of
// runtime/pprof. What is more than 63 bits is -1.
func Unsample(count, size, rate int64) (int64, int64) {
	if count == 0 || size == 0 {
		return 0, 0
	}
	if rate <= 1 {
		return count, size
	}
	scale := 1 / (1 - math.Exp(-float64(size)/float64(count)/float64(rate)))
	return Whole(float64(count) * scale), Whole(float64(size) * scale)
}

// Whole returns f without its decimals, or -1 if that is more than 63 bits.
func Whole(f float64) int64 {
	if f >= 1<<63 {
		return -1
	}
	return int64(f)
}
