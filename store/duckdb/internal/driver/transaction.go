package driver

import (
	"context"
	"strings"
)

// transaction is one that changes the file. DuckDB hears of it with its second statement: if
// there is no other than an INSERT of a few rows, that commits by itself, which takes two thirds
// of the time of three statements, because DuckDB hands each of them to its threads.
type transaction struct {
	begun bool   // and not ended
	open  bool   // DuckDB was told
	first string // the INSERT that the transaction has so far, if DuckDB was not told
	args  []any
}

// Begin begins a transaction, which Commit or Rollback ends.
func (c *Conn) Begin() { c.tx = transaction{begun: true} }

// enter tells DuckDB of the transaction, if there is one.
func (c *Conn) enter() error {
	if !c.tx.begun || c.tx.open {
		return nil
	}
	c.tx.open = true
	if err := c.Exec("BEGIN TRANSACTION"); err != nil {
		c.tx.open = false
		return err
	}
	if c.tx.first == "" {
		return nil
	}
	return c.Query(context.Background(), c.tx.first, c.tx.args, nil)
}

// Commit makes durable what was done since Begin. If it fails, nothing was done.
func (c *Conn) Commit() (err error) {
	tx := c.tx
	switch {
	case tx.open:
		if err = c.Exec("COMMIT"); err != nil {
			c.Rollback()
		}
	case tx.first != "":
		c.tx = transaction{}
		err = c.Query(context.Background(), tx.first, tx.args, nil)
	}
	c.tx = transaction{}
	return err
}

// Rollback undoes what was done since Begin.
func (c *Conn) Rollback() {
	if c.tx.open {
		c.Exec("ROLLBACK") // the error that led here is the cause
	}
	c.tx = transaction{}
}

// WriteTx runs f in a transaction that it commits if f returns nil, and rolls back
// otherwise.
func (c *Conn) WriteTx(f func() error) error {
	c.Begin()
	if err := f(); err != nil {
		c.Rollback()
		return err
	}
	return c.Commit()
}

// fewRows is how many rows one statement inserts faster than an appender, whose flush DuckDB
// plans anew each time.
const fewRows = 16

// Append writes n rows, given as one slice for each column of the table, into the
// transaction of the connection. An empty catalog is the store's own.
func (c *Conn) Append(catalog, table string, n int, columns ...any) error {
	if n > fewRows || catalog != "" {
		return c.appendChunks(catalog, table, n, columns)
	}
	if n == 0 {
		return nil
	}
	row := ", (?" + strings.Repeat(", ?", len(columns)-1) + ")"
	sql := "INSERT INTO " + table + " VALUES " + strings.Repeat(row, n)[2:]
	args := make([]any, 0, n*len(columns))
	for at := range n {
		for _, col := range columns {
			args = append(args, cell(col, at))
		}
	}
	if c.tx.begun && !c.tx.open && c.tx.first == "" {
		c.tx.first, c.tx.args = sql, args
		return nil
	}
	return c.Query(context.Background(), sql, args, nil)
}
