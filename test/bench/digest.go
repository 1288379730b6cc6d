package bench

import "math"

// Digest builds the checksum of an answer. Its content by kind of query:
//
//	Potential    Row(function, self) of every function with self > 0
//	Tree, Merged RowPath(path, self, total) of every node
//	Above        Row(profile key, total) of every profile
//	Scores       Row(function, newest, sum of the others) and Approx(function,
//	             score) of every function in any of the runs
//	Correlation  Row(function, benchmarks) and Approx(function, mean) of every
//	             function with at least one benchmark
//	Subtree      Row(function, P0..P5) of every function with P5 > 0
//	Series       Row(run, samples) of every run with samples > 0
//
// The zero value is ready.
type Digest struct {
	sum Checksum
}

// Sum returns the checksum of the added values.
func (d *Digest) Sum() Checksum { return d.sum }

// Row adds a row with a name and whole numbers.
func (d *Digest) Row(key string, values ...int64) { d.RowPath(Path(0, key), values...) }

// RowPath adds a row whose key is a path.
func (d *Digest) RowPath(path uint64, values ...int64) {
	h := path
	for _, v := range values {
		h = scramble(h ^ uint64(v)*0x9e3779b97f4a7c15)
	}
	d.sum.Rows++
	d.sum.Exact += scramble(h)
}

// Approx adds a fractional number to the row of the name. It weighs by the
// name, or two functions could swap their numbers unseen.
func (d *Digest) Approx(key string, v float64) {
	w := 0.5 + float64(Path(1, key)>>11)/(1<<53)
	d.sum.Approx += w * v
	d.sum.Scale += math.Abs(v)
}

// Path returns the key of the path that continues parent with a function; the
// parent of a root is 0.
func Path(parent uint64, name string) uint64 {
	const prime = 0x100000001b3
	h := parent ^ 0xcbf29ce484222325
	for i := range len(name) {
		h = (h ^ uint64(name[i])) * prime
	}
	return scramble(h + parent)
}

// ProfileKey returns the key of a profile in checksums.
func ProfileKey(group, benchmark, run string) string {
	return group + "\x00" + benchmark + "\x00" + run
}

func scramble(x uint64) uint64 {
	x = (x ^ x>>32) * 0xd6e8feb86659fd93
	x = (x ^ x>>32) * 0xd6e8feb86659fd93
	return x ^ x>>32
}
