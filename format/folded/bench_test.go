package folded

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/test/readtest"
)

// workload makes the folded text of many runs of one program. It has the sizes
// of a large service's profile: 4,700 lines of 2.1 kB with a mean depth of 46,
// 11,500 nodes, 95% of which a run shares with the five runs before it; 2.6% of
// the nodes are lambda classes with another name in every run.
type workload struct {
	parent []int32 // -1: root; parents come first
	depth  []int32
	name   []string  // ends in a blank place for lambda nodes
	lambda []bool    //
	mean   []float64 // expected self count
}

func newWorkload(seed uint64) *workload {
	r := rand.New(rand.NewPCG(seed, 1))
	names := make([]string, 2600)
	for i := range names {
		names[i] = randomName(r, i)
	}
	w := &workload{}
	add := func(parent, depth int32) int32 {
		w.parent = append(w.parent, parent)
		w.depth = append(w.depth, depth)
		// Neighbours in a tree call the same functions: few of the names make
		// up most of the frames.
		w.name = append(w.name, names[int(float64(len(names))*math.Pow(r.Float64(), 2))])
		return int32(len(w.parent) - 1)
	}
	for range 4 {
		add(-1, 0)
	}
	for len(w.parent) < 14_300 {
		// A branch leaves some known node and goes down a few frames. Deep
		// nodes have most branches, up to a limit.
		at := int32(r.IntN(len(w.parent)))
		for range 2 {
			if other := int32(r.IntN(len(w.parent))); w.depth[other] > w.depth[at] && r.IntN(10) < 6 {
				at = other
			}
		}
		for n := 1 + r.IntN(5); n > 0 && w.depth[at] < 110; n-- {
			at = add(at, w.depth[at]+1)
		}
	}
	w.weigh(r)
	return w
}

// weigh draws the expected counts, and makes lambdas of nodes near the leaves.
func (w *workload) weigh(r *rand.Rand) {
	size := make([]int32, len(w.parent))
	for i := len(size) - 1; i >= 0; i-- {
		size[i]++
		if p := w.parent[i]; p >= 0 {
			size[p] += size[i]
		}
	}
	w.lambda = make([]bool, len(size))
	w.mean = make([]float64, len(size))
	for i := range size {
		w.lambda[i] = size[i] <= 2 && w.depth[i] > 10 && r.Float64() < 0.07
		if size[i] == 1 || r.Float64() < 0.38 {
			w.mean[i] = math.Exp(0.15 + 1.8*r.NormFloat64())
		}
	}
}

func randomName(r *rand.Rand, i int) string {
	words := []string{"http", "codec", "pipeline", "Service", "handle", "Request", "internal", "Buffer", "session",
		"Query", "execute", "Plan", "Index", "reader", "write", "Channel", "Context", "invoke", "map", "Entry"}
	word := func() string { return words[r.IntN(len(words))] }
	var b strings.Builder
	b.WriteString([]string{"org/example/", "com/shop/", "io/netty/", "java/util/"}[r.IntN(4)])
	for b.Len() < 13+r.IntN(15) {
		b.WriteString(strings.ToLower(word()) + "/")
	}
	fmt.Fprintf(&b, "%s%s%d.%s%s", strings.ToUpper(word()[:1]), word(), i, word(), word())
	return b.String()
}

// run returns the text of one run, in byte order of its lines or shuffled.
func (w *workload) run(seed uint64, shuffled bool) []byte {
	r := rand.New(rand.NewPCG(seed, 2))
	stacks := make([]string, len(w.parent))
	var lines []string
	for i := range w.parent {
		name := w.name[i]
		if w.lambda[i] {
			name += "$$Lambda$" + strconv.Itoa(r.IntN(2000)) + ".0x00007f" + strconv.FormatUint(0x10000000+r.Uint64N(1<<28), 16) + ".apply"
		}
		if p := w.parent[i]; p >= 0 {
			stacks[i] = stacks[p] + ";" + name
		} else {
			stacks[i] = name
		}
		if n := poisson(r, w.mean[i]); n > 0 {
			lines = append(lines, stacks[i]+" "+strconv.Itoa(n)+"\n")
		}
	}
	slices.Sort(lines)
	if shuffled {
		r.Shuffle(len(lines), func(i, j int) { lines[i], lines[j] = lines[j], lines[i] })
	}
	return []byte(strings.Join(lines, ""))
}

func poisson(r *rand.Rand, mean float64) int {
	switch {
	case mean == 0:
		return 0
	case mean > 50:
		return max(0, int(math.Round(mean+math.Sqrt(mean)*r.NormFloat64())))
	}
	n := 0
	for p := r.Float64(); p > math.Exp(-mean); p *= r.Float64() {
		n++
	}
	return n
}

// reader is what a benchmark compares: Decode of a warm Decoder, or the simple
// program that everybody writes first.
type reader interface {
	decode(text []byte) error
}

type warm struct {
	d *Decoder
	s *profile.Symbols
}

func (w *warm) decode(text []byte) error {
	_, err := w.d.Decode(bytes.NewReader(text), w.s, profile.Limits{})
	return err
}

// simple splits each line and keeps two maps, without any of the conventions,
// limits and checks.
type simple struct {
	functions map[string]int32
	nodes     map[[2]int32]int32
	self      map[int32]int64
}

func (s *simple) decode(text []byte) error {
	clear(s.self)
	for line := range strings.SplitSeq(string(text), "\n") {
		if line == "" {
			continue
		}
		i := strings.LastIndexByte(line, ' ')
		n, err := strconv.ParseInt(line[i+1:], 10, 64)
		if err != nil {
			return err
		}
		node := int32(-1)
		for _, name := range strings.Split(line[:i], ";") {
			f, ok := s.functions[name]
			if !ok {
				f = int32(len(s.functions))
				s.functions[strings.Clone(name)] = f
			}
			key := [2]int32{node, f}
			if node, ok = s.nodes[key]; !ok {
				node = int32(len(s.nodes))
				s.nodes[key] = node
			}
		}
		s.self[node] += n
	}
	return nil
}

func newSimple() reader {
	return &simple{map[string]int32{}, map[[2]int32]int32{}, map[int32]int64{}}
}

func newWarm(by strategy) func() reader {
	return func() reader {
		d := NewDecoder()
		d.strategy = by
		return &warm{d, profile.NewSymbols()}
	}
}

// BenchmarkDecode measures runs that a reader has not seen after it has read
// five others (warm), or a single run with a new reader (cold). Figures in MB/s
// are of text.
func BenchmarkDecode(b *testing.B) {
	const learned, measured = 5, 8
	w := newWorkload(1)
	for _, order := range []string{"sorted", "shuffled"} {
		var texts [][]byte
		size := 0
		for i := range learned + measured {
			texts = append(texts, w.run(uint64(i), order == "shuffled"))
			size += len(texts[i])
		}
		size /= len(texts)
		for _, reading := range []struct {
			name string
			make func() reader
		}{
			{"decoder", newWarm(choose)},
			{"frames-only", newWarm(byFrames)},
			{"simple", newSimple},
		} {
			b.Run("text="+order+"/reader="+reading.name+"/state=warm", func(b *testing.B) {
				benchmarkWarm(b, reading.make, texts[:learned], texts[learned:], size)
			})
			b.Run("text="+order+"/reader="+reading.name+"/state=cold", func(b *testing.B) {
				benchmarkWarm(b, reading.make, nil, texts[:1], size)
			})
		}
	}
}

// benchmarkWarm has every text measured by a reader that has read the learned
// texts, and after that only texts before it. No text is read twice.
func benchmarkWarm(b *testing.B, newReader func() reader, learned, texts [][]byte, size int) {
	b.SetBytes(int64(size))
	b.ReportAllocs()
	next := len(texts)
	var r reader
	var best, cpu time.Duration
	for b.Loop() {
		if next == len(texts) {
			b.StopTimer()
			r = newReader()
			for _, text := range learned {
				if err := r.decode(text); err != nil {
					b.Fatal(err)
				}
			}
			next = 0
			b.StartTimer()
		}
		start := readtest.CPUTime()
		if err := r.decode(texts[next]); err != nil {
			b.Fatal(err)
		}
		cpu = readtest.CPUTime() - start
		if best == 0 || cpu < best {
			best = cpu
		}
		next++
	}
	readtest.ReportBest(b, size, best)
}

// BenchmarkEncode writes a run.
func BenchmarkEncode(b *testing.B) {
	text := newWorkload(1).run(1, true)
	p, err := NewDecoder().Decode(bytes.NewReader(text), nil, profile.Limits{})
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		if err := Encode(io.Discard, p, -1); err != nil {
			b.Fatal(err)
		}
	}
}

// TestWorkload checks that the benchmark measures what its comment says.
func TestWorkload(t *testing.T) {
	w := newWorkload(1)
	s := profile.NewSymbols()
	d := NewDecoder()
	known := 0
	for i := range 6 {
		text := w.run(uint64(i), i%2 == 1)
		known = s.Stacks.Len()
		p, err := d.Decode(bytes.NewReader(text), s, profile.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		lines := p.Tables[0].Len()
		frames, deepest := 0, 0
		seen := map[profile.StackID]bool{}
		for _, st := range p.Tables[0].Stack {
			depth := 0
			for ; st != profile.NoStack; st = s.Parent(st) {
				depth++
				seen[st] = true
			}
			frames += depth
			deepest = max(deepest, depth)
		}
		fresh := s.Stacks.Len() - known
		lambdas := 0
		for st := range seen {
			if strings.Contains(s.Functions[s.Frames[s.Leaf(st)].Function].Name, "$$Lambda$") {
				lambdas++
			}
		}
		depth, recurs := float64(frames)/float64(lines), 100-100*float64(fresh)/float64(len(seen))
		t.Logf("run %d: %d bytes, %d lines of %d bytes, depth %.1f mean %d max, %d nodes, %d of lambdas, %.1f %% known",
			i, len(text), lines, len(text)/lines, depth, deepest, len(seen), lambdas, recurs)
		if lines < 4500 || len(text)/lines < 2000 || depth < 45 || len(seen) < 11_000 || i == 5 && (recurs < 94 || recurs > 96) {
			t.Error("not the workload that the benchmarks claim")
		}
	}
}
