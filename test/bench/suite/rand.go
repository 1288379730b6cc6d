package suite

import "math"

// Salts keep the streams of one benchmark apart: drawing more of one thing must
// not change another.
const (
	saltTree uint64 = iota + 1
	saltWeights
	saltRun
	saltCounts
	saltOrder
	saltNames
	saltRegion
	saltStates
)

// rnd is a splitmix64 generator. The suite has one so that a suite does not
// change with the toolchain.
type rnd struct {
	state uint64
	spare float64
	has   bool
}

// mix scrambles a word (the finaliser of splitmix64).
func mix(x uint64) uint64 {
	x ^= x >> 30
	x *= 0xbf58476d1ce4e5b9
	x ^= x >> 27
	x *= 0x94d049bb133111eb
	return x ^ x>>31
}

// hash combines words into one.
func hash(words ...uint64) uint64 {
	h := uint64(0x9e3779b97f4a7c15)
	for _, w := range words {
		h = mix(h ^ w + 0x9e3779b97f4a7c15 + h<<6)
	}
	return h
}

func newRand(words ...uint64) *rnd { return &rnd{state: hash(words...)} }

func (r *rnd) uint64() uint64 {
	r.state += 0x9e3779b97f4a7c15
	return mix(r.state)
}

// float returns a number in [0, 1).
func (r *rnd) float() float64 { return float64(r.uint64()>>11) / (1 << 53) }

// intn returns a number in [0, n). The bias of the remainder is below n/2^63.
func (r *rnd) intn(n int) int { return int(r.uint64() >> 1 % uint64(n)) }

// norm returns a standard normal number (Box and Muller 1958).
func (r *rnd) norm() float64 {
	if r.has {
		r.has = false
		return r.spare
	}
	m := math.Sqrt(-2 * math.Log(1-r.float()))
	sin, cos := math.Sincos(2 * math.Pi * r.float())
	r.spare, r.has = m*sin, true
	return m * cos
}

// poisson draws a count with the given mean: by inversion where the mean is
// small, from the rounded normal distribution above, whose third moment is then
// no longer visible in a benchmark.
func (r *rnd) poisson(mean float64) uint32 {
	if mean > 24 {
		x := mean + math.Sqrt(mean)*r.norm() + 0.5
		if x < 0 {
			return 0
		}
		return uint32(x)
	}
	u := r.float()
	// For rare nodes 1-mean bounds exp(-mean) from below: most draws of a
	// Real profile end here.
	if u < 1-mean {
		return 0
	}
	p := math.Exp(-mean)
	k := uint32(0)
	for u >= p && k < 200 {
		u -= p
		k++
		p *= mean / float64(k)
	}
	return k
}
