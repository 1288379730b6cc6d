package driver

/*
#include <stdlib.h>

void dendroDecode(void *info, void *input, void *output);
void dendroForget(void *extra);
*/
import "C"

import (
	"fmt"
	"runtime/cgo"
	"unsafe"

	bind "github.com/duckdb/duckdb-go-bindings"
)

// Field is a field of the structs that a decoder returns.
type Field struct {
	Name string
	Type bind.Type
}

// Decoder is a scalar function that returns a list of structs for each row of its
// parameters. It exists while the database is open; the file does not mention it.
type Decoder struct {
	Name       string
	Parameters []bind.Type
	Fields     []Field
	Decode     func(in Chunk, out *Lists) error // on DuckDB's threads, several at once
}

// Register makes a decoder known to the database.
func (c *Conn) Register(d Decoder) error {
	var types []bind.LogicalType
	logical := func(t bind.Type) bind.LogicalType {
		types = append(types, bind.CreateLogicalType(t))
		return types[len(types)-1]
	}
	var fields []bind.LogicalType
	var names []string
	for _, f := range d.Fields {
		fields, names = append(fields, logical(f.Type)), append(names, f.Name)
	}
	row := bind.CreateStructType(fields, names)
	list := bind.CreateListType(row)
	f := bind.CreateScalarFunction()
	for _, p := range d.Parameters {
		bind.ScalarFunctionAddParameter(f, logical(p))
	}
	defer func() {
		bind.DestroyScalarFunction(&f)
		for _, t := range append(types, list, row) {
			bind.DestroyLogicalType(&t)
		}
	}()
	// DuckDB keeps the pointer until it calls dendroForget, so it points to C's memory.
	extra := C.malloc(C.size_t(unsafe.Sizeof(cgo.Handle(0))))
	*(*cgo.Handle)(extra) = cgo.NewHandle(d.Decode)
	bind.ScalarFunctionSetName(f, d.Name)
	bind.ScalarFunctionSetReturnType(f, list)
	bind.ScalarFunctionSetExtraInfo(f, extra, unsafe.Pointer(C.dendroForget))
	bind.ScalarFunctionSetFunction(f, unsafe.Pointer(C.dendroDecode))
	if bind.RegisterScalarFunction(c.Handle, f) != bind.StateSuccess {
		return fmt.Errorf("duckdb: cannot register %s", d.Name)
	}
	return nil
}

// dendroForget is called by DuckDB when it destroys a function.
//
//export dendroForget
func dendroForget(extra unsafe.Pointer) {
	(*(*cgo.Handle)(extra)).Delete()
	C.free(extra)
}

// dendroDecode is called by DuckDB, on its threads, with a chunk of parameters.
//
//export dendroDecode
func dendroDecode(info, input, output unsafe.Pointer) {
	fn := bind.FunctionInfo{Ptr: info}
	decode := (*(*cgo.Handle)(bind.ScalarFunctionGetExtraInfo(fn))).Value().(func(Chunk, *Lists) error)
	in := Chunk{bind.DataChunk{Ptr: input}}
	out := &Lists{v: bind.Vector{Ptr: output}}
	out.entries = unsafe.Slice((*[2]uint64)(bind.VectorGetData(out.v)), in.Len())
	clear(out.entries)
	if err := decode(in, out); err != nil {
		bind.ScalarFunctionSetError(fn, err.Error())
	}
}

// Lists is the result of a decoder: a list of structs for each row. Lists are empty
// until Grow.
type Lists struct {
	v       bind.Vector
	entries [][2]uint64
	size, n int
}

// Grow makes the list of a row n structs long. Rows must be grown in order.
func (l *Lists) Grow(row, n int) {
	l.entries[row] = [2]uint64{uint64(l.size), uint64(n)}
	l.size, l.n = l.size+n, n
	bind.ListVectorReserve(l.v, bind.IdxT(l.size))
	bind.ListVectorSetSize(l.v, bind.IdxT(l.size))
}

// FieldOf returns a field of all structs of the row that grew last, to be filled in
// before the next row grows: the memory moves then.
func FieldOf[T any](l *Lists, field int) []T {
	child := bind.StructVectorGetChild(bind.ListVectorGetChild(l.v), bind.IdxT(field))
	return unsafe.Slice((*T)(bind.VectorGetData(child)), l.size)[l.size-l.n:]
}
