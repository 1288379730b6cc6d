package driver

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestTransaction writes rows in transactions: what they leave in the table, and the statements
// that DuckDB gets.
func TestTransaction(t *testing.T) {
	failed := errors.New("failed")
	put := func(c *Conn, rows ...int32) error {
		blobs := make([][]byte, len(rows))
		for i := range blobs {
			blobs[i] = []byte{byte(rows[i])}
		}
		err := c.Append("", "t", len(rows), rows, blobs)
		for i := range rows { // the caller's buffers
			rows[i], blobs[i][0] = -1, 0
		}
		return err
	}
	many := slices.Repeat([]int32{1}, 2*fewRows)
	for _, c := range []struct {
		name       string
		do         func(c *Conn) error
		statements string
		rows       int64
		sum        int64
	}{
		{"nothing", func(*Conn) error { return nil }, "", 0, 0},
		{"no rows", func(c *Conn) error { return put(c) }, "", 0, 0},
		{"a few rows", func(c *Conn) error { return put(c, 1, 2) }, "INSERT", 2, 3},
		{"rows twice", func(c *Conn) error { return errors.Join(put(c, 1, 2), put(c, 4)) }, "BEGIN INSERT INSERT COMMIT", 3, 7},
		{"many rows", func(c *Conn) error { return put(c, slices.Clone(many)...) }, "BEGIN COMMIT", 32, 32},
		{"few, then many", func(c *Conn) error { return errors.Join(put(c, 5), put(c, slices.Clone(many)...)) }, "BEGIN INSERT COMMIT", 33, 37},
		{"few, then read", func(c *Conn) error {
			if err := put(c, 5); err != nil {
				return err
			}
			if n, err := c.Number(t.Context(), "SELECT count(*) FROM t"); n != 1 {
				return errors.Join(errors.New("it does not see its row"), err)
			}
			return nil
		}, "BEGIN INSERT SELECT COMMIT", 1, 5},
		{"few, undone", func(c *Conn) error { return errors.Join(put(c, 1, 2), failed) }, "", 0, 0},
		{"more, undone", func(c *Conn) error { return errors.Join(put(c, 1, 2), put(c, 3), failed) }, "BEGIN INSERT INSERT ROLLBACK", 0, 0},
		{"refused", func(c *Conn) error { return put(c, 1, 101) }, "INSERT", 0, 0},
		{"refused later", func(c *Conn) error { return errors.Join(put(c, 1), put(c, 101)) }, "BEGIN INSERT INSERT ROLLBACK", 0, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			db, err := OpenDB(filepath.Join(t.TempDir(), "x.duckdb"), Options{}, "")
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			conn, err := db.Connect()
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			if err := conn.Exec("CREATE TABLE t(n INTEGER CHECK (n < 100), b BLOB)"); err != nil {
				t.Fatal(err)
			}
			var statements []string
			stop := Observe(func(sql string) { statements = append(statements, strings.Fields(sql)[0]) })
			err = conn.WriteTx(func() error { return c.do(conn) })
			stop()
			if fails := strings.HasPrefix(c.name, "refused") || strings.HasSuffix(c.name, "undone"); (err != nil) != fails {
				t.Errorf("error %v", err)
			}
			if got := strings.Join(statements, " "); got != c.statements {
				t.Errorf("statements %s, want %s", got, c.statements)
			}
			rows, err := conn.Number(t.Context(), "SELECT count(*) FROM t")
			if err != nil || rows != c.rows {
				t.Errorf("%d rows in place of %d, %v", rows, c.rows, err)
			}
			sum, err := conn.Number(t.Context(), "SELECT coalesce(sum(n), 0)::BIGINT FROM t WHERE b = chr(n)::BLOB")
			if err != nil || sum != c.sum {
				t.Errorf("sum %d in place of %d, %v", sum, c.sum, err)
			}
			if err := conn.WriteTx(func() error { return put(conn, 50) }); err != nil {
				t.Errorf("the next transaction: %v", err)
			}
			if n, err := conn.Number(t.Context(), "SELECT count(*) FROM t"); n != c.rows+1 {
				t.Errorf("the next transaction left %d rows, %v", n, err)
			}
		})
	}
}
