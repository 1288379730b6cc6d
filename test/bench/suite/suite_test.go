package suite_test

import (
	"bytes"
	"hash/fnv"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/dendroprof/dendro/test/bench/shape"
	"github.com/dendroprof/dendro/test/bench/suite"
)

// measure returns the figures of every benchmark of a suite and of all
// profiles together.
func measure(t *testing.T, s *suite.Suite) (each []shape.Figures, all shape.Figures) {
	t.Helper()
	total := &shape.Meter{Names: suite.Stable}
	var text []byte
	var size suite.Size
	nodes := 0
	for b := range s.Benchmarks() {
		m := &shape.Meter{Names: suite.Stable}
		for i := b; i < s.Len(); i += s.Benchmarks() {
			text, size = s.AppendFolded(text[:0], i)
			nodes += size.Nodes
			if err := m.Add(text); err != nil {
				t.Fatal(err)
			}
			if err := total.Add(text); err != nil {
				t.Fatal(err)
			}
		}
		each = append(each, m.Figures())
	}
	all = total.Figures()
	// The generator's own count has to be the meter's: rates are per node.
	if n := int(all.Norm.Nodes*float64(all.Profiles) + 0.5); n != nodes {
		t.Errorf("%d nodes, the generator counted %d", n, nodes)
	}
	return each, all
}

// render returns the text of a profile in memory of its own.
func render(s *suite.Suite, i int) []byte {
	text, _ := s.AppendFolded(nil, i)
	return text
}

// band is an interval that a figure has to lie in.
type band struct {
	what      string
	got       float64
	low, high float64
}

func check(t *testing.T, bands []band) {
	t.Helper()
	for _, b := range bands {
		if b.got < b.low || b.got > b.high {
			t.Errorf("%s = %.4g, want %.4g to %.4g", b.what, b.got, b.low, b.high)
		}
	}
}

// The bands are those of the storage study's data set: 11 k nodes, 5.3 k lines,
// 12.5 MB, depth 50 and 119, 93% recurrence after one run and 95 to 96% after
// five, 88 k distinct paths in 1,000 profiles of which two runs show most.
func TestLargeShape(t *testing.T) {
	if testing.Short() {
		t.Skip("400 MB of text")
	}
	// Recurrence needs runs, sharing needs benchmarks; both at once is a gigabyte.
	runs, _ := measure(t, suite.New(suite.Config{Groups: 1, Runs: 6}))
	for _, f := range runs {
		check(t, []band{
			{"recurrence after one run", f.Raw.Second, 0.92, 0.95},
			{"recurrence after five", f.Raw.Sixth, 0.945, 0.97},
		})
	}
	s := suite.New(suite.Config{Runs: 2})
	each, all := measure(t, s)
	if text, size := s.AppendFolded(nil, 3); size.Bytes != len(text) || size.Lines != bytes.Count(text, []byte("\n")) {
		t.Errorf("size %+v of %d bytes", size, len(text))
	}
	for _, f := range each {
		check(t, []band{{"nodes of one benchmark", f.Raw.Nodes, 5500, 18500}})
	}
	// Two percent of the nodes, each with what is below it; the first run's
	// have a counterpart among the normalised ones.
	volatilePerProfile := float64(all.Raw.Distinct-all.Norm.Distinct) / float64(all.Profiles-s.Benchmarks())
	check(t, []band{
		{"nodes", all.Raw.Nodes, 10000, 12500},
		{"lines", all.Lines, 4800, 5800},
		{"text", all.Bytes, 11e6, 14e6},
		{"mean depth", all.Depth, 47, 53},
		{"max depth", float64(all.MaxDepth), 105, 119},
		{"part with self", all.Raw.Self, 0.43, 0.49},
		{"distinct paths", float64(all.Norm.Distinct), 80e3, 97e3},
		{"distinct functions", float64(all.Norm.DistinctFuncs), 11e3, 16e3},
		{"functions per profile", all.Norm.Functions, 2100, 2900},
		{"volatile paths per profile", volatilePerProfile, 300, 450},
	})
}

// The bands lie 20 to 40% around what the recorded histories measure; the
// package comment of suite has the figures.
func TestRealShape(t *testing.T) {
	if testing.Short() {
		t.Skip("35 runs of seven benchmarks")
	}
	want := []struct {
		name                     string
		text, lines, nodes, raw  float64
		depth, second, last, npd float64
	}{
		{"json.parse_catalog", 938, 803, 1408, 1906, 19.1, .53, .90, 5.0},
		{"http.codec", 2661, 1598, 2589, 5142, 28.0, .36, .87, 4.8},
		{"lucene.search_bool", 860, 974, 2767, 4120, 17.6, .44, .84, 3.9},
		{"json.orders", 112, 272, 647, 647, 15.0, .54, .93, 7.6},
		{"sql.join", 593, 672, 1367, 1899, 21.3, .47, .88, 5.0},
		{"text.dedup", 103, 250, 659, 786, 11.9, .53, .91, 4.9},
		{"code.highlight", 80, 228, 654, 654, 11.4, .48, .91, 5.8},
	}
	s := suite.New(suite.Config{Shape: suite.Real, Groups: len(want), Benchmarks: 1, Runs: 35})
	each, all := measure(t, s)
	second := 0.0
	for i, f := range each {
		w := want[i]
		second += f.Norm.Second / float64(len(each))
		check(t, []band{
			{w.name + " text kB", f.Bytes / 1e3, 0.68 * w.text, 1.3 * w.text},
			{w.name + " lines", f.Lines, 0.68 * w.lines, 1.3 * w.lines},
			{w.name + " nodes", f.Norm.Nodes, 0.8 * w.nodes, 1.25 * w.nodes},
			{w.name + " raw nodes", f.Raw.Nodes, 0.75 * w.raw, 1.25 * w.raw},
			{w.name + " depth", f.Depth, 0.8 * w.depth, 1.25 * w.depth},
			{w.name + " recurrence after one run", f.Norm.Second, w.second - 0.25, w.second + 0.25},
			{w.name + " recurrence in the end", f.Norm.Last, w.last - 0.04, w.last + 0.04},
			{w.name + " nodes per distinct path", f.Norm.NodesPerDistinct, 0.8 * w.npd, 1.25 * w.npd},
		})
	}
	check(t, []band{
		{"mean recurrence after one run", second, 0.36, 0.56},
		{"nodes per profile", all.Norm.Nodes, 1200, 1800},
	})
}

func TestSameBytes(t *testing.T) {
	for _, shapeOf := range []suite.Shape{suite.Large, suite.Real} {
		c := suite.Config{Shape: shapeOf, Groups: 2, Benchmarks: 2, Runs: 5, Scale: 0.05, Seed: 7}
		one, two := suite.New(c), suite.New(c)
		want := make([][]byte, one.Len())
		for i := range want {
			want[i], _ = one.AppendFolded(nil, i)
		}
		// Any order, several goroutines, a dirty buffer.
		var wg sync.WaitGroup
		for g := range 4 {
			wg.Go(func() {
				buf := []byte("junk")
				for k := range want {
					i := (len(want) - 1 - k + g) % len(want)
					buf, _ = two.AppendFolded(buf[:0], i)
					if !bytes.Equal(buf, want[i]) {
						t.Errorf("%v: profile %d differs", shapeOf, i)
					}
				}
			})
		}
		wg.Wait()
		for i := range want {
			if one.Meta(i) != two.Meta(i) {
				t.Errorf("%v: metadata of %d differ", shapeOf, i)
			}
		}
		c.Seed++
		if bytes.Equal(render(suite.New(c), 0), want[0]) {
			t.Errorf("%v: another seed gives the same profile", shapeOf)
		}
	}
}

// The bytes must not change from commit to commit either, or figures of two
// versions do not compare. Change the sums only with the generator.
func TestGoldenSums(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("logarithms and exponentials may end in other digits")
	}
	for _, tc := range []struct {
		shape suite.Shape
		want  uint64
	}{{suite.Large, goldenLarge}, {suite.Real, goldenReal}} {
		s := suite.New(suite.Config{Shape: tc.shape, Groups: 2, Benchmarks: 1, Runs: 2, Scale: 0.1})
		h := fnv.New64a()
		for i := range s.Len() {
			h.Write(render(s, i))
		}
		if got := h.Sum64(); got != tc.want {
			t.Errorf("%v: sum %#x, want %#x", tc.shape, got, tc.want)
		}
	}
}

func TestShuffledHasTheSameLines(t *testing.T) {
	c := suite.Config{Groups: 1, Benchmarks: 1, Runs: 1, Scale: 0.1}
	sorted := render(suite.New(c), 0)
	c.Order = suite.Shuffled
	shuffled := render(suite.New(c), 0)
	if bytes.Equal(sorted, shuffled) {
		t.Fatal("shuffled is sorted")
	}
	a, b := strings.Split(string(sorted), "\n"), strings.Split(string(shuffled), "\n")
	slices.Sort(a)
	slices.Sort(b)
	if !slices.Equal(a, b) {
		t.Error("lines differ")
	}
}

func TestNoLineTwice(t *testing.T) {
	s := suite.New(suite.Config{Shape: suite.Real, Groups: 3, Benchmarks: 1, Runs: 2, Scale: 0.2})
	for i := range s.Len() {
		seen := map[string]bool{}
		for line := range strings.Lines(string(render(s, i))) {
			stack := line[:strings.LastIndexByte(line, ' ')]
			if seen[stack] {
				t.Errorf("profile %d has twice: %s", i, stack)
			}
			seen[stack] = true
		}
	}
}

func TestMeta(t *testing.T) {
	s := suite.New(suite.Config{Groups: 2, Benchmarks: 3, Runs: 4, Scale: 0.02})
	if s.Len() != 24 || s.Benchmarks() != 6 {
		t.Fatalf("%d profiles of %d benchmarks", s.Len(), s.Benchmarks())
	}
	keys := map[string]bool{}
	for i := range s.Len() {
		m := s.Meta(i)
		keys[m.Group+"/"+m.Benchmark+"/"+m.Run] = true
		if m.MetricMean <= 0 || m.MetricUnit != "ms" || m.Index != i || m.RunIndex != i/6 {
			t.Errorf("%+v", m)
		}
		if i >= 6 && !m.Date.After(s.Meta(i-6).Date) {
			t.Errorf("run %d is not later than the one before", m.RunIndex)
		}
	}
	if len(keys) != 24 {
		t.Errorf("%d different keys", len(keys))
	}
}

// The metric has to follow the slow subtree, or correlations find nothing.
func TestProbesOccur(t *testing.T) {
	for _, shapeOf := range []suite.Shape{suite.Large, suite.Real} {
		s := suite.New(suite.Config{Shape: shapeOf, Groups: 3, Benchmarks: 1, Runs: 3, Scale: 0.2})
		fn := s.Function()
		found := false
		for i := range s.Len() {
			chain := strings.Join(slices.Collect(slices.Values(arr(s.Chain(i%3)))), ";")
			hit := false
			for line := range strings.Lines(string(render(s, i))) {
				frames := strings.Split(line[:strings.LastIndexByte(line, ' ')], ";")
				for k := range frames {
					frames[k] = suite.Stable(frames[k])
				}
				found = found || slices.Contains(frames, fn)
				hit = hit || strings.Contains(strings.Join(frames, ";"), chain)
			}
			if !hit {
				t.Errorf("%v: profile %d has no %s", shapeOf, i, chain)
			}
		}
		if !found {
			t.Errorf("%v: no profile has %s", shapeOf, fn)
		}
	}
}

func arr(a [3]string) []string { return a[:] }

func TestStable(t *testing.T) {
	for _, tc := range [][2]string{
		{"a/B.c_[j]", "a/B.c"},
		{"a/B.c_[x]", "a/B.c_[x]"},
		{"p/X$$Lambda$108.0x00007f38d016df48.compare_[i]", "p/X$$Lambda.compare"},
		{"p/X$$Lambda.0x00000000800df9b0.execute", "p/X$$Lambda.execute"},
		{"p/X$$Lambda$12345/0x00007f1234567890.run", "p/X$$Lambda.run"},
		{"p/X$$Lambda$12/345.run", "p/X$$Lambda.run"},
		{"p/X$$Lambda$12.run", "p/X$$Lambda.run"},
		{"p/X$$Lambda", "p/X$$Lambda"},
		{"p/X$$Lambda$", "p/X$$Lambda$"},
		{"p/X$$Lambda.0", "p/X$$Lambda.0"},
		{"p/X$$Lambda$14.0x0000000800066840/0x7f12.run", "p/X$$Lambda.run"},
		{"p/X$$Lambda+0x00007f12/12345.run", "p/X$$Lambda.run"},
		{"p/X$$Lambda$3.accept", "p/X$$Lambda.accept"},
		{"java/lang/String$$StringConcat.0x00000000800d4000.concat_[i]", "java/lang/String$$StringConcat.concat"},
		{"f0x1234567", "f0x1234567"},
		{"a.0x12", "a.0x12"},
		{"java/lang/invoke/LambdaForm$MH.0x00007f38d0160800.invoke", "java/lang/invoke/LambdaForm$MH.invoke"},
		{"do_syscall_64_[k]", "do_syscall_64"},
		{"main.init.func7", "main.init.func7"},
	} {
		if got := suite.Stable(tc[0]); got != tc[1] {
			t.Errorf("Stable(%q) = %q, want %q", tc[0], got, tc[1])
		}
		if again := suite.Stable(tc[1]); again != suite.Stable(again) {
			t.Errorf("Stable is not stable on %q", tc[1])
		}
	}
}

func TestMemo(t *testing.T) {
	asked := 0
	names := suite.Memo(func(frame string) string {
		asked++
		return strings.ReplaceAll(suite.Stable(frame), "/", ".")
	})
	for range 2 {
		for frame, want := range map[string]string{
			"a/B.c_[j]":                          "a.B.c",
			"a/B.c_[i]":                          "a.B.c",
			"p/X$$Lambda$1/0x00007f1234567890.r": "p.X$$Lambda.r",
			"p/X$$Lambda$2/0x00007f1234567899.r": "p.X$$Lambda.r",
		} {
			if got := names(frame); got != want {
				t.Errorf("%s: %s, want %s", frame, got, want)
			}
		}
	}
	// The annotation may decide what language a name is in.
	if asked != 3 {
		t.Errorf("asked %d times", asked)
	}
}

const (
	goldenLarge = 0x50fda37259276bc
	goldenReal  = 0xe327870567e687fb
)
