// Package tracetest makes snapshots for tests and benchmarks of trace profiling:
// from pictures of stacks, and at random in the three shapes that analyses are
// measured with.
//
// The shapes are one stack that every snapshot has, a random tree, and few
// stacks that come again and again. The generators give the same snapshots on
// every machine. Only tests import the package.
package tracetest

import (
	"context"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/traceprof"
)

// Period is the time between two generated snapshots, in ms.
const Period = 10

// Picture returns the snapshots of a segment from a picture: one stack a blank,
// outermost frame first, frames joined by "-", a dump without frames is ".". They
// are numbered from 0 and Period apart, from time 0; "@5" before a stack sets its
// sequence, "@5:70" its time too, and the next ones go on from there.
func Picture(task, segment, picture string) traceprof.Snapshots {
	s := traceprof.Snapshots{Task: task, Segment: segment, Stacks: new(calltree.Forest)}
	sequence, time := int32(0), int64(0)
	for _, word := range strings.Fields(picture) {
		if at, ok := strings.CutPrefix(word, "@"); ok {
			n, err := fmt.Sscanf(at, "%d:%d", &sequence, &time)
			if n == 0 {
				panic(fmt.Sprintf("picture %q: %q: %v", picture, word, err))
			}
			if n == 1 {
				time = int64(sequence) * Period
			}
			continue
		}
		path := calltree.NoNode
		if word != "." {
			path = Path(s.Stacks, strings.Split(word, "-")...)
		}
		s.Sequence, s.Time, s.Path = append(s.Sequence, sequence), append(s.Time, time), append(s.Path, path)
		sequence, time = sequence+1, time+Period
	}
	return s
}

// Path returns the path of signatures in a dictionary, outermost first.
func Path(stacks *calltree.Forest, signatures ...string) int32 {
	path := calltree.NoNode
	for _, name := range signatures {
		path = Below(stacks, path, name)
	}
	return path
}

// Below returns the path of a signature called from another path.
func Below(stacks *calltree.Forest, parent int32, signature string) int32 {
	return stacks.Path(parent, stacks.Function(profile.Function{Name: signature}))
}

// Input is a segment to measure with.
type Input struct {
	Name string
	traceprof.Snapshots
}

// Inputs returns the three shapes of 12,000 snapshots of 200 frames, then of
// 1,000 of 60.
func Inputs() []Input {
	var list []Input
	for _, size := range []struct {
		snapshots, frames, nodes int
	}{{12_000, 200, 220_914}, {1000, 60, 5_500}} {
		name := fmt.Sprintf("%dx%d/", size.snapshots, size.frames)
		list = append(list,
			Input{name + "one-stack", Distinct(size.snapshots, size.frames, 1)},
			Input{name + "random-tree", RandomTree(size.snapshots, size.frames, size.nodes)},
			Input{name + "500-stacks", Distinct(size.snapshots, size.frames, 500)})
	}
	return list
}

// Distinct returns snapshots that have a number of distinct stacks in random
// order. The stacks part at random depths, as those of one request do.
func Distinct(snapshots, frames, distinct int) traceprof.Snapshots {
	r := rand.New(rand.NewPCG(1, 2))
	stacks := new(calltree.Forest)
	var all [][]int32 // of each stack: its paths, outermost first
	for i := range distinct {
		var stack []int32
		if i > 0 {
			stack = slices.Clone(all[r.IntN(i)][:r.IntN(frames-1)+1])
		}
		for len(stack) < frames {
			parent := calltree.NoNode
			if n := len(stack); n > 0 {
				parent = stack[n-1]
			}
			stack = append(stack, stacks.Path(parent, function(stacks, len(stack), i)))
		}
		all = append(all, stack)
	}
	paths := make([]int32, snapshots)
	for i := range paths {
		paths[i] = all[r.IntN(distinct)][frames-1]
	}
	return dumps(stacks, paths)
}

// RandomTree returns snapshots of random walks through a tree that grows to a
// number of nodes: hardly any two stacks are equal.
func RandomTree(snapshots, frames, nodes int) traceprof.Snapshots {
	r := rand.New(rand.NewPCG(3, 4))
	stacks := new(calltree.Forest)
	paths := make([]int32, snapshots)
	leave := 2.2 * float64(nodes) / float64(snapshots) / float64(frames) / float64(frames) // at each frame
	for i := range paths {
		path := calltree.NoNode
		for depth := range frames {
			branch := 0
			if r.Float64() < leave {
				branch = 1 + r.IntN(frames)
			}
			fn := function(stacks, depth, branch)
			if _, known := stacks.Paths.Find(path, fn); !known && stacks.Paths.Len() >= nodes-frames+depth && i > 0 {
				fn = anyChild(stacks, path, depth, frames, fn)
			}
			path = stacks.Path(path, fn)
		}
		paths[i] = path
	}
	return dumps(stacks, paths)
}

// anyChild returns the function of a child that a path has, or else.
func anyChild(stacks *calltree.Forest, path int32, depth, branches int, or int32) int32 {
	for branch := range branches + 1 {
		fn := function(stacks, depth, branch)
		if _, known := stacks.Paths.Find(path, fn); known {
			return fn
		}
	}
	return or
}

// function returns the signature of a branch at a depth.
func function(stacks *calltree.Forest, depth, branch int) int32 {
	name := fmt.Sprintf("com.example.shop.service.Layer%d.method%d:%d", depth, branch%50, 10+branch)
	return stacks.Function(profile.Function{Name: name})
}

// dumps returns snapshots without a gap.
func dumps(stacks *calltree.Forest, paths []int32) traceprof.Snapshots {
	s := traceprof.Snapshots{Task: "task", Segment: "segment", Stacks: stacks.Snapshot(), Path: paths}
	for i := range paths {
		s.Sequence = append(s.Sequence, int32(i))
		s.Time = append(s.Time, 1_700_000_000_000+int64(i)*Period)
	}
	return s
}

// All is the range of all generated times.
func All(segment string) traceprof.Range { return traceprof.Range{Segment: segment, End: 1 << 60} }

// Held is a store that holds some snapshots and answers nothing else.
type Held struct {
	traceprof.Store
	List []traceprof.Snapshots
}

// Snapshots implements traceprof.Store.
func (h *Held) Snapshots(ctx context.Context, q traceprof.SnapshotQuery) iter.Seq2[traceprof.Snapshots, error] {
	return func(yield func(traceprof.Snapshots, error) bool) {
		for _, s := range h.List {
			wanted := func(list []string, v string) bool { return len(list) == 0 || slices.Contains(list, v) }
			if !wanted(q.Tasks, s.Task) || !wanted(q.Segments, s.Segment) {
				continue
			}
			s.Path = slices.Clone(s.Path) // the caller's to change
			if !yield(s, ctx.Err()) {
				return
			}
		}
	}
}
