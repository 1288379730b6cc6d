package columnar

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go"

	"github.com/dendroprof/dendro/store"
)

// answer has a column of every kind, in an order that is not that of their names.
func answer(rows ...[]any) *store.SQLAnswer {
	return &store.SQLAnswer{
		Columns: []string{"z", "i", "d", "dec", "t", "day", "b", "ok"},
		Types:   []string{"VARCHAR", "HUGEINT", "DOUBLE", "DECIMAL", "TIMESTAMP_NS", "DATE", "BLOB", "BOOLEAN"},
		Rows: func(yield func([]any, error) bool) {
			for _, row := range rows {
				if !yield(row, nil) {
					return
				}
			}
		},
	}
}

var (
	full = []any{"x,y", int64(-7), 2.5, "1.25", time.Date(2026, 11, 21, 1, 2, 3, 456789, time.UTC),
		time.Date(1969, 12, 31, 0, 0, 0, 0, time.UTC), []byte{0, 255}, true}
	null = []any{nil, nil, nil, nil, nil, nil, nil, nil}
)

func TestParquet(t *testing.T) {
	var buf bytes.Buffer
	if more, err := Write(t.Context(), &buf, "parquet", answer(full, null), 0); more || err != nil {
		t.Fatal(more, err)
	}
	type row struct {
		Z   *string  `parquet:"z"`
		I   *int64   `parquet:"i"`
		D   *float64 `parquet:"d"`
		Dec *float64 `parquet:"dec"`
		T   *int64   `parquet:"t,timestamp(microsecond)"`
		Day *int32   `parquet:"day,date"`
		B   []byte   `parquet:"b,optional"`
		OK  *bool    `parquet:"ok"`
	}
	got, err := parquet.Read[row](bytes.NewReader(buf.Bytes()), int64(buf.Len()))
	if err != nil {
		t.Fatal(err)
	}
	z, i, d, dec, at, day, ok := "x,y", int64(-7), 2.5, 1.25, time.Date(2026, 11, 21, 1, 2, 3, 456000, time.UTC).UnixMicro(), int32(-1), true
	if diff := cmp.Diff([]row{{&z, &i, &d, &dec, &at, &day, []byte{0, 255}, &ok}, {}}, got); diff != "" {
		t.Error(diff)
	}
	f, err := parquet.OpenFile(bytes.NewReader(buf.Bytes()), int64(buf.Len()))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, c := range f.Root().Columns() {
		names = append(names, c.Name())
	}
	if diff := cmp.Diff(answer().Columns, names); diff != "" {
		t.Error(diff)
	}
}

func TestArrow(t *testing.T) {
	var buf bytes.Buffer
	if more, err := Write(t.Context(), &buf, "arrow", answer(full, null, full), 2); !more || err != nil {
		t.Fatal(more, err)
	}
	r, err := ipc.NewReader(&buf)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Release()
	want := []string{"z: utf8 [x,y (null)]", "i: int64 [-7 (null)]", "d: float64 [2.5 (null)]", "dec: float64 [1.25 (null)]",
		"t: timestamp[us, tz=UTC] [2026-11-21T01:02:03.000456Z (null)]", "day: date32 [1969-12-31 (null)]", "b: binary [AP8= (null)]", "ok: bool [true (null)]"}
	var got []string
	for r.Next() {
		for i, field := range r.Schema().Fields() {
			col := r.RecordBatch().Column(i)
			values := make([]string, col.Len())
			for k := range values {
				values[k] = col.ValueStr(k)
			}
			got = append(got, fmt.Sprintf("%s: %s %v", field.Name, field.Type, values))
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestStream expects that rows are written before the last one is read.
func TestStream(t *testing.T) {
	for format, after := range map[string]int{"parquet": groupRows + parquetRows, "arrow": batchRows + 1} {
		var buf bytes.Buffer
		a := &store.SQLAnswer{Columns: []string{"n"}, Types: []string{"BIGINT"}}
		a.Rows = func(yield func([]any, error) bool) {
			for n := range after + 1 {
				if n == after && buf.Len() < 100 {
					t.Errorf("%s: %d rows were read, %d bytes written", format, n, buf.Len())
				}
				if !yield([]any{int64(n)}, nil) {
					return
				}
			}
		}
		if _, err := Write(t.Context(), &buf, format, a, 0); err != nil {
			t.Error(err)
		}
	}
}

func TestErrors(t *testing.T) {
	broken := errors.New("broken")
	one := func(typ string, v any) *store.SQLAnswer {
		return &store.SQLAnswer{Columns: []string{"c"}, Types: []string{typ}, Rows: func(yield func([]any, error) bool) { yield([]any{v}, nil) }}
	}
	failing := one("BIGINT", nil)
	failing.Rows = iter.Seq2[[]any, error](func(yield func([]any, error) bool) { yield(nil, broken) })
	twice := &store.SQLAnswer{Columns: []string{"a", "a"}, Types: []string{"BIGINT", "BIGINT"}}
	for want, a := range map[string]*store.SQLAnswer{
		`row 1: column c: 170141183460469231731687303715884105727 does not fit in 64 bits`: one("HUGEINT", "170141183460469231731687303715884105727"),
		`row 1: column c: a value of type int64`:                                           one("BLOB", int64(1)),
		`invalid syntax`:                                                                   one("DECIMAL", "x"),
		`broken`:                                                                           failing,
		`two columns are named "a": rename one`:                                            twice,
	} {
		for _, format := range []string{"parquet", "arrow"} {
			if _, err := Write(t.Context(), &bytes.Buffer{}, format, a, 0); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: got %v, want %s", format, err, want)
			}
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Write(ctx, &bytes.Buffer{}, "arrow", one("BIGINT", int64(1)), 0); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
