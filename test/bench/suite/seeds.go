package suite

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"embed"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
	"sync"
)

//go:embed seeds/*.gz
var seedFiles embed.FS

// kind is what a frame's function is written in; it decides which annotation
// the function can carry.
type kind uint8

const (
	native kind = iota
	kernel
	java
	golang
)

// function is a name as the recording has it, without annotation.
type function struct {
	name string
	kind kind
	vol  volatile
}

// seedTree is the call tree of one recording, depth first, parents before
// children.
type seedTree struct {
	workload string
	parent   []int32 // -1 for a root
	fn       []int32 // index into seedSet.funcs
	depth    []int16
	size     []int32 // nodes of the subtree, itself included
	self     []int64
}

// seedSet is everything that is embedded.
type seedSet struct {
	funcs []function
	trees []seedTree
}

// loadSeeds decodes the embedded recordings once. They are part of the
// program, so an error in them is a broken build and panics.
var loadSeeds = sync.OnceValue(func() *seedSet {
	set := &seedSet{}
	ids := map[string]int32{}
	names, err := fs.Glob(seedFiles, "seeds/*.gz")
	if err != nil {
		panic(err)
	}
	for _, name := range names {
		data, err := seedFiles.ReadFile(name)
		if err != nil {
			panic(err)
		}
		workload, _, _ := strings.Cut(strings.TrimPrefix(name, "seeds/"), ".")
		tree, err := set.read(data, workload, ids)
		if err != nil {
			panic(fmt.Errorf("suite: reading %s: %w", name, err))
		}
		set.trees = append(set.trees, tree)
	}
	return set
})

// isGo reports the workloads whose frames carry no annotation because Go's
// profiler wrote them.
func isGo(workload string) bool {
	return workload == "code-highlight" || workload == "json-orders"
}

func (set *seedSet) read(data []byte, workload string, ids map[string]int32) (seedTree, error) {
	zr, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return seedTree{}, err
	}
	tree := seedTree{workload: workload}
	children := map[uint64]int32{}
	sc := bufio.NewScanner(zr)
	sc.Buffer(nil, 1<<20)
	for sc.Scan() {
		line := sc.Text()
		cut := strings.LastIndexByte(line, ' ')
		if cut < 0 {
			return tree, fmt.Errorf("line without count: %.40q", line)
		}
		count, err := strconv.ParseInt(line[cut+1:], 10, 64)
		if err != nil {
			return tree, err
		}
		// Stacks that the profiler could not walk begin with a remark in
		// brackets; they have no place in a tree to graft from.
		if line[0] == '[' {
			continue
		}
		at := int32(-1)
		for frame := range strings.SplitSeq(line[:cut], ";") {
			at = tree.child(children, at, set.intern(ids, frame, workload))
		}
		tree.self[at] += count
	}
	tree.preorder()
	return tree, sc.Err()
}

func (set *seedSet) intern(ids map[string]int32, frame, workload string) int32 {
	name, mark := cutSuffix(frame)
	k := native
	switch {
	case mark == 'k':
		k = kernel
	case mark != 0:
		k = java
	case isGo(workload):
		k = golang
	}
	// Names that differ in volatile digits alone are one function here; the
	// renderer gives it other digits in every run.
	key := Stable(name)
	id, ok := ids[key]
	if !ok {
		id = int32(len(set.funcs))
		ids[key] = id
		set.funcs = append(set.funcs, function{name: name, vol: findVolatile(name)})
	}
	set.funcs[id].kind = max(set.funcs[id].kind, k)
	return id
}

func (t *seedTree) child(children map[uint64]int32, parent, fn int32) int32 {
	key := uint64(uint32(parent))<<32 | uint64(uint32(fn))
	if id, ok := children[key]; ok {
		return id
	}
	id := int32(len(t.fn))
	children[key] = id
	depth := int16(0)
	if parent >= 0 {
		depth = t.depth[parent] + 1
	}
	t.parent = append(t.parent, parent)
	t.fn = append(t.fn, fn)
	t.depth = append(t.depth, depth)
	t.self = append(t.self, 0)
	return id
}

// preorder renumbers the tree depth first and fills in the sizes.
func (t *seedTree) preorder() {
	order := depthFirst(t.parent, nil)
	place := make([]int32, len(order))
	for i, old := range order {
		place[old] = int32(i)
	}
	var n seedTree
	n.workload = t.workload
	n.size = make([]int32, len(order))
	for _, old := range order {
		p := t.parent[old]
		if p >= 0 {
			p = place[p]
		}
		n.parent = append(n.parent, p)
		n.fn = append(n.fn, t.fn[old])
		n.depth = append(n.depth, t.depth[old])
		n.self = append(n.self, t.self[old])
	}
	fillSizes(n.parent, n.size)
	*t = n
}

// depthFirst returns the nodes of a forest in depth-first order. parent[i] < i
// must hold. less orders siblings; nil keeps the order of their ids.
func depthFirst(parent []int32, sortSiblings func([]int32)) []int32 {
	n := len(parent)
	start := make([]int32, n+2) // children of node p at kids[start[p+1]:start[p+2]]
	for _, p := range parent {
		start[p+2]++
	}
	for i := 1; i < len(start); i++ {
		start[i] += start[i-1]
	}
	kids := make([]int32, n)
	next := append([]int32(nil), start...)
	for i, p := range parent {
		kids[next[p+1]] = int32(i)
		next[p+1]++
	}
	order := make([]int32, 0, n)
	stack := make([]int32, 0, 256)
	push := func(p int32) {
		list := kids[start[p+1]:start[p+2]]
		if sortSiblings != nil {
			sortSiblings(list)
		}
		for i := len(list) - 1; i >= 0; i-- {
			stack = append(stack, list[i])
		}
	}
	push(-1)
	for len(stack) > 0 {
		at := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		order = append(order, at)
		push(at)
	}
	return order
}

func fillSizes(parent, size []int32) {
	for i := len(parent) - 1; i >= 0; i-- {
		size[i]++
		if p := parent[i]; p >= 0 {
			size[p] += size[i]
		}
	}
}
