package traces

import (
	"math"

	bind "github.com/duckdb/duckdb-go-bindings"

	"github.com/dendroprof/dendro/store/duckdb/internal/driver"
	"github.com/dendroprof/dendro/traceprof"
)

// RegisterDecoders makes a function known to a database that turns rows of table
// snapshot into rows of snapshots: each with its index in the row and its columns.
// The columns that only Go profiles have are 0 for thread dumps.
//
//	dendro_snapshots(blob, n, language)
//	    STRUCT(place INTEGER, sequence INTEGER, time BIGINT, path INTEGER, count BIGINT, nanos BIGINT)[]
func RegisterDecoders(c *driver.Conn) error {
	return c.Register(driver.Decoder{
		Name:       "dendro_snapshots",
		Parameters: []bind.Type{bind.TypeBlob, bind.TypeInteger, bind.TypeUTinyInt},
		Fields: []driver.Field{
			{Name: "place", Type: bind.TypeInteger}, {Name: "sequence", Type: bind.TypeInteger}, {Name: "time", Type: bind.TypeBigInt},
			{Name: "path", Type: bind.TypeInteger}, {Name: "count", Type: bind.TypeBigInt}, {Name: "nanos", Type: bind.TypeBigInt},
		},
		Decode: decodeSnapshots,
	})
}

// decodeSnapshots fills lists with the snapshots of rows.
func decodeSnapshots(in driver.Chunk, out *driver.Lists) error {
	data, counts, languages := driver.Column[driver.Text](in, 0), driver.Column[int32](in, 1), driver.Column[uint8](in, 2)
	var d snapshotDecoder
	for row := range data {
		if !in.Valid(0).At(row) || !in.Valid(1).At(row) || !in.Valid(2).At(row) {
			continue
		}
		v := traceprof.Snapshots{Language: traceprof.Language(languages[row])}
		if err := d.appendTo(&v, data[row].Bytes(), int(counts[row]), math.MaxInt32); err != nil {
			return err
		}
		out.Grow(row, v.Len())
		for i, index := 0, driver.FieldOf[int32](out, 0); i < len(index); i++ {
			index[i] = int32(i)
		}
		copy(driver.FieldOf[int32](out, 1), v.Sequence)
		copy(driver.FieldOf[int64](out, 2), v.Time)
		copy(driver.FieldOf[int32](out, 3), v.Path)
		for field, values := range [][]int64{v.Count, v.Nanos} {
			column := driver.FieldOf[int64](out, 4+field)
			clear(column[copy(column, values):])
		}
	}
	return nil
}
