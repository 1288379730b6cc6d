package querier

import (
	"context"
	"regexp"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/internal/cost"
)

// stackFilter selects stacks: those that begin with the functions of a call site, that have a
// function of each included condition, and none of the excluded ones, at any place.
type stackFilter struct {
	callSite         []string
	include, exclude []condition
}

// condition is what a function is compared with: a name, or a pattern of some part of one.
type condition struct {
	name    string
	pattern *regexp.Regexp // nil: the whole name
	size    int64          // instructions of the pattern
}

// The limits of a filter: included conditions are bits of a word.
const (
	maxConditions = 64
	maxPattern    = 1000
	maxCallSite   = 10_000 // functions; pushed stacks have 2048 frames by default
)

// filter returns the filter of a selector; nil: all stacks.
func (s *stackTraceSelector) filter() (*stackFilter, error) {
	if s.GoPGO != nil {
		return nil, unsupported("go_pgo: windows keep functions and no lines; dendro export --service NAME -o default.pgo has both")
	}
	if n := len(s.CallSite); n > maxCallSite {
		return nil, invalid("call_site: %d functions: the maximum is %d", n, maxCallSite)
	}
	f := &stackFilter{}
	for _, site := range s.CallSite {
		f.callSite = append(f.callSite, site.Name)
	}
	var err error
	if f.include, err = conditions("include", s.Frames.Include, s.Frames.IncludePatterns); err != nil {
		return nil, err
	}
	if f.exclude, err = conditions("exclude", s.Frames.Exclude, s.Frames.ExcludePatterns); err != nil {
		return nil, err
	}
	if len(f.callSite)+len(f.include)+len(f.exclude) == 0 {
		return nil, nil
	}
	return f, nil
}

// conditions returns those of one side of a frame filter.
func conditions(side string, names, patterns []string) (list []condition, err error) {
	if n := len(names) + len(patterns); n > maxConditions {
		return nil, invalid("frame_filter: %s has %d names and patterns: the maximum is %d", side, n, maxConditions)
	}
	for _, name := range names {
		list = append(list, condition{name: name})
	}
	left := int64(maxPattern)
	for _, text := range patterns {
		c := condition{}
		if c.size, err = cost.PatternSize(text); err != nil {
			return nil, invalid("frame_filter: %s: %.300s", side, err)
		}
		if left -= c.size; left < 0 {
			return nil, invalid("frame_filter: %s: the patterns have more than %d instructions: shorten them", side, maxPattern)
		}
		if c.pattern, err = regexp.Compile(text); err != nil {
			return nil, invalid("frame_filter: %s: %.300s", side, err)
		}
		list = append(list, c)
	}
	return list, nil
}

// matches reports whether a name meets a condition. Steps of patterns are counted.
func (c *condition) matches(ctx context.Context, name string) (bool, error) {
	if c.pattern == nil {
		return c.name == name, nil
	}
	if err := cost.Of(ctx).Spend(cost.Steps, c.size*int64(len(name)+1)); err != nil {
		return false, err
	}
	return c.pattern.MatchString(name), nil
}

// function returns the name of the function whose total the filter selects; empty: it selects
// something else.
func (f *stackFilter) function() string {
	if f == nil || len(f.callSite)+len(f.exclude) > 0 || len(f.include) != 1 {
		return ""
	}
	return f.include[0].name
}

// masks returns for each function the conditions that it meets.
func masks(ctx context.Context, t *calltree.Tree, list []condition) ([]uint64, error) {
	m := make([]uint64, len(t.Functions))
	for fn := range t.Functions {
		for i := range list {
			ok, err := list[i].matches(ctx, t.Functions[fn].Name)
			if err != nil {
				return nil, err
			}
			if ok {
				m[fn] |= 1 << i
			}
		}
	}
	return m, nil
}

// of returns a tree with only the samples whose stacks the filter selects.
func (f *stackFilter) of(ctx context.Context, t *calltree.Tree) (*calltree.Tree, error) {
	include, err := masks(ctx, t, f.include)
	if err != nil {
		return nil, err
	}
	exclude, err := masks(ctx, t, f.exclude)
	if err != nil {
		return nil, err
	}
	first, end := int32(0), int32(t.Len())
	if len(f.callSite) > 0 {
		if n, ok := t.FindPath(f.callSite); ok {
			first, end = n, t.End[n]
		} else {
			end = 0
		}
	}
	const all = ^uint64(0)
	wanted := all >> (maxConditions - len(f.include)) // none: 0
	self, has, barred := make([]int64, t.Len()), make([]uint64, t.Len()), make([]bool, t.Len())
	for n := range int32(t.Len()) { // parents before children
		has[n], barred[n] = include[t.Func[n]], exclude[t.Func[n]] != 0
		if p := t.Parent[n]; p != calltree.NoNode {
			has[n], barred[n] = has[n]|has[p], barred[n] || barred[p]
		}
		if n >= first && n < end && has[n] == wanted && !barred[n] {
			self[n] = t.Self[n]
		}
	}
	return calltree.NewTree(t.Table, t.Type, self), nil
}
