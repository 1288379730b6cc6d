package detection

import (
	"container/heap"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/dendroprof/dendro/profile"
)

// simFunction is a function of a made-up program.
type simFunction struct {
	name   string
	kind   profile.Kind
	module int // noise shared by a module; -1: a library's own
	layer  int // calls go to higher layers, but for recursion
	self   float64
	calls  []simCall
	// Run to run noise.
	jitter   float64 // standard deviation of the logarithm of its cost
	memory   bool    // slows down with the machine's memory
	flip     float64 // probability of running in another compile mode
	flipCost float64 // and what it costs then
	wrapper  bool
}

type simCall struct {
	to     int
	weight float64
}

// simNode is a function in one calling context.
type simNode struct {
	fn, parent int
	cost       float64 // expected self cost; the whole program is 1
	rare       float64 // probability of being there in a run; 0: always
}

// simProgram is a program as a call tree of expected costs, parents first.
type simProgram struct {
	fns   []simFunction
	nodes []simNode
	// inlined holds pairs of caller and callee that the compiler inlines in some
	// runs, in order of first appearance, with the probability.
	inlined []simInline
}

type simInline struct {
	caller, callee int
	probability    float64
}

// The shape of programs.
const (
	simModules   = 16
	simLayers    = 16
	largestSelf  = 0.2 // share of the largest function
	wrapperShare = 0.25
	lambdaShare  = 0.05
	deepest      = 80
	leastMass    = 2e-6
)

var (
	simPackages = []string{"orders", "catalog", "pricing", "search", "index", "cache", "codec", "http", "auth", "ledger", "plan", "rows",
		"pages", "tokens", "queue", "report"}
	simClasses = []string{"Reader", "Writer", "Visitor", "Table", "Cursor", "Buffer", "Entry", "Router", "Parser", "Mapper", "Filter",
		"Batch", "Keys", "Walker", "Scope"}
	simMethods = []string{"next", "find", "apply", "encode", "decode", "compare", "merge", "load", "check", "resolve", "accept", "hash",
		"copy", "put", "seek", "append"}
	simLibrary = []string{"java.util.HashMap.getNode", "java.util.HashMap.putVal", "java.util.ArrayList.add", "java.util.ArrayList.grow",
		"java.lang.String.equals", "java.lang.String.hashCode",
		"java.lang.StringBuilder.append", "java.util.Arrays.copyOf", "java.util.TreeMap.getEntry", "java.util.BitSet.get",
		"java.util.Objects.equals", "java.nio.Bits.copy",
		"java.util.concurrent.ConcurrentHashMap.get", "java.util.concurrent.locks.ReentrantLock.lock",
		"java.util.stream.ReferencePipeline.forEach", "java.lang.Long.valueOf"}
)

// newProgram makes up a program with about so many call nodes in which no
// function has more than a fifth.
func newProgram(r *rand.Rand, nodes int) *simProgram {
	for {
		p := &simProgram{}
		p.functions(r, nodes)
		p.expand(r, nodes)
		largest := 0.0
		for _, s := range p.selfs() {
			largest = math.Max(largest, s)
		}
		if len(p.nodes) >= nodes*7/10 && largest < largestSelf {
			p.unstable(r)
			return p
		}
	}
}

func logUniform(r *rand.Rand, low, high float64) float64 {
	return low * math.Pow(high/low, r.Float64())
}

// logNormal has mean 1.
func logNormal(r *rand.Rand, sigma float64) float64 {
	return math.Exp(sigma*r.NormFloat64() - sigma*sigma/2)
}

func (p *simProgram) add(f simFunction) int {
	p.fns = append(p.fns, f)
	return len(p.fns) - 1
}

// functions makes up the call graph: libraries, layers of the application, the
// entry points, collector and compiler threads.
func (p *simProgram) functions(r *rand.Rand, nodes int) {
	jitter := func() float64 { return logUniform(r, 0.02, 0.10) }
	libraries := len(simLibrary) + nodes/60
	for i := range libraries {
		name := fmt.Sprintf("java.util.%s%d.%s", simClasses[r.IntN(len(simClasses))], i, simMethods[r.IntN(len(simMethods))])
		if i < len(simLibrary) {
			name = simLibrary[i]
		}
		p.add(simFunction{name: name, kind: profile.KindJava, module: -1, layer: simLayers + 1, self: 0.3 + 0.7*r.Float64(), jitter: jitter(),
			memory: r.Float64() < 0.4})
	}
	for i := range libraries - 1 {
		for range r.IntN(3) {
			p.fns[i].calls = append(p.fns[i].calls, simCall{i + 1 + r.IntN(libraries-1-i), r.ExpFloat64()})
		}
	}
	layers := make([][]int, simLayers+1)
	for i := range nodes / 4 {
		layer := 1 + int(float64(simLayers)*math.Pow(r.Float64(), 0.7))
		layer = min(layer, simLayers)
		f := p.application(r, i, layer)
		f.jitter = jitter()
		layers[layer] = append(layers[layer], p.add(f))
	}
	for i := libraries; i < len(p.fns); i++ {
		p.wire(r, i, libraries, layers)
	}
	p.threads(r, layers)
}

func (p *simProgram) application(r *rand.Rand, i, layer int) simFunction {
	module := (layer*3/simLayers*5 + r.IntN(6)) % simModules
	class := fmt.Sprintf("shop.%s.%s%d", simPackages[module], simClasses[r.IntN(len(simClasses))], i)
	f := simFunction{kind: profile.KindJava, module: module, layer: layer, memory: r.Float64() < 0.25}
	f.name = class + "." + simMethods[r.IntN(len(simMethods))]
	switch u := r.Float64(); {
	case u < wrapperShare:
		f.wrapper, f.self = true, 0.002+0.01*r.Float64()
	case u < wrapperShare+lambdaShare:
		f.wrapper, f.self, f.name = true, 0.02+0.1*r.Float64(), class+"$$Lambda.apply"
	default:
		f.self = math.Min(0.95, 0.08*logNormal(r, 1.2)*2)
	}
	return f
}

// wire gives a function its callees: a popular one some layers below, or a
// library.
func (p *simProgram) wire(r *rand.Rand, i, libraries int, layers [][]int) {
	f := &p.fns[i]
	n := 1
	if !f.wrapper {
		n += int(r.ExpFloat64() * 3)
	}
	seen := map[int]bool{i: true}
	for range n {
		to := int(float64(libraries) * math.Pow(r.Float64(), 2))
		if below := f.layer + 1 + int(1.2*r.ExpFloat64()); below <= simLayers && len(layers[below]) > 0 && (f.wrapper || r.Float64() > 0.25) {
			to = layers[below][int(float64(len(layers[below]))*math.Pow(r.Float64(), 1.7))]
		}
		if !seen[to] {
			seen[to] = true
			f.calls = append(f.calls, simCall{to, math.Exp(1.1 * r.NormFloat64())})
		}
	}
	if !f.wrapper && r.Float64() < 0.04 { // recursion, direct or over one level
		to := i
		if up := layers[f.layer-1]; f.layer > 2 && len(up) > 0 && r.IntN(2) == 0 {
			to = up[r.IntN(len(up))]
		}
		f.calls = append(f.calls, simCall{to, 0.6 + r.Float64()})
	}
}

// threads makes up what runs beside and above the application. The last function
// is the root.
func (p *simProgram) threads(r *rand.Rand, layers [][]int) {
	native := func(name string, self, jitter float64, calls ...simCall) int {
		return p.add(simFunction{name: name, kind: profile.KindVM, module: -1, self: self, jitter: jitter, calls: calls})
	}
	java := func(name string, calls ...simCall) int {
		return p.add(simFunction{name: name, kind: profile.KindJava, module: -1, self: 0.001, jitter: 0.05, calls: calls, wrapper: true})
	}
	first := 1
	for len(layers[first]) == 0 {
		first++
	}
	var tasks []simCall
	for range 14 {
		tasks = append(tasks, simCall{layers[first][r.IntN(len(layers[first]))], 0.1 + r.ExpFloat64()*r.ExpFloat64()})
	}
	worker := java("java.util.concurrent.ThreadPoolExecutor.runWorker", tasks...)
	thread := java("java.lang.Thread.run", simCall{worker, 1})
	evacuate := native("G1ParScanThreadState::evacuate", 1, 0.2)
	mark := native("G1ConcurrentMark::mark", 1, 0.3)
	collector := native("WorkerThread::run", 0.02, 0.1, simCall{evacuate, 3}, simCall{mark, 1})
	optimise := native("Compile::Optimize", 1, 0.3)
	compiler := native("CompileBroker::loop", 0.01, 0.1, simCall{optimise, 1})
	native("start_thread", 0, 0, simCall{thread, 1}, simCall{collector, 0.02 + 0.06*r.Float64()}, simCall{compiler, 0.01 + 0.03*r.Float64()})
}

// massQueue orders nodes by the cost of their subtrees, largest first.
type massQueue []massItem

type massItem struct {
	node, depth int
	mass        float64
}

func (q massQueue) Len() int           { return len(q) }
func (q massQueue) Less(i, j int) bool { return q[i].mass > q[j].mass }
func (q massQueue) Swap(i, j int)      { q[i], q[j] = q[j], q[i] }

// Push implements heap.Interface.
func (q *massQueue) Push(x any) { *q = append(*q, x.(massItem)) }

// Pop implements heap.Interface.
func (q *massQueue) Pop() any {
	last := len(*q) - 1
	it := (*q)[last]
	*q = (*q)[:last]
	return it
}

// expand unfolds the call graph from the root, the most expensive context first.
func (p *simProgram) expand(r *rand.Rand, nodes int) {
	p.nodes = []simNode{{fn: len(p.fns) - 1, parent: -1}}
	q := &massQueue{{0, 0, 1}}
	for q.Len() > 0 {
		it := heap.Pop(q).(massItem)
		f := &p.fns[p.nodes[it.node].fn]
		if len(f.calls) == 0 || len(p.nodes) >= nodes || it.depth > deepest || it.mass < leastMass && !f.wrapper {
			p.nodes[it.node].cost = it.mass
			continue
		}
		self := math.Min(1, f.self*math.Exp(0.3*r.NormFloat64()))
		p.nodes[it.node].cost = it.mass * self
		weights, sum := make([]float64, len(f.calls)), 0.0
		for i, c := range f.calls {
			weights[i] = c.weight * math.Exp(0.4*r.NormFloat64())
			sum += weights[i]
		}
		for i, c := range f.calls {
			mass := it.mass * (1 - self) * weights[i] / sum
			n := simNode{fn: c.to, parent: it.node}
			if mass < 3e-5 && r.Float64() < 0.05 {
				n.rare = 0.2 + 0.4*r.Float64()
			}
			p.nodes = append(p.nodes, n)
			heap.Push(q, massItem{len(p.nodes) - 1, it.depth + 1, mass})
		}
	}
}

// unstable makes some functions flip their compile mode from run to run, and some
// calls be inlined in some runs only.
func (p *simProgram) unstable(r *rand.Rand) {
	self := p.selfs()
	for i := range p.fns {
		if f := &p.fns[i]; p.own(i) && self[i] < 0.05 && r.Float64() < 0.006 {
			f.flip, f.flipCost = 0.15+0.25*r.Float64(), 1.2+r.Float64()
		}
	}
	seen := map[[2]int]bool{}
	for _, n := range p.nodes {
		if n.parent <= 0 || !p.own(n.fn) || !p.own(p.nodes[n.parent].fn) {
			continue
		}
		pair := [2]int{p.nodes[n.parent].fn, n.fn}
		if !seen[pair] && pair[0] != pair[1] {
			seen[pair] = true
			if r.Float64() < 0.008 {
				p.inlined = append(p.inlined, simInline{pair[0], pair[1], 0.15 + 0.5*r.Float64()})
			}
		}
	}
}

// own reports whether a function is code of the program, not of its threads.
func (p *simProgram) own(fn int) bool {
	return p.fns[fn].kind == profile.KindJava && (p.fns[fn].module >= 0 || p.fns[fn].layer > 0)
}

// selfs returns the expected self cost of every function.
func (p *simProgram) selfs() []float64 {
	s := make([]float64, len(p.fns))
	for _, n := range p.nodes {
		s[n.fn] += n.cost
	}
	return s
}

// subtrees returns the expected total cost of every node.
func (p *simProgram) subtrees() []float64 {
	s := make([]float64, len(p.nodes))
	for i := len(p.nodes) - 1; i >= 0; i-- {
		s[i] += p.nodes[i].cost
		if q := p.nodes[i].parent; q >= 0 {
			s[q] += s[i]
		}
	}
	return s
}

// path returns the names from the root to a node, without the threads' own
// frames above the first Java frame.
func (p *simProgram) path(n int) []string {
	var names []string
	for ; n >= 0; n = p.nodes[n].parent {
		names = append([]string{p.fns[p.nodes[n].fn].name}, names...)
	}
	return names
}
