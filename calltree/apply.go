package calltree

import "slices"

// effect is the result of a transform: the stacks with new parents, and where the
// samples of each stack go.
type effect struct {
	*stacks
	to []int32 // of each old stack: the stack that gets its samples, or NoNode; nil: the same
}

// A functionSet holds for every function whether it is selected.
type functionSet []bool

// keep removes the frames of the stacks for which keep returns false: their samples go
// to the nearest remaining caller, if any.
func (s *stacks) keep(keep func(st int) bool) effect {
	parent, to := make([]int32, s.len()), make([]int32, s.len())
	for st, p := range s.parent {
		switch {
		case p == gone:
			parent[st], to[st] = gone, NoNode
			continue
		case p >= 0:
			p = to[p]
		}
		if keep(st) {
			parent[st], to[st] = p, int32(st)
		} else {
			parent[st], to[st] = gone, p
		}
	}
	return effect{s.withParent(parent), to}
}

// mergeFunction removes every frame of the functions.
func (s *stacks) mergeFunction(f functionSet) effect {
	return s.keep(func(st int) bool { return !f[s.fn(st)] })
}

// restrict removes every frame of the functions that are not ok.
func (s *stacks) restrict(ok []bool) effect {
	return s.keep(func(st int) bool { return ok[s.fn(st)] })
}

// elsewhere is the state of a stack that has left a path.
const elsewhere = int32(-1)

// walk returns how many steps of the path every stack has matched, from the root, or
// elsewhere after an ok frame that is not the next step. Stacks below the end of the
// path get the value below.
func (s *stacks) walk(path functionPath, ok []bool, below int32) []int32 {
	at := make([]int32, s.len())
	for st, p := range s.parent {
		state := int32(0)
		if p >= 0 {
			state = at[p]
		}
		if p == gone || state == elsewhere {
			at[st] = elsewhere
			continue
		}
		switch fn := s.fn(st); {
		case int(state) == len(path.steps):
			state = below
		case path.has(state, fn):
			state++
		case ok == nil || ok[fn]:
			state = elsewhere
		}
		at[st] = state
	}
	return at
}

// mergeNode removes the frame that completes the path. The removed stacks stay in the
// table, without samples and callees, because their category counts.
func (s *stacks) mergeNode(path functionPath, ok []bool) effect {
	at := s.walk(path, ok, elsewhere)
	parent, to := make([]int32, s.len()), make([]int32, s.len())
	for st, p := range s.parent {
		if p >= 0 {
			if int(at[p]) == len(path.steps) {
				p = parent[p]
			}
		}
		parent[st], to[st] = p, int32(st)
		if int(at[st]) == len(path.steps) {
			to[st] = p
		}
	}
	return effect{s.withParent(parent), to}
}

// only keeps the samples of the stacks for which keep returns true.
func (s *stacks) only(keep func(st int) bool) effect {
	to := make([]int32, s.len())
	for st := range to {
		to[st] = NoNode
		if s.parent[st] != gone && keep(st) {
			to[st] = int32(st)
		}
	}
	return effect{s, to}
}

// dropFunction drops the samples with one of the functions.
func (s *stacks) dropFunction(f functionSet) effect {
	has := s.containing(f)
	return s.only(func(st int) bool { return !has[st] })
}

// functionInclude keeps the samples with one of the functions.
func (s *stacks) functionInclude(f functionSet) effect {
	has := s.containing(f)
	return s.only(func(st int) bool { return has[st] })
}

// stackPrefix keeps the samples whose stack begins with the path.
func (s *stacks) stackPrefix(path functionPath) effect {
	at := s.walk(path, nil, int32(len(path.steps)))
	return s.only(func(st int) bool { return int(at[st]) == len(path.steps) })
}

// stackSuffix keeps the samples whose stack ends in one of the functions.
func (s *stacks) stackSuffix(f functionSet) effect {
	return s.only(func(st int) bool { return f[s.fn(st)] })
}

// focusFunction keeps the stacks from the outermost of the functions down.
func (s *stacks) focusFunction(f functionSet) effect {
	return s.focus(func(st int, inside bool) inFocus {
		switch {
		case inside:
			return below
		case f[s.fn(st)]:
			return top
		}
		return outside
	})
}

// focusSubtree keeps the stacks from the end of the path down.
func (s *stacks) focusSubtree(path functionPath, ok []bool) effect {
	at := s.walk(path, ok, int32(len(path.steps)))
	return s.focus(func(st int, inside bool) inFocus {
		switch {
		case int(at[st]) != len(path.steps):
			return outside
		case inside:
			return below
		}
		return top
	})
}

// focusSelf keeps the innermost of the functions and the frames below it that are not
// ok.
func (s *stacks) focusSelf(f functionSet, ok []bool) effect {
	return s.focus(func(st int, inside bool) inFocus {
		switch fn := s.fn(st); {
		case f[fn]:
			return top
		case inside && ok != nil && !ok[fn]:
			return below
		}
		return outside
	})
}

// inFocus is the place of a stack relative to the part of the table that a focus keeps.
type inFocus int

const (
	outside inFocus = iota
	top             // becomes a root
	below           // stays under its caller
)

// focus keeps parts of the table. Where returns the place of a stack, given whether its
// caller is kept.
func (s *stacks) focus(where func(st int, inside bool) inFocus) effect {
	parent, to := make([]int32, s.len()), make([]int32, s.len())
	for st, p := range s.parent {
		parent[st], to[st] = gone, NoNode
		if p == gone {
			continue
		}
		switch where(st, p >= 0 && to[p] != NoNode) {
		case top:
			parent[st], to[st] = NoNode, int32(st)
		case below:
			parent[st], to[st] = p, int32(st)
		}
	}
	return effect{s.withParent(parent), to}
}

// focusSubtreeInverted cuts the stacks that end in the path, given leaf first, after
// the frame that completes it, and drops the samples of the others. It skips frames
// that are neither ok nor in the path, so that a stack costs the length of the path,
// not its depth.
func (s *stacks) focusSubtreeInverted(path functionPath, ok []bool) effect {
	up := s.parent
	var stops functionSet
	if ok != nil {
		stops = make(functionSet, len(ok))
		for fn := range stops {
			stops[fn] = ok[fn] || path.any[fn]
		}
		up = make([]int32, s.len())
		for st, p := range s.parent {
			up[st] = p
			if p >= 0 && !stops[s.fn(int(p))] {
				up[st] = up[p]
			}
		}
	}
	to := make([]int32, s.len())
	for st, p := range s.parent {
		to[st] = NoNode
		if p == gone {
			continue
		}
		matched := int32(0)
		for x := int32(st); x >= 0; x = up[x] {
			fn := s.fn(int(x))
			if path.has(matched, fn) {
				if matched++; int(matched) == len(path.steps) {
					to[st] = x
					break
				}
			} else if ok == nil || ok[fn] {
				break
			}
		}
	}
	return effect{s, to}
}

// collapseFunction removes the callees of the outermost of the functions.
func (s *stacks) collapseFunction(f functionSet) effect {
	to := make([]int32, s.len())
	inside := make([]bool, s.len())
	for st, p := range s.parent {
		switch {
		case p == gone:
			to[st] = NoNode
		case p >= 0 && inside[p]:
			to[st], inside[st] = to[p], true
		default:
			to[st], inside[st] = int32(st), f[s.fn(st)]
		}
	}
	return effect{s, to}
}

// collapseRecursion moves every recursive call of the functions to the caller of the
// first one. With direct, an ok frame of another function ends a run of recursive
// calls, and only ok frames count as recursive calls.
func (s *stacks) collapseRecursion(f functionSet, direct bool, ok []bool) effect {
	const none = int32(-2)
	parent := make([]int32, s.len())
	caller := make([]int32, s.len()) // of the first call of the run that a stack is in
	for st, p := range s.parent {
		parent[st] = p
		if p == gone {
			caller[st] = none
			continue
		}
		run := none
		if p >= 0 {
			run = caller[p]
		}
		fn := s.fn(st)
		passes := !direct || ok == nil || ok[fn]
		switch {
		case run == none && f[fn]:
			run = p
		case run != none && f[fn] && passes:
			parent[st] = run
		case direct && passes:
			run = none
		}
		caller[st] = run
	}
	return effect{s.withParent(parent), nil}
}

// collapseAllRecursion moves every call of a function that is on its stack already to
// the caller of that call. The time does not depend on the depth of stacks.
func (s *stacks) collapseAllRecursion() effect {
	parent, depth := slices.Clone(s.parent), make([]int32, s.len())
	var path []int32                                         // calls of the current stack that are kept, outermost first
	last := slices.Repeat([]int32{NoNode}, len(s.functions)) // of each function: the call that was met last
	before := make([][2]int32, s.len())                      // of path and last
	s.depthFirst(func(st int32) {
		d, fn := int32(0), s.fn(int(st))
		if p := s.parent[st]; p >= 0 {
			d = depth[p] + 1
		}
		if up := last[fn]; up >= 0 && depth[up] < d && path[depth[up]] == up {
			parent[st], d = parent[up], depth[up]
		}
		if int(d) == len(path) {
			path = append(path, NoNode)
		}
		before[st] = [2]int32{path[d], last[fn]}
		depth[st], path[d], last[fn] = d, st, st
	}, func(st int32) {
		path[depth[st]], last[s.fn(int(st))] = before[st][0], before[st][1]
	})
	return effect{s.withParent(parent), nil}
}

// collapseResource replaces the functions of the module by one function and collapses
// its direct recursion.
func (s *stacks) collapseResource(module string, one int32, ok []bool) effect {
	renamed := *s
	renamed.table, renamed.node = nil, nil
	renamed.function = make([]int32, len(s.function))
	for fr, fn := range s.function {
		renamed.function[fr] = fn
		if s.functions[fn].Module == module {
			renamed.function[fr] = one
		}
	}
	set := make(functionSet, len(s.functions))
	set[one] = true
	return renamed.collapseRecursion(set, true, ok)
}
