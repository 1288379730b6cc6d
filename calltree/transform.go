package calltree

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// TransformKind names what a transform does to the stack of a sample. A stack is
// the frames from the root to the leaf, f a function, ok(x) says that frame x
// passes the transform's kind filter. A sample whose stack becomes empty keeps its
// place in time and is counted nowhere.
type TransformKind string

// The kinds of transforms.
const (
	// MergeFunction takes out every frame of f.
	MergeFunction TransformKind = "merge-function"
	// MergeNode walks the stack from the root along a call node path, over frames
	// that are not ok, and takes out the frame that completes the path.
	MergeNode TransformKind = "merge-node"
	// DropFunction drops samples with f anywhere in the stack.
	DropFunction TransformKind = "drop-function"
	// FocusFunction keeps what is below the outermost f, f included.
	FocusFunction TransformKind = "focus-function"
	// FocusSubtree walks like MergeNode and keeps the stack from the frame that
	// completes the path; samples elsewhere are dropped.
	FocusSubtree TransformKind = "focus-subtree"
	// FocusSubtreeInverted walks from the leaf along a path that is given leaf
	// first, and cuts off what the frame that completes it called.
	FocusSubtreeInverted TransformKind = "focus-subtree-inverted"
	// FocusSelf keeps what is below the innermost f, if nothing there is ok.
	FocusSelf TransformKind = "focus-self"
	// FocusCategory takes out every frame of another category.
	FocusCategory TransformKind = "focus-category"
	// CollapseFunction cuts off what the outermost f called.
	CollapseFunction TransformKind = "collapse-function"
	// CollapseDirectRecursion leaves one f of every run of calls of f by f; frames
	// that are not ok do not interrupt a run.
	CollapseDirectRecursion TransformKind = "collapse-direct-recursion"
	// CollapseRecursion takes out everything from the outermost f to the innermost.
	CollapseRecursion TransformKind = "collapse-recursion"
	// CollapseResource makes every function of a module one, and leaves one frame
	// of every run of it.
	CollapseResource TransformKind = "collapse-resource"
	// StackPrefix keeps samples whose stack begins with exactly these functions.
	StackPrefix TransformKind = "filter:stack-prefix"
	// StackSuffix keeps samples whose stack ends in f.
	StackSuffix TransformKind = "filter:stack-suffix"
	// FunctionInclude keeps samples with any of the functions in the stack.
	FunctionInclude TransformKind = "filter:function-include"
	// MarkerSearch keeps samples during any interval marker that a search finds.
	MarkerSearch TransformKind = "filter:marker-search"
	// OutsideMarker keeps samples outside of all of them.
	OutsideMarker TransformKind = "filter:outside-marker"
)

// transformKinds lists all kinds in the order of their documentation.
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

// Transform is one operation on the stacks of all samples. Transforms form an
// ordered list; the last one is undone by taking it off the list.
type Transform struct {
	Kind TransformKind
	// Args are the names of functions: one, a call node path (MergeNode,
	// FocusSubtree, StackPrefix; FocusSubtreeInverted leaf first), or several
	// (FunctionInclude). They are one category, one module, or one search for the
	// kinds that take such. A name means all functions of that name in the
	// profile; see Table.FunctionsNamed for how to tell them apart.
	Args []string
	// Only says which frames are ok: the kind filter under which the transform was
	// made.
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

// takesText reports whether the argument is a search, in which nothing is escaped.
func (k TransformKind) takesText() bool { return k == MarkerSearch || k == OutsideMarker }

// ParseTransform parses the text form of a transform: `KIND:ARGUMENT`, or
// `KIND@FILTER:ARGUMENT` with the name of a kind filter. Functions of a path are
// separated by `;`; a `;` or `\` of a name is written `\;` or `\\`.
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
		return fail(fmt.Errorf("unknown kind; known are %s", strings.Join(TransformKinds(), ", ")))
	}
	if !ok || arg == "" {
		return fail(errors.New("an argument is missing behind the colon"))
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

// ParsePath splits a call node path at its `;`. A `;` or `\` of a name is written
// `\;` or `\\`; before any other character a `\` stands for itself.
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

// pathEscaper writes names so that ParsePath reads them.
var pathEscaper = strings.NewReplacer(`\`, `\\`, `;`, `\;`)

// FormatPath joins names by `;` so that ParsePath reads them again.
func FormatPath(names []string) string {
	escaped := make([]string, len(names))
	for i, n := range names {
		escaped[i] = pathEscaper.Replace(n)
	}
	return strings.Join(escaped, ";")
}
