package duckdb

import "C"

import (
	"math"
	"unsafe"

	bind "github.com/duckdb/duckdb-go-bindings"

	"github.com/dendroprof/dendro/traceprof"
)

// snapshotFields are what dendro_snapshots returns of each snapshot: its place in
// the row, and its columns; those that only Go profiles have are 0 for dumps.
var snapshotFields = []field{
	{"place", bind.TypeInteger}, {"sequence", bind.TypeInteger}, {"time", bind.TypeBigInt},
	{"path", bind.TypeInteger}, {"count", bind.TypeBigInt}, {"nanos", bind.TypeBigInt},
}

// dendroSnapshots is called by DuckDB, on its threads, with a chunk of rows.
//
//export dendroSnapshots
func dendroSnapshots(info, input, output unsafe.Pointer) {
	if err := decodeSnapshots(chunk{bind.DataChunk{Ptr: input}}, bind.Vector{Ptr: output}); err != nil {
		bind.ScalarFunctionSetError(bind.FunctionInfo{Ptr: info}, err.Error())
	}
}

// decodeSnapshots fills a vector of lists with the snapshots of rows.
func decodeSnapshots(in chunk, out bind.Vector) error {
	data, counts, languages := column[text](in, 0), column[int32](in, 1), column[uint8](in, 2)
	valid := [3]validity{in.valid(0), in.valid(1), in.valid(2)}
	entries := unsafe.Slice((*[2]uint64)(bind.VectorGetData(out)), len(data))
	var d snapshotDecoder
	size := 0
	for row := range data {
		entries[row] = [2]uint64{uint64(size), 0}
		if !valid[0].at(row) || !valid[1].at(row) || !valid[2].at(row) {
			continue
		}
		v := traceprof.Snapshots{Language: traceprof.Language(languages[row])}
		if err := d.appendTo(&v, data[row].bytes(), int(counts[row]), math.MaxInt32); err != nil {
			return err
		}
		n := v.Len()
		entries[row][1] = uint64(n)
		// The memory of the child moves when it grows: ask for it every time.
		bind.ListVectorReserve(out, bind.IdxT(size+n))
		bind.ListVectorSetSize(out, bind.IdxT(size+n))
		child := bind.ListVectorGetChild(out)
		places := structColumn[int32](child, 0, size, n)
		for i := range places {
			places[i] = int32(i)
		}
		copy(structColumn[int32](child, 1, size, n), v.Sequence)
		copy(structColumn[int64](child, 2, size, n), v.Time)
		copy(structColumn[int32](child, 3, size, n), v.Path)
		weights := [2][]int64{structColumn[int64](child, 4, size, n), structColumn[int64](child, 5, size, n)}
		clear(weights[0])
		clear(weights[1])
		copy(weights[0], v.Count)
		copy(weights[1], v.Nanos)
		size += n
	}
	return nil
}
