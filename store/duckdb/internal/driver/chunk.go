package driver

import (
	"context"
	"unsafe"

	bind "github.com/duckdb/duckdb-go-bindings"
)

// Chunk is a part of a result: up to some thousand rows as columns in DuckDB's
// memory.
type Chunk struct{ c bind.DataChunk }

// Fetch returns the next chunk of a result, to be destroyed; ok is false at the end
// and after an error.
func Fetch(res *bind.Result) (ch Chunk, ok bool) {
	ch = Chunk{bind.FetchChunk(*res)}
	return ch, ch.c.Ptr != nil
}

// Destroy frees the chunk's memory.
func (ch *Chunk) Destroy() { bind.DestroyDataChunk(&ch.c) }

// Len returns the number of rows.
func (ch Chunk) Len() int { return int(bind.DataChunkGetSize(ch.c)) }

// Column returns a column of fixed width as a slice over DuckDB's memory. T must
// have the size of the column's type.
func Column[T any](ch Chunk, i int) []T {
	v := bind.DataChunkGetVector(ch.c, bind.IdxT(i))
	return unsafe.Slice((*T)(bind.VectorGetData(v)), ch.Len())
}

// Valid returns which rows of a column are not NULL.
func (ch Chunk) Valid(i int) Validity {
	v := bind.DataChunkGetVector(ch.c, bind.IdxT(i))
	p := bind.VectorGetValidity(v)
	if p == nil {
		return nil
	}
	return unsafe.Slice((*uint64)(p), (ch.Len()+63)/64)
}

// Validity has a bit for each row that is not NULL; nil: all are not.
type Validity []uint64

// At reports whether a row is not NULL.
func (v Validity) At(row int) bool { return v == nil || v[row/64]>>(row%64)&1 == 1 }

// Text is DuckDB's string_t: a short text is stored inside, a long one behind the
// pointer. It must be read in DuckDB's memory, not copied.
type Text struct {
	length uint32
	inline [4]byte
	data   unsafe.Pointer
}

// Bytes returns the content, which belongs to DuckDB.
func (t *Text) Bytes() []byte {
	if t.length <= 12 {
		return unsafe.Slice(&t.inline[0], 12)[:t.length]
	}
	return unsafe.Slice((*byte)(t.data), t.length)
}

// String returns a copy of the content.
func (t *Text) String() string { return string(t.Bytes()) }

// Texts copies a VARCHAR column; NULL becomes the empty string.
func (ch Chunk) Texts(i int) []string {
	col, ok := Column[Text](ch, i), ch.Valid(i)
	list := make([]string, len(col))
	for row := range col {
		if ok.At(row) {
			list[row] = col[row].String()
		}
	}
	return list
}

// TextLists copies a VARCHAR[] column; NULL becomes the empty list.
func (ch Chunk) TextLists(i int) [][]string {
	v, ok := bind.DataChunkGetVector(ch.c, bind.IdxT(i)), ch.Valid(i)
	entries := unsafe.Slice((*[2]uint64)(bind.VectorGetData(v)), ch.Len())
	texts := unsafe.Slice((*Text)(bind.VectorGetData(bind.ListVectorGetChild(v))), int(bind.ListVectorGetSize(v)))
	list := make([][]string, len(entries))
	for row, e := range entries {
		if !ok.At(row) {
			continue
		}
		for k := e[0]; k < e[0]+e[1]; k++ {
			list[row] = append(list[row], texts[k].String())
		}
	}
	return list
}

// TextMaps copies a MAP(VARCHAR, VARCHAR) column.
func (ch Chunk) TextMaps(i int) []map[string]string {
	v := bind.DataChunkGetVector(ch.c, bind.IdxT(i))
	entries := unsafe.Slice((*[2]uint64)(bind.VectorGetData(v)), ch.Len())
	child := bind.ListVectorGetChild(v)
	size := int(bind.ListVectorGetSize(v))
	keys := unsafe.Slice((*Text)(bind.VectorGetData(bind.StructVectorGetChild(child, 0))), size)
	values := unsafe.Slice((*Text)(bind.VectorGetData(bind.StructVectorGetChild(child, 1))), size)
	list := make([]map[string]string, len(entries))
	for row, e := range entries {
		if e[1] == 0 {
			continue
		}
		m := make(map[string]string, e[1])
		for k := e[0]; k < e[0]+e[1]; k++ {
			m[keys[k].String()] = values[k].String()
		}
		list[row] = m
	}
	return list
}

// Number returns the BIGINT in the first row and column of a result.
func (c *Conn) Number(ctx context.Context, sql string) (n int64, err error) {
	err = c.Query(ctx, sql, nil, func(ch Chunk) error {
		n = Column[int64](ch, 0)[0]
		return nil
	})
	return n, err
}
