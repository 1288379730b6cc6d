// Package oracle answers the queries of package bench in the plainest way
// there is, so that the fast engines can be held against it.
//
// It keeps every profile as a list of stacks with counts and goes through all
// of them for every query, by the definitions word for word: totals from the
// stacks that contain a function, subtree potentials by the closed form (the
// baselines use the recursion of the thesis, so that one checks the other),
// z-scores and correlations with two passes over lists of numbers. It shares no
// code with the engines but the checksum.
//
// It is for suites of some dozen small profiles: every query costs time in
// proportion to all frames of all lines. Test runs a whole engine against it.
package oracle

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/dendroprof/dendro/test/bench"
	"github.com/dendroprof/dendro/test/bench/suite"
)

// Oracle is a bench.Engine without a store.
type Oracle struct {
	names    func(string) string
	profiles []profile
}

var _ bench.Engine = (*Oracle)(nil)

type profile struct {
	suite.Meta
	stacks  []stack
	samples int64
}

type stack struct {
	frames []string // root first
	count  int64
}

// New returns an oracle that stores the names that names maps frames to; nil
// keeps them.
func New(names func(string) string) *Oracle {
	if names == nil {
		names = func(s string) string { return s }
	}
	return &Oracle{names: names}
}

// Import keeps the stacks of the profiles.
func (o *Oracle) Import(batch []bench.Profile) error {
	for _, p := range batch {
		out := profile{Meta: p.Meta}
		for line := range strings.Lines(string(p.Text)) {
			line = strings.TrimSuffix(line, "\n")
			cut := strings.LastIndex(line, " ")
			if cut < 0 {
				return fmt.Errorf("oracle: no count in %q", line)
			}
			n, err := strconv.ParseInt(line[cut+1:], 10, 64)
			if err != nil {
				return fmt.Errorf("oracle: %w", err)
			}
			frames := strings.Split(line[:cut], ";")
			for i := range frames {
				frames[i] = o.names(frames[i])
			}
			out.stacks = append(out.stacks, stack{frames, n})
			out.samples += n
		}
		o.profiles = append(o.profiles, out)
	}
	return nil
}

// Finish does nothing.
func (o *Oracle) Finish() error { return nil }

// Size returns 0: nothing is on disk.
func (o *Oracle) Size() (int64, error) { return 0, nil }

// Close does nothing.
func (o *Oracle) Close() error { return nil }

// selected returns the profiles of a selection by date.
func (o *Oracle) selected(q bench.Question) []profile {
	var list []profile
	for _, p := range o.profiles {
		if (q.Group == "" || p.Group == q.Group) && (q.Benchmark == "" || p.Benchmark == q.Benchmark) &&
			(q.Run == "" || p.Run == q.Run) {
			list = append(list, p)
		}
	}
	slices.SortStableFunc(list, func(a, b profile) int { return a.Date.Compare(b.Date) })
	return list
}

// Answer answers any query.
func (o *Oracle) Answer(q bench.Question) (bench.Answer, error) {
	list := o.selected(q)
	var d bench.Digest
	switch q.Kind {
	case bench.Potential:
		potential(list, &d)
	case bench.Tree, bench.Merged:
		merged(list, &d)
	case bench.Above:
		above(list, o.names(q.Function), &d)
	case bench.Scores:
		scores(list, q.Last, &d)
	case bench.Correlation:
		correlation(list, &d)
	case bench.Subtree:
		subtree(list, &d)
	case bench.Series:
		series(list, []string{o.names(q.Chain[0]), o.names(q.Chain[1]), o.names(q.Chain[2])}, &d)
	default:
		return bench.Answer{}, bench.ErrNoAnswer
	}
	sum := d.Sum()
	return bench.Answer{Rows: sum.Rows, Sum: func() bench.Checksum { return sum }}, nil
}

// selfs returns the self samples of every function of a profile; a function
// that only calls has 0.
func (p *profile) selfs() map[string]int64 {
	self := map[string]int64{}
	for _, s := range p.stacks {
		for _, f := range s.frames {
			self[f] += 0
		}
		self[s.frames[len(s.frames)-1]] += s.count
	}
	return self
}

// totals returns the samples of the stacks that contain a function.
func (p *profile) totals() map[string]int64 {
	total := map[string]int64{}
	for _, s := range p.stacks {
		for i, f := range s.frames {
			if !slices.Contains(s.frames[:i], f) {
				total[f] += s.count
			}
		}
	}
	return total
}

func potential(list []profile, d *bench.Digest) {
	sum := map[string]int64{}
	for _, p := range list {
		for f, n := range p.selfs() {
			sum[f] += n
		}
	}
	for f, n := range sum {
		if n > 0 {
			d.Row(f, n)
		}
	}
}

func merged(list []profile, d *bench.Digest) {
	self, total := map[uint64]int64{}, map[uint64]int64{}
	for _, p := range list {
		for _, s := range p.stacks {
			path := uint64(0)
			for _, f := range s.frames {
				path = bench.Path(path, f)
				total[path] += s.count
			}
			self[path] += s.count
		}
	}
	for path, n := range total {
		d.RowPath(path, self[path], n)
	}
}

func above(list []profile, function string, d *bench.Digest) {
	for _, p := range list {
		if n := p.totals()[function]; 100*n > p.samples {
			d.Row(bench.ProfileKey(p.Group, p.Benchmark, p.Run), n)
		}
	}
}

func scores(list []profile, last int, d *bench.Digest) {
	list = list[max(0, len(list)-last-1):]
	n := len(list) - 1
	series := map[string][]float64{} // by function, in the order of list
	for i, p := range list {
		for f, x := range p.totals() {
			if series[f] == nil {
				series[f] = make([]float64, len(list))
			}
			series[f][i] = float64(x)
		}
	}
	for f, xs := range series {
		old, x0 := xs[:n], xs[n]
		sum := 0.0
		for _, x := range old {
			sum += x
		}
		mean := sum / float64(n)
		squares := 0.0
		for _, x := range old {
			squares += (x - mean) * (x - mean)
		}
		score := 0.0
		if std := math.Sqrt(squares / float64(n-1)); std > 0 {
			score = (x0 - mean) / std
		}
		d.Row(f, int64(x0), int64(sum))
		d.Approx(f, score)
	}
}

func correlation(list []profile, d *bench.Digest) {
	type point struct{ x, y float64 }
	points := map[string]map[string][]point{} // by function and benchmark
	for _, p := range list {
		for f, n := range p.selfs() {
			if points[f] == nil {
				points[f] = map[string][]point{}
			}
			key := p.Group + "\x00" + p.Benchmark
			points[f][key] = append(points[f][key], point{float64(n) / float64(p.samples), p.MetricMean})
		}
	}
	for f, benchmarks := range points {
		sum, count := 0.0, int64(0)
		for _, ps := range benchmarks {
			if len(ps) < 2 {
				continue
			}
			count++
			var mx, my, xx, yy, xy float64
			for _, p := range ps {
				mx += p.x / float64(len(ps))
				my += p.y / float64(len(ps))
			}
			for _, p := range ps {
				xx += (p.x - mx) * (p.x - mx)
				yy += (p.y - my) * (p.y - my)
				xy += (p.x - mx) * (p.y - my)
			}
			if den := math.Sqrt(xx * yy); den > 1e-8 {
				sum += xy / den
			}
		}
		if count > 0 {
			d.Row(f, count)
			d.Approx(f, sum/float64(count))
		}
	}
}

func subtree(list []profile, d *bench.Digest) {
	const degrees = 5
	sum := map[string][degrees + 1]int64{}
	for _, p := range list {
		for _, s := range p.stacks {
			for n := range degrees + 1 {
				// The leaf and its n nearest ancestors, each function once.
				near := s.frames[max(0, len(s.frames)-1-n):]
				for i, f := range near {
					if !slices.Contains(near[:i], f) {
						v := sum[f]
						v[n] += s.count
						sum[f] = v
					}
				}
			}
		}
	}
	for f, v := range sum {
		if v[degrees] > 0 {
			d.Row(f, v[:]...)
		}
	}
}

func series(list []profile, chain []string, d *bench.Digest) {
	for _, p := range list {
		sum := int64(0)
		for _, s := range p.stacks {
			for i := range s.frames {
				if i+3 <= len(s.frames) && slices.Equal(s.frames[i:i+3], chain) {
					sum += s.count
					break
				}
			}
		}
		if sum > 0 {
			d.Row(p.Run, sum)
		}
	}
}
