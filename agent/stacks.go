package agent

import (
	"runtime"
	"slices"
	"strconv"
	"strings"
)

// reader reads the stacks of goroutines that carry labelKey. A reader is used by
// one goroutine at a time.
type reader interface {
	// read calls found for each goroutine whose label is wanted. The stack is the
	// reader's, leaf first, and only valid during the call.
	read(wanted func(id string) bool, found func(id string, stack []frame)) error
}

// frame is one function of a stack.
type frame struct {
	signature string // pkg.Func:line
	kind      frameKind
}

type frameKind uint8

const (
	code      frameKind = iota
	hidden              // of this package, or of the interruption that a pass is
	runFrame            // of run: the goroutine is that of a segment
	exitFrame           // runtime.goexit, at the root of each stack that is complete
)

// truncated is the root of stacks that the runtime has cut, so that they make one
// tree. GODEBUG=profstackdepth=N in the environment raises the limit of 128 frames.
const truncated = "[truncated]"

const ownPackage = "github.com/dendroprof/dendro/agent"

// newFrame returns the frame of a function and line.
func newFrame(function string, line int) frame {
	f := frame{signature: function + ":" + strconv.Itoa(line)}
	switch rest, own := strings.CutPrefix(function, ownPackage); {
	case function == "runtime.goexit":
		f.kind = exitFrame
	case function == "runtime.asyncPreempt" || function == "runtime.asyncPreempt2":
		f.kind = hidden
	case !own:
	case rest == ".run":
		f.kind = runFrame
	case strings.HasPrefix(rest, ".") || strings.HasPrefix(rest, "/interceptor."):
		f.kind = hidden
	}
	return f
}

// owners returns the stack, root first, of the goroutine of each wanted segment.
// Goroutines that only inherited the label are not in it: their stacks have no
// frame of run. Where that frame is cut off, the goroutine with the cut stack is
// taken for the owner.
func owners(r reader, wanted func(id string) bool) (map[string][]string, error) {
	stacks := map[string][]string{}
	err := r.read(wanted, func(id string, stack []frame) {
		runs := slices.ContainsFunc(stack, func(f frame) bool { return f.kind == runFrame })
		cut := len(stack) > 0 && stack[len(stack)-1].kind != exitFrame
		if runs || cut && stacks[id] == nil {
			stacks[id] = signatures(stack, cut)
		}
	})
	return stacks, err
}

// signatures returns the frames to report, root first.
func signatures(stack []frame, cut bool) []string {
	list := make([]string, 0, len(stack)+1)
	if cut {
		list = append(list, truncated)
	}
	for _, f := range slices.Backward(stack) {
		if f.kind == code {
			list = append(list, f.signature)
		}
	}
	return list
}

// frameCache knows the frames of program counters, which never change. A program
// has so many as it has calls that samples met.
type frameCache map[uintptr]frame

// of returns the frame of a counter as goroutine profiles have it, in which
// inlined functions have counters of their own.
func (c frameCache) of(pc uintptr) frame {
	f, ok := c[pc]
	if !ok {
		r, _ := runtime.CallersFrames([]uintptr{pc}).Next()
		f = newFrame(r.Function, r.Line)
		c[pc] = f
	}
	return f
}
