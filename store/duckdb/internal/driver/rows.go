package driver

import (
	"bytes"
	"context"
	"fmt"
	"reflect"
	"time"
)

// Rows runs a statement and calls f after each row of its result was copied to dest, which has a
// pointer for each column, to a value of its width. NULL becomes an empty text, list or map, or no
// time; numbers must not be NULL.
func (c *Conn) Rows(ctx context.Context, sql string, args, dest []any, f func() error) error {
	return c.Query(ctx, sql, args, func(ch Chunk) error {
		copies := make([]func(row int), len(dest))
		for i, d := range dest {
			copies[i] = ch.copier(i, d)
		}
		for row := range ch.Len() {
			for _, cell := range copies {
				cell(row)
			}
			if err := f(); err != nil {
				return err
			}
		}
		return nil
	})
}

// copier returns a function that copies the value of a row in a column.
func (ch Chunk) copier(i int, dest any) func(row int) {
	switch to := dest.(type) {
	case *int32:
		return copyFrom(Column[int32](ch, i), to)
	case *int64:
		return copyFrom(Column[int64](ch, i), to)
	case *uint8:
		return copyFrom(Column[uint8](ch, i), to)
	case *float64:
		return copyFrom(Column[float64](ch, i), to)
	case *bool:
		return copyFrom(Column[bool](ch, i), to)
	case *string:
		return copyFrom(ch.Texts(i), to)
	case *[]string:
		return copyFrom(ch.TextLists(i), to)
	case *map[string]string:
		return copyFrom(ch.TextMaps(i), to)
	case **Text: // valid during the call of f
		column := Column[Text](ch, i)
		return func(row int) { *to = &column[row] }
	case *[]byte:
		column := Column[Text](ch, i)
		return func(row int) { *to = bytes.Clone(column[row].Bytes()) }
	case *time.Time:
		column, ok := Column[int64](ch, i), ch.Valid(i)
		return func(row int) {
			if *to = (time.Time{}); ok.At(row) {
				*to = time.Unix(0, column[row]).UTC()
			}
		}
	}
	panic(fmt.Sprintf("duckdb: %T for a column", dest))
}

func copyFrom[T any](column []T, to *T) func(row int) {
	return func(row int) { *to = column[row] }
}

// Insert writes rows as Append does. Fields returns pointers to what a row has in the columns.
func Insert[T any](c *Conn, catalog, table string, rows []T, fields func(row *T) []any) error {
	var columns []reflect.Value
	for i := range rows {
		for k, field := range fields(&rows[i]) {
			value := reflect.ValueOf(field).Elem()
			if i == 0 {
				columns = append(columns, reflect.MakeSlice(reflect.SliceOf(value.Type()), len(rows), len(rows)))
			}
			columns[k].Index(i).Set(value)
		}
	}
	list := make([]any, len(columns))
	for k, column := range columns {
		list[k] = column.Interface()
	}
	return c.Append(catalog, table, len(rows), list...)
}

// Meta returns the value of a key of table meta; empty if there is none.
func (c *Conn) Meta(ctx context.Context, key string) (value string, err error) {
	err = c.Rows(ctx, "SELECT value FROM meta WHERE key = ?", []any{key}, []any{&value}, func() error { return nil })
	return value, err
}

// SetMeta sets the value of a key of table meta.
func (c *Conn) SetMeta(ctx context.Context, key, value string) error {
	if err := c.Query(ctx, "DELETE FROM meta WHERE key = ?", []any{key}, nil); err != nil {
		return err
	}
	return c.Query(ctx, "INSERT INTO meta VALUES (?, ?)", []any{key, value}, nil)
}
