package baseline

import (
	"fmt"
	"strings"
	"unsafe"

	duck "github.com/duckdb/duckdb-go-bindings"
)

// database is a DuckDB file, opened through the C interface: rows come and go
// as vectors, never as values of an interface type.
type database struct {
	db duck.Database
}

func openDatabase(path string) (*database, error) {
	var config duck.Config
	if duck.CreateConfig(&config) == duck.StateError {
		return nil, fmt.Errorf("opening %s: no configuration", path)
	}
	defer duck.DestroyConfig(&config)
	var message string
	d := &database{}
	if duck.OpenExt(path, &d.db, config, &message) == duck.StateError {
		return nil, fmt.Errorf("opening %s: %s", path, message)
	}
	return d, nil
}

func (d *database) close() { duck.Close(&d.db) }

// connection runs statements one after the other.
type connection struct {
	c duck.Connection
}

func (d *database) connect() (*connection, error) {
	c := &connection{}
	if duck.Connect(d.db, &c.c) == duck.StateError {
		return nil, fmt.Errorf("connecting to the database failed")
	}
	return c, nil
}

func (c *connection) close() { duck.Disconnect(&c.c) }

// exec runs statements whose rows do not matter.
func (c *connection) exec(sql string) error { return c.each(sql, nil) }

// each calls f with every chunk of the result, in the order of the rows. The
// chunk is valid during the call.
func (c *connection) each(sql string, f func(chunk)) error {
	var res duck.Result
	defer duck.DestroyResult(&res)
	if duck.Query(c.c, sql, &res) == duck.StateError {
		return fmt.Errorf("%s: %s", firstLine(sql), duck.ResultError(&res))
	}
	if f == nil {
		return nil
	}
	for {
		data := duck.FetchChunk(res)
		if data.Ptr == nil {
			return nil
		}
		f(chunk{data, int(duck.DataChunkGetSize(data))})
		duck.DestroyDataChunk(&data)
	}
}

func firstLine(sql string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(sql), "\n")
	return line
}

// chunk is some rows of a result or an appender, by column.
type chunk struct {
	data duck.DataChunk
	rows int
}

// column returns the values of a fixed-width column that holds no NULL.
func column[T int32 | int64 | float64](c chunk, col int) []T {
	vec := duck.DataChunkGetVector(c.data, duck.IdxT(col))
	return unsafe.Slice((*T)(duck.VectorGetData(vec)), c.rows)
}

// text returns one value of a VARCHAR column.
func (c chunk) text(col, row int) string {
	vec := duck.DataChunkGetVector(c.data, duck.IdxT(col))
	values := unsafe.Slice((*duck.StringT)(duck.VectorGetData(vec)), c.rows)
	return duck.StringTData(&values[row])
}

// setText sets one value of a VARCHAR column of an appender's chunk.
func (c chunk) setText(col, row int, s string) {
	duck.VectorAssignStringElement(duck.DataChunkGetVector(c.data, duck.IdxT(col)), duck.IdxT(row), s)
}

// appender writes rows into one table within the connection's transaction.
type appender struct {
	a     duck.Appender
	buf   duck.DataChunk
	rows  int
	width int
}

// vectorRows is the number of rows of a chunk.
var vectorRows = int(duck.VectorSize())

func (c *connection) appender(table string, types ...duck.Type) (*appender, error) {
	a := &appender{}
	if duck.AppenderCreateExt(c.c, "", "", table, &a.a) == duck.StateError {
		err := fmt.Errorf("appending to %s: %s", table, duck.AppenderError(a.a))
		duck.AppenderDestroy(&a.a)
		return nil, err
	}
	logical := make([]duck.LogicalType, len(types))
	for i, t := range types {
		logical[i] = duck.CreateLogicalType(t)
		defer duck.DestroyLogicalType(&logical[i])
	}
	a.buf = duck.CreateDataChunk(logical)
	return a, nil
}

// full returns the appender's chunk seen as full, to be filled in from a.rows.
func (a *appender) full() chunk { return chunk{a.buf, vectorRows} }

// advance says that n more rows of the chunk are filled in and passes it on
// when it is full.
func (a *appender) advance(n int) error {
	a.rows += n
	if a.rows < vectorRows {
		return nil
	}
	return a.send()
}

func (a *appender) send() error {
	if a.rows == 0 {
		return nil
	}
	duck.DataChunkSetSize(a.buf, duck.IdxT(a.rows))
	if duck.AppendDataChunk(a.a, a.buf) == duck.StateError {
		return fmt.Errorf("appending rows: %s", duck.AppenderError(a.a))
	}
	duck.DataChunkReset(a.buf)
	a.rows = 0
	return nil
}

// flush hands everything to the transaction.
func (a *appender) flush() error {
	if err := a.send(); err != nil {
		return err
	}
	if duck.AppenderFlush(a.a) == duck.StateError {
		return fmt.Errorf("flushing rows: %s", duck.AppenderError(a.a))
	}
	return nil
}

// close frees the appender. Rows that were not flushed are lost.
func (a *appender) close() {
	duck.AppenderClear(a.a)
	duck.DestroyDataChunk(&a.buf)
	duck.AppenderDestroy(&a.a)
}

// quote spells a string for SQL.
func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }
