package calltree

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/dendroprof/dendro/internal/column"
)

// TransformKind names an operation on the stack of a sample. A stack is the frames from
// the root to the leaf, f a function; a frame is ok if it passes the transform's kind
// filter. A sample whose stack becomes empty keeps its place in time but does not
// count.
type TransformKind string

// The kinds of transforms.
const (
	// MergeFunction removes every frame of f.
	MergeFunction TransformKind = "merge-function"
	// MergeNode follows a call node path from the root, skipping frames that are not
	// ok, and removes the frame that completes the path.
	MergeNode TransformKind = "merge-node"
	// DropFunction drops samples with f anywhere in the stack.
	DropFunction TransformKind = "drop-function"
	// FocusFunction keeps the frames from the outermost f down.
	FocusFunction TransformKind = "focus-function"
	// FocusSubtree follows a path like MergeNode, keeps the frames from the one that
	// completes it, and drops other samples.
	FocusSubtree TransformKind = "focus-subtree"
	// FocusSubtreeInverted follows a path, given leaf first, from the leaf, and
	// removes the callees of the frame that completes it.
	FocusSubtreeInverted TransformKind = "focus-subtree-inverted"
	// FocusSelf keeps the frames from the innermost f down, if none below it is ok.
	FocusSelf TransformKind = "focus-self"
	// FocusCategory removes every frame of another category.
	FocusCategory TransformKind = "focus-category"
	// CollapseFunction removes the callees of the outermost f.
	CollapseFunction TransformKind = "collapse-function"
	// CollapseDirectRecursion keeps one f of every run of calls of f by f; frames
	// that are not ok do not interrupt a run.
	CollapseDirectRecursion TransformKind = "collapse-direct-recursion"
	// CollapseRecursion removes all frames from the outermost f to the innermost. With
	// the argument EveryFunction it does so for each function, from the root on.
	CollapseRecursion TransformKind = "collapse-recursion"
	// CollapseResource replaces the functions of a module by one, and keeps one frame
	// of every run of it.
	CollapseResource TransformKind = "collapse-resource"
	// StackPrefix keeps samples whose stack begins with exactly these functions.
	StackPrefix TransformKind = "filter:stack-prefix"
	// StackSuffix keeps samples whose stack ends in f.
	StackSuffix TransformKind = "filter:stack-suffix"
	// FunctionInclude keeps samples with any of the functions in the stack.
	FunctionInclude TransformKind = "filter:function-include"
	// MarkerSearch keeps samples during the interval markers that match a search.
	MarkerSearch TransformKind = "filter:marker-search"
	// OutsideMarker keeps samples outside of these markers.
	OutsideMarker TransformKind = "filter:outside-marker"
)

// EveryFunction is the argument of CollapseRecursion that stands for each function.
const EveryFunction = "*"

// transformKinds lists all kinds in the order of the documentation.
var transformKinds = []TransformKind{MergeFunction, MergeNode, DropFunction, FocusFunction, FocusSubtree, FocusSubtreeInverted,
	FocusSelf, FocusCategory, CollapseFunction, CollapseDirectRecursion, CollapseRecursion, CollapseResource,
	StackPrefix, StackSuffix, FunctionInclude, MarkerSearch, OutsideMarker}

// TransformKinds returns the names of all kinds, for help and completion.
func TransformKinds() []string {
	var names []string
	for _, k := range transformKinds {
		names = append(names, string(k))
	}
	return names
}

// Transform is one operation on the stacks of all samples. Transforms form an ordered
// list; removing the last one undoes it.
type Transform struct {
	Kind TransformKind
	// Args are names of functions: one, a call node path (MergeNode, FocusSubtree,
	// StackPrefix; FocusSubtreeInverted leaf first), or several (FunctionInclude).
	// Other kinds have one category, module, or search. A name means all functions
	// of that name; see Table.FunctionsNamed for how to distinguish them.
	Args []string
	// Only is the kind filter that selects the frames that are ok.
	Only KindFilter
}

// takesPath reports whether the argument is a list of functions.
func (k TransformKind) takesPath() bool {
	switch k {
	case MergeNode, FocusSubtree, FocusSubtreeInverted, StackPrefix, FunctionInclude:
		return true
	}
	return false
}

// takesText reports whether the argument is a search, which has no escapes.
func (k TransformKind) takesText() bool { return k == MarkerSearch || k == OutsideMarker }

// ParseTransform parses the text form of a transform: `KIND:ARGUMENT`, or
// `KIND@FILTER:ARGUMENT` with the name of a kind filter. Functions of a path are
// separated by `;`; see ParsePath for escapes.
func ParseTransform(text string) (Transform, error) {
	fail := func(err error) (Transform, error) { return Transform{}, fmt.Errorf("transform %q: %w", text, err) }
	head, arg, ok := strings.Cut(text, ":")
	if head == "filter" || strings.HasPrefix(head, "filter@") {
		var which string
		which, arg, ok = strings.Cut(arg, ":")
		name, only, _ := strings.Cut(head, "@")
		if which, hasOnly, found := strings.Cut(which, "@"); found {
			head = name + ":" + which + "@" + hasOnly
		} else {
			head = name + ":" + which + "@" + only
		}
	}
	name, only, _ := strings.Cut(head, "@")
	t := Transform{Kind: TransformKind(name)}
	if !slices.Contains(transformKinds, t.Kind) {
		return fail(fmt.Errorf("unknown kind; want one of %s", strings.Join(TransformKinds(), ", ")))
	}
	if !ok || arg == "" {
		return fail(errors.New("missing argument after the colon"))
	}
	var err error
	if t.Only, err = ParseKindFilter(only); err != nil {
		return fail(err)
	}
	switch {
	case t.Kind.takesText():
		t.Args = []string{arg}
	case t.Kind.takesPath():
		if t.Args, err = ParsePath(arg); err != nil {
			return fail(err)
		}
	default:
		names := splitPath(arg)
		t.Args = []string{strings.Join(names, ";")}
	}
	return t, nil
}

// String returns the text form that ParseTransform reads.
func (t Transform) String() string {
	var b strings.Builder
	b.WriteString(string(t.Kind))
	if t.Only != AllKinds {
		b.WriteString("@" + string(t.Only))
	}
	b.WriteByte(':')
	if t.Kind.takesText() {
		b.WriteString(strings.Join(t.Args, ","))
	} else {
		b.WriteString(FormatPath(t.Args))
	}
	return b.String()
}

// ParsePath splits a call node path at `;`. `\;` and `\\` stand for `;` and `\` in a
// name; before any other character `\` stands for itself.
func ParsePath(text string) ([]string, error) {
	names := splitPath(text)
	if slices.Contains(names, "") {
		return nil, fmt.Errorf("path %q has an empty name", text)
	}
	return names, nil
}

func splitPath(text string) []string {
	var names []string
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case c == '\\' && i+1 < len(text) && (text[i+1] == ';' || text[i+1] == '\\'):
			i++
			b.WriteByte(text[i])
		case c == ';':
			names = append(names, b.String())
			b.Reset()
		default:
			b.WriteByte(c)
		}
	}
	return append(names, b.String())
}

// pathEscaper escapes names for ParsePath.
var pathEscaper = strings.NewReplacer(`\`, `\\`, `;`, `\;`)

// FormatPath joins names with `;` so that ParsePath can split them.
func FormatPath(names []string) string {
	escaped := column.Of(names, pathEscaper.Replace)
	return strings.Join(escaped, ";")
}
