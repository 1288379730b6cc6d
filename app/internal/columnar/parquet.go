package columnar

import (
	"cmp"
	"io"
	"slices"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress/zstd"
)

const (
	groupRows   = 1 << 18 // of a row group, which is in memory until it is written
	parquetRows = 1 << 10 // rows that are written together
)

// parquetWriter writes a Parquet file.
type parquetWriter struct {
	w       *parquet.GenericWriter[any]
	columns []column
	rows    []parquet.Row
}

func newParquet(w io.Writer, columns []column) *parquetWriter {
	group := ordered{Group: parquet.Group{}, at: map[string]int{}}
	for i, c := range columns {
		group.Group[c.name], group.at[c.name] = parquet.Optional(node(c.kind)), i
	}
	return &parquetWriter{columns: columns, w: parquet.NewGenericWriter[any](w, parquet.NewSchema("result", group),
		parquet.Compression(&zstd.Codec{Level: zstd.SpeedFastest}),
		parquet.MaxRowsPerRowGroup(groupRows), parquet.DefaultEncodingFor(parquet.ByteArray, &parquet.Plain))}
}

// ordered is a group with columns in the order of the result, not of their names.
type ordered struct {
	parquet.Group
	at map[string]int
}

// Fields implements parquet.Node.
func (g ordered) Fields() []parquet.Field {
	fields := g.Group.Fields()
	slices.SortFunc(fields, func(a, b parquet.Field) int { return cmp.Compare(g.at[a.Name()], g.at[b.Name()]) })
	return fields
}

func node(k kind) parquet.Node {
	switch k {
	case boolean:
		return parquet.Leaf(parquet.BooleanType)
	case integer:
		return parquet.Encoded(parquet.Int(64), &parquet.RLEDictionary)
	case double:
		return parquet.Leaf(parquet.DoubleType)
	case timestamp:
		return parquet.Timestamp(parquet.Microsecond)
	case date:
		return parquet.Date()
	case binary:
		return parquet.Leaf(parquet.ByteArrayType)
	}
	return parquet.Encoded(parquet.String(), &parquet.RLEDictionary)
}

func (p *parquetWriter) write(values []any) error {
	row := make(parquet.Row, len(values))
	for i, v := range values {
		if v == nil {
			row[i] = parquet.NullValue().Level(0, 0, i)
			continue
		}
		if days, ok := v.(int64); ok && p.columns[i].kind == date {
			v = int32(days)
		}
		row[i] = parquet.ValueOf(v).Level(0, 1, i)
	}
	if p.rows = append(p.rows, row); len(p.rows) < parquetRows {
		return nil
	}
	return p.flush()
}

func (p *parquetWriter) flush() error {
	_, err := p.w.WriteRows(p.rows)
	p.rows = p.rows[:0]
	return err
}

func (p *parquetWriter) close() error {
	if err := p.flush(); err != nil {
		return err
	}
	return p.w.Close()
}
