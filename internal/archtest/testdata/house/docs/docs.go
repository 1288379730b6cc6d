// Package docs has one of everything, with and without a comment. Names that
// begin with Bad must be found, others not.
//
// One.
// Two.
// Three.
package docs

// Documented is.
type Documented struct {
	Field int // exported fields need nothing
	Bare  int
}

// Method is documented.
func (d *Documented) Method() {}

func (d *Documented) BadMethod() {}

func (d Documented) unexported() {}

type BadType struct{}

type hidden struct{}

func (h hidden) Exported() {}

type BadGeneric[K comparable, V any] map[K]V

func (g BadGeneric[K, V]) BadMethod() {}

func (g *BadGeneric[_, _]) BadPointer() {}

// One is a generic type with one parameter.
type One[T any] []T

func (o *One[T]) BadParens() {}

// A group of types says what the group is, not what each of them is.
type (
	BadInGroup int
	// GoodInGroup has its own.
	GoodInGroup int
	LineInGroup int // as good
	lower       int
)

// Interface methods are exempt.
type Interface interface {
	Exempt()
}

func BadFunc() {}

// GoodFunc is documented.
func GoodFunc() {}

//go:noinline
func BadDirective() {}

func init() {}

const BadConst = 1

const LineConst = 1 // is enough

// The comment of a group of constants is enough.
const (
	InGroup = iota
	Another
)

const (
	BadBare = iota
	// GoodOwn has its own.
	GoodOwn
	BadOne, BadTwo = 1, 2
	small          = 3
)

var BadVar int

var _ = 1

// GoodVar is documented.
var GoodVar int
