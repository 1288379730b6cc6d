package columnar

import (
	"io"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// batchRows are the rows of a record batch.
const batchRows = 1 << 13

// arrowWriter writes a stream of record batches.
type arrowWriter struct {
	w *ipc.Writer
	b *array.RecordBuilder
	n int
}

func newArrow(w io.Writer, columns []column) *arrowWriter {
	fields := make([]arrow.Field, len(columns))
	for i, c := range columns {
		fields[i] = arrow.Field{Name: c.name, Type: arrowTypes[c.kind], Nullable: true}
	}
	schema := arrow.NewSchema(fields, nil)
	return &arrowWriter{w: ipc.NewWriter(w, ipc.WithSchema(schema)), b: array.NewRecordBuilder(memory.DefaultAllocator, schema)}
}

var arrowTypes = map[kind]arrow.DataType{text: arrow.BinaryTypes.String, boolean: arrow.FixedWidthTypes.Boolean,
	integer: arrow.PrimitiveTypes.Int64,
	double:  arrow.PrimitiveTypes.Float64, timestamp: arrow.FixedWidthTypes.Timestamp_us, date: arrow.FixedWidthTypes.Date32,
	binary: arrow.BinaryTypes.Binary}

func (a *arrowWriter) write(values []any) error {
	for i, v := range values {
		if v == nil {
			a.b.Field(i).AppendNull()
			continue
		}
		switch b := a.b.Field(i).(type) {
		case *array.BooleanBuilder:
			b.Append(v.(bool))
		case *array.Int64Builder:
			b.Append(v.(int64))
		case *array.Float64Builder:
			b.Append(v.(float64))
		case *array.TimestampBuilder:
			b.Append(arrow.Timestamp(v.(int64)))
		case *array.Date32Builder:
			b.Append(arrow.Date32(v.(int64)))
		case *array.BinaryBuilder:
			b.Append(v.([]byte))
		case *array.StringBuilder:
			b.Append(v.(string))
		}
	}
	if a.n++; a.n < batchRows {
		return nil
	}
	return a.flush()
}

func (a *arrowWriter) flush() error {
	record := a.b.NewRecordBatch()
	a.n = 0
	return a.w.Write(record)
}

func (a *arrowWriter) close() error {
	if a.n > 0 {
		if err := a.flush(); err != nil {
			return err
		}
	}
	return a.w.Close()
}
