package iceberg

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"slices"
	"testing"

	"modernc.org/sqlite"

	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/store/mem"
	"github.com/dendroprof/dendro/test/runtest"
)

// cut is a database whose connection is lost while it commits: it does, and nobody hears of it.
type cut struct {
	name string
	next bool // the next commit
}

func (c *cut) Driver() driver.Driver { return &sqlite.Driver{} }

func (c *cut) Connect(context.Context) (driver.Conn, error) {
	conn, err := c.Driver().Open(c.name)
	return &cutConn{conn, c}, err
}

type cutConn struct {
	driver.Conn
	of *cut
}

func (c *cutConn) BeginTx(ctx context.Context, o driver.TxOptions) (driver.Tx, error) {
	tx, err := c.Conn.(driver.ConnBeginTx).BeginTx(ctx, o)
	return &cutTx{tx, c.of}, err
}

type cutTx struct {
	driver.Tx
	of *cut
}

func (t *cutTx) Commit() error {
	err := t.Tx.Commit()
	if t.of.next {
		t.of.next = false
		return errors.Join(err, errors.New("connection reset by peer"))
	}
	return err
}

// TestUnsureCommit: what a commit added stays when its answer is lost, and is not added again.
func TestUnsureCommit(t *testing.T) {
	l := openLake(t, t.TempDir())
	c := &cut{name: "file:" + l.Dir + "/catalog.db?_txlock=immediate"}
	was := l.catalog.db
	l.catalog.db = sql.OpenDB(c)
	if err := was.Close(); err != nil {
		t.Fatal(err)
	}
	st := mem.New()
	runtest.Put(t, st, file(t, "a", 0, "A;B 1"))
	list, err := st.Profiles(t.Context(), store.Query{})
	if err != nil {
		t.Fatal(err)
	}
	c.next = true
	if _, err := l.Publish(t.Context(), st, list, nil); !errors.Is(err, errUnsure) {
		t.Fatalf("no answer to a commit: %v", err)
	}
	runtest.Put(t, st, file(t, "a", 1, "A;B 1"))
	if got := publish(t, l, st); got.New != len(list) || got.Known != len(list) {
		t.Errorf("after it: %+v", got)
	}
	rows := publishedRows(t, l, "profiles", func(r *profileRow) string { return r.Profile })
	if slices.Sort(rows); len(slices.Compact(rows)) != 2*len(list) {
		t.Errorf("profiles %v", rows)
	}
}
