// Package columnar writes results of SQL as Parquet files and as streams of Arrow's IPC
// format, while rows arrive.
//
// Integers are 64 bits wide, decimals are doubles, times are UTC in microseconds, and
// what has no type of its own here (lists, maps, intervals) is text. The package runs no
// query and knows none of the tables.
package columnar

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/dendroprof/dendro/store"
)

// kind is the type of a column.
type kind int

const (
	text kind = iota
	boolean
	integer
	double
	timestamp
	date
	binary
)

// kinds are the kinds of DuckDB's types; others are text.
var kinds = map[string]kind{"BOOLEAN": boolean, "TINYINT": integer, "SMALLINT": integer, "INTEGER": integer, "BIGINT": integer,
	"HUGEINT":  integer,
	"UTINYINT": integer, "USMALLINT": integer, "UINTEGER": integer, "UBIGINT": integer, "UHUGEINT": integer, "FLOAT": double, "DOUBLE": double,
	"DECIMAL": double, "TIMESTAMP": timestamp, "TIMESTAMP_S": timestamp, "TIMESTAMP_MS": timestamp, "TIMESTAMP_NS": timestamp,
	"TIMESTAMPTZ": timestamp,
	"DATE":        date, "BLOB": binary}

// column is a column of a result.
type column struct {
	name string
	kind kind
}

// columnsOf returns the columns of a result. Two of one name are an error.
func columnsOf(a *store.SQLAnswer) ([]column, error) {
	list, seen := make([]column, len(a.Columns)), map[string]bool{}
	for i, name := range a.Columns {
		if seen[name] {
			return nil, fmt.Errorf("two columns are named %q: rename one with AS", name)
		}
		seen[name], list[i] = true, column{name, kinds[a.Types[i]]}
	}
	return list, nil
}

// value returns a cell as the kind of its column has it: nil, string, bool, int64 (times
// in microseconds, dates in days), float64 or []byte.
func (c *column) value(cell any) (any, error) {
	switch v := cell.(type) {
	case nil:
		return nil, nil
	case string:
		switch c.kind {
		case text:
			return v, nil
		case double: // a decimal
			return strconv.ParseFloat(v, 64)
		case integer:
			return nil, fmt.Errorf("column %s: %s does not fit in 64 bits: cast it to DOUBLE or VARCHAR", c.name, v)
		}
	case bool:
		if c.kind == boolean {
			return v, nil
		}
	case int64:
		if c.kind == integer {
			return v, nil
		}
	case float64:
		if c.kind == double {
			return v, nil
		}
	case []byte:
		if c.kind == binary {
			return v, nil
		}
	case time.Time:
		switch c.kind {
		case timestamp:
			return v.UnixMicro(), nil
		case date:
			return v.Unix() / 86400, nil // midnight: no remainder
		}
	}
	return nil, fmt.Errorf("column %s: a value of type %T", c.name, cell)
}

// rowWriter writes the rows of a result in the columns it was made for. The values of a
// row are valid until the next one.
type rowWriter interface {
	write(values []any) error
	close() error
}

// Write writes a result in a format, "parquet" or "arrow", and at most limit rows (0:
// all) of it. It reports whether there were more.
func Write(ctx context.Context, w io.Writer, format string, a *store.SQLAnswer, limit int) (more bool, err error) {
	columns, err := columnsOf(a)
	if err != nil {
		return false, err
	}
	var out rowWriter
	if format == "arrow" {
		out = newArrow(w, columns)
	} else {
		out = newParquet(w, columns)
	}
	values, n := make([]any, len(columns)), 0
	for row, err := range a.Rows {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return false, err
		}
		if more = limit > 0 && n == limit; more {
			break
		}
		n++
		for i := range columns {
			if values[i], err = columns[i].value(row[i]); err != nil {
				return false, fmt.Errorf("row %d: %w", n, err)
			}
		}
		if err := out.write(values); err != nil {
			return false, err
		}
	}
	return more, out.close()
}
