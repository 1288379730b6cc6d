package duckdb

/*
#include <stdlib.h>
#include <stdint.h>

void dendroSelf(void *info, void *input, void *output);
void dendroNodes(void *info, void *input, void *output);
void dendroSnapshots(void *info, void *input, void *output);
*/
import "C"

import (
	"fmt"
	"runtime/cgo"
	"unsafe"

	bind "github.com/duckdb/duckdb-go-bindings"

	"github.com/dendroprof/dendro/calltree"
)

// Three functions make blobs rows inside of DuckDB:
//
//	dendro_self(blob)   STRUCT(path INTEGER, self BIGINT)[]
//	dendro_nodes(blob)  STRUCT(path INTEGER, self BIGINT, total BIGINT)[], ancestors included
//	dendro_snapshots(blob, n, language)
//	                    STRUCT(place INTEGER, sequence INTEGER, time BIGINT, path INTEGER, count BIGINT, nanos BIGINT)[]
//
// They exist in this process only; the file does not mention them.

// registerDecoders makes the functions known to the instance. The handle is
// that of the Store, whose forest they walk over.
func registerDecoders(c *conn, self cgo.Handle) error {
	blob, nodes := []bind.Type{bind.TypeBlob}, []field{{"path", bind.TypeInteger}, {"self", bind.TypeBigInt}, {"total", bind.TypeBigInt}}
	for _, d := range []struct {
		name       string
		callback   unsafe.Pointer
		parameters []bind.Type
		fields     []field
	}{
		{"dendro_self", C.dendroSelf, blob, nodes[:2]},
		{"dendro_nodes", C.dendroNodes, blob, nodes},
		{"dendro_snapshots", C.dendroSnapshots, []bind.Type{bind.TypeBlob, bind.TypeInteger, bind.TypeUTinyInt}, snapshotFields},
	} {
		if err := registerDecoder(c, d.name, d.callback, self, d.parameters, d.fields); err != nil {
			return err
		}
	}
	return nil
}

// field is one of the structs that a decoder returns a list of.
type field struct {
	name string
	typ  bind.Type
}

func registerDecoder(c *conn, name string, callback unsafe.Pointer, self cgo.Handle, parameters []bind.Type, fields []field) error {
	var types []bind.LogicalType
	logical := func(t bind.Type) bind.LogicalType {
		types = append(types, bind.CreateLogicalType(t))
		return types[len(types)-1]
	}
	var names []string
	for _, f := range fields {
		logical(f.typ)
		names = append(names, f.name)
	}
	row := bind.CreateStructType(types, names)
	list := bind.CreateListType(row)
	f := bind.CreateScalarFunction()
	for _, p := range parameters {
		bind.ScalarFunctionAddParameter(f, logical(p))
	}
	defer func() {
		bind.DestroyScalarFunction(&f)
		for _, t := range append(types, list, row) {
			bind.DestroyLogicalType(&t)
		}
	}()
	// DuckDB keeps the pointer, so it points into C's memory.
	extra := C.malloc(C.size_t(unsafe.Sizeof(self)))
	*(*cgo.Handle)(extra) = self
	bind.ScalarFunctionSetName(f, name)
	bind.ScalarFunctionSetReturnType(f, list)
	bind.ScalarFunctionSetExtraInfo(f, extra, unsafe.Pointer(C.free))
	bind.ScalarFunctionSetFunction(f, callback)
	if bind.RegisterScalarFunction(c.c, f) != bind.StateSuccess {
		return fmt.Errorf("duckdb: cannot register %s", name)
	}
	return nil
}

// dendroSelf is called by DuckDB, on its threads, with a chunk of blobs.
//
//export dendroSelf
func dendroSelf(info, input, output unsafe.Pointer) { decodeChunk(info, input, output, false) }

// dendroNodes is called by DuckDB like dendroSelf.
//
//export dendroNodes
func dendroNodes(info, input, output unsafe.Pointer) { decodeChunk(info, input, output, true) }

func decodeChunk(info, input, output unsafe.Pointer, nodes bool) {
	fn := bind.FunctionInfo{Ptr: info}
	s := (*(*cgo.Handle)(bind.ScalarFunctionGetExtraInfo(fn))).Value().(*Store)
	err := fmt.Errorf("the forest is not loaded")
	if v := s.sessions.forest(); v != nil {
		err = v.decodeChunk(chunk{bind.DataChunk{Ptr: input}}, bind.Vector{Ptr: output}, nodes)
	}
	if err != nil {
		bind.ScalarFunctionSetError(fn, err.Error())
	}
}

// decodeChunk fills a vector of lists with the entries of blobs.
func (v *view) decodeChunk(in chunk, out bind.Vector, nodes bool) error {
	col, valid := column[text](in, 0), in.valid(0)
	entries := unsafe.Slice((*[2]uint64)(bind.VectorGetData(out)), len(col))
	var sw sweeper
	size := 0
	for row := range col {
		entries[row] = [2]uint64{uint64(size), 0}
		if !valid.at(row) {
			continue
		}
		vector, err := decodeVector(col[row].bytes(), len(v.rec), calltree.Vector{})
		if err != nil {
			return err
		}
		n := len(vector.Nodes)
		if nodes {
			sw.grow(len(v.rec), len(v.functions))
			sw.add(vector)
			sw.finish(v.forest.Paths.Parent)
			sw.functions(&v.forest.Paths, v.rec)
			n = len(sw.touched)
		}
		entries[row][1] = uint64(n)
		// The memory of the child moves when it grows: ask for it every time.
		bind.ListVectorReserve(out, bind.IdxT(size+n))
		bind.ListVectorSetSize(out, bind.IdxT(size+n))
		child := bind.ListVectorGetChild(out)
		paths, selfs := structColumn[int32](child, 0, size, n), structColumn[int64](child, 1, size, n)
		if !nodes {
			copy(paths, vector.Nodes)
			copy(selfs, vector.Self)
		} else {
			totals := structColumn[int64](child, 2, size, n)
			copy(paths, sw.touched)
			for i, p := range sw.touched {
				selfs[i], totals[i] = sw.self[p], sw.total[p]
			}
			sw.reset()
		}
		size += n
	}
	return nil
}

// structColumn returns n values of a field of a vector of structs.
func structColumn[T any](v bind.Vector, field, from, n int) []T {
	data := (*T)(bind.VectorGetData(bind.StructVectorGetChild(v, bind.IdxT(field))))
	return unsafe.Slice(data, from+n)[from:]
}
