package driver

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"time"
	"unsafe"

	bind "github.com/duckdb/duckdb-go-bindings"
)

// appender writes rows of one table in chunks of columns.
type appender struct {
	a     bind.Appender
	chunk bind.DataChunk
	types []bind.LogicalType
}

// appender returns the connection's appender of a table in schema main.
func (c *Conn) appender(catalog, table string) (*appender, error) {
	key := catalog + "." + table
	if a, ok := c.appenders[key]; ok {
		return a, nil
	}
	a := &appender{}
	if bind.AppenderCreateExt(c.Handle, catalog, "main", table, &a.a) != bind.StateSuccess {
		err := &Error{message: bind.AppenderError(a.a), sql: "append to " + table}
		bind.AppenderDestroy(&a.a)
		return nil, err
	}
	for i := range bind.AppenderColumnCount(a.a) {
		a.types = append(a.types, bind.AppenderColumnType(a.a, i))
	}
	a.chunk = bind.CreateDataChunk(a.types)
	c.appenders[key] = a
	return a, nil
}

func (a *appender) destroy() {
	bind.DestroyDataChunk(&a.chunk)
	for i := range a.types {
		bind.DestroyLogicalType(&a.types[i])
	}
	bind.AppenderDestroy(&a.a)
}

// cell returns one value of a column, which stays as it is.
func cell(column any, row int) any {
	if blobs, ok := column.([][]byte); ok {
		return slices.Clone(blobs[row])
	}
	return reflect.ValueOf(column).Index(row).Interface()
}

// appendChunks writes rows with an appender.
func (c *Conn) appendChunks(catalog, table string, n int, columns []any) error {
	if n == 0 {
		return nil
	}
	if err := c.enter(); err != nil {
		return err
	}
	a, err := c.appender(catalog, table)
	if err != nil {
		return err
	}
	if len(columns) != len(a.types) {
		panic("duckdb: columns of " + table)
	}
	step := int(bind.VectorSize())
	for from := 0; from < n; from += step {
		to := min(from+step, n)
		bind.DataChunkReset(a.chunk)
		for i, col := range columns {
			fillVector(bind.DataChunkGetVector(a.chunk, bind.IdxT(i)), col, from, to)
		}
		bind.DataChunkSetSize(a.chunk, bind.IdxT(to-from))
		if bind.AppendDataChunk(a.a, a.chunk) != bind.StateSuccess {
			return &Error{message: bind.AppenderError(a.a), sql: "append to " + table}
		}
	}
	if bind.AppenderFlush(a.a) != bind.StateSuccess {
		return &Error{message: bind.AppenderError(a.a), sql: "append to " + table}
	}
	return nil
}

// fillVector copies rows from..to of a column into a vector.
func fillVector(v bind.Vector, column any, from, to int) {
	switch col := column.(type) {
	case []int32:
		copyVector(v, col[from:to])
	case []int64:
		copyVector(v, col[from:to])
	case []uint8:
		copyVector(v, col[from:to])
	case []float64:
		copyVector(v, col[from:to])
	case []bool:
		copyVector(v, col[from:to])
	case []string:
		for i, s := range col[from:to] {
			bind.VectorAssignStringElement(v, bind.IdxT(i), s)
		}
	case [][]byte:
		for i, b := range col[from:to] {
			bind.UnsafeVectorAssignStringElementLen(v, bind.IdxT(i), b)
		}
	case []time.Time:
		fillTimes(v, col[from:to])
	case []map[string]string:
		fillMaps(v, col[from:to])
	default:
		panic(fmt.Sprintf("duckdb: column of type %T", column))
	}
}

func copyVector[T any](v bind.Vector, rows []T) {
	copy(unsafe.Slice((*T)(bind.VectorGetData(v)), len(rows)), rows)
}

// fillTimes makes the zero time NULL.
func fillTimes(v bind.Vector, rows []time.Time) {
	data := unsafe.Slice((*int64)(bind.VectorGetData(v)), len(rows))
	for i, t := range rows {
		if t.IsZero() {
			bind.VectorEnsureValidityWritable(v)
			bind.ValiditySetRowInvalid(bind.VectorGetValidity(v), bind.IdxT(i))
			continue
		}
		data[i] = t.UnixNano()
	}
}

func fillMaps(v bind.Vector, rows []map[string]string) {
	size := 0
	for _, m := range rows {
		size += len(m)
	}
	bind.ListVectorReserve(v, bind.IdxT(size))
	bind.ListVectorSetSize(v, bind.IdxT(size))
	entries := unsafe.Slice((*[2]uint64)(bind.VectorGetData(v)), len(rows))
	child := bind.ListVectorGetChild(v)
	keys, values := bind.StructVectorGetChild(child, 0), bind.StructVectorGetChild(child, 1)
	next := 0
	for i, m := range rows {
		entries[i] = [2]uint64{uint64(next), uint64(len(m))}
		for _, k := range slices.Sorted(maps.Keys(m)) {
			bind.VectorAssignStringElement(keys, bind.IdxT(next), k)
			bind.VectorAssignStringElement(values, bind.IdxT(next), m[k])
			next++
		}
	}
}
