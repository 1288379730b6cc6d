package neo4j

import (
	"context"
	"errors"
	"fmt"
	"time"

	driver "github.com/neo4j/neo4j-go-driver/v6/neo4j"
	"github.com/neo4j/neo4j-go-driver/v6/neo4j/config"
	"github.com/neo4j/neo4j-go-driver/v6/neo4j/notifications"

	"github.com/dendroprof/dendro/store"
)

// graph is a database behind Bolt: sessions, transactions and their errors.
// Transactions are functions that the driver tries again when a server says that
// this helps (deadlocks, a new leader, a restart), waiting longer each time.
// Bookmarks pass from each transaction to the next one, so that a cluster shows
// a Store what it wrote.
type graph struct {
	address       address
	authenticated bool
	driver        driver.Driver
	bookmarks     driver.BookmarkManager
	divided       *divided
}

// retryTime is for how long a transaction is tried again.
const retryTime = 30 * time.Second

// dial makes a graph and demands that a server answers.
func dial(ctx context.Context, where string, opts Options) (*graph, error) {
	a, err := parseAddress(where)
	if err != nil {
		return nil, err
	}
	password, ok, err := a.password(ctx, opts)
	if err != nil {
		return nil, err
	}
	auth := driver.NoAuth()
	if ok {
		auth = driver.BasicAuth(a.user, password, "")
	}
	d, err := driver.NewDriver(a.server, auth, func(c *config.Config) {
		c.MaxTransactionRetryTime = retryTime
		c.SocketConnectTimeout = 5 * time.Second
		c.ReadBufferSize = 64 << 10
		c.UserAgent = "dendro"
		c.NotificationsMinSeverity = notifications.DisabledLevel
		c.TelemetryDisabled = true
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", a, err)
	}
	g := &graph{address: a, authenticated: ok, driver: d, divided: newDivided(), bookmarks: driver.NewBookmarkManager(driver.BookmarkManagerConfig{})}
	if err := g.verify(ctx); err != nil {
		return nil, errors.Join(err, g.close())
	}
	return g, nil
}

// answerTime is how long a server may take for its first answer.
const answerTime = 10 * time.Second

// verify demands that the server answers and knows user and database. It comes
// before the first transaction: that would be tried again for long where nobody
// listens.
func (g *graph) verify(ctx context.Context) error {
	// What is not a Neo4j server may wait for us to say more.
	short, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	if err := g.driver.VerifyConnectivity(short); err != nil {
		if short.Err() != nil && ctx.Err() == nil {
			return fmt.Errorf("%s: what listens there does not answer as a Neo4j server within %s: is this its Bolt port (7687 unless changed)?", g.address, answerTime)
		}
		return g.explain(store.Ended(ctx, err))
	}
	ctx, stop := interruptible(ctx)
	defer stop()
	session := g.session(ctx, driver.AccessModeRead)
	defer session.Close(context.WithoutCancel(ctx))
	result, err := session.Run(ctx, "RETURN 1", nil)
	if err == nil {
		_, err = result.Consume(ctx)
	}
	return g.explain(store.Ended(ctx, err))
}

func (g *graph) close() error { return g.driver.Close(context.Background()) }

func (g *graph) session(ctx context.Context, mode driver.AccessMode) driver.Session {
	return g.driver.NewSession(ctx, driver.SessionConfig{
		AccessMode: mode, DatabaseName: g.address.database, BookmarkManager: g.bookmarks,
	})
}

// interruptible returns a context with a deadline that is never met: without one
// the driver does not notice while it waits for the server that a context ends.
func interruptible(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, 365*24*time.Hour)
}

// read runs f in a transaction that only reads, perhaps several times.
func (g *graph) read(ctx context.Context, f func(t *tx) error) error {
	return g.explain(sure(func() error { return g.transact(ctx, driver.AccessModeRead, "the question", f) }))
}

// write runs f in a transaction, perhaps several times, and commits it: once more,
// too, if it is not known whether it was committed, which must change nothing
// further. What names the work in errors. The error is the driver's.
func (g *graph) write(ctx context.Context, what string, f func(t *tx) error) error {
	return sure(func() error { return g.writeOnce(ctx, what, f) })
}

// writeOnce is write for work of which it matters whether it has been done: that
// this is not known, the error says (unknownCommit).
func (g *graph) writeOnce(ctx context.Context, what string, f func(t *tx) error) error {
	return g.transact(ctx, driver.AccessModeWrite, what, f)
}

// sure runs a transaction until it is known how it ended: the connection may break
// while it commits.
func sure(transaction func() error) error {
	for try := 1; ; try++ {
		if err := transaction(); !unknownCommit(err) || try == tries {
			return err
		}
	}
}

// transact runs f in a transaction that the driver begins anew when this helps.
func (g *graph) transact(ctx context.Context, mode driver.AccessMode, what string, f func(t *tx) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	ctx, cancel := interruptible(ctx)
	defer cancel()
	session := g.session(ctx, mode)
	defer session.Close(context.WithoutCancel(ctx))
	execute := session.ExecuteWrite
	if mode == driver.AccessModeRead {
		execute = session.ExecuteRead
	}
	_, err := execute(ctx, func(m driver.ManagedTransaction) (any, error) {
		return nil, final(what, f(&tx{ctx, m, g}))
	})
	return final(what, store.Ended(ctx, err))
}

// schema runs one statement that changes the schema, which wants a transaction
// of its own.
func (g *graph) schema(ctx context.Context, statement string) error {
	err := g.write(ctx, "the schema", func(t *tx) error { return t.do(statement, nil) })
	return g.explain(err)
}

// tx is a transaction. Values reach statements as parameters only.
type tx struct {
	ctx   context.Context
	tx    driver.ManagedTransaction
	graph *graph
}

// each calls f with every row of the answer.
func (t *tx) each(statement string, params map[string]any, f func(r row) error) error {
	result, err := t.tx.Run(t.ctx, statement, params)
	if err != nil {
		return err
	}
	for result.Next(t.ctx) {
		if err := f(row(result.Record().Values)); err != nil {
			return err
		}
	}
	return result.Err()
}

// one returns the only row of the answer.
func (t *tx) one(statement string, params map[string]any) (only row, err error) {
	n := 0
	err = t.each(statement, params, func(r row) error { only = r; n++; return nil })
	if err == nil && n != 1 {
		err = fmt.Errorf("%d rows instead of one: %s", n, statement)
	}
	return only, err
}

// do runs a statement for its effect.
func (t *tx) do(statement string, params map[string]any) error {
	return t.each(statement, params, func(row) error { return nil })
}

// row is a row of an answer. Accessors give zero values for null.
type row []any

func (r row) text(i int) string { s, _ := r[i].(string); return s }
func (r row) int(i int) int64   { n, _ := r[i].(int64); return n }
func (r row) has(i int) bool    { return r[i] != nil }
func (r row) list(i int) []any  { l, _ := r[i].([]any); return l }
func (r row) facts(i int) facts { m, _ := r[i].(map[string]any); return m }

func (r row) ints(i int) []int64     { return column[int64](r[i]) }
func (r row) texts(i int) []string   { return column[string](r[i]) }
func (r row) floats(i int) []float64 { return column[float64](r[i]) }
func (r row) factList(i int) []facts {
	list := make([]facts, 0, len(r.list(i)))
	for _, m := range column[map[string]any](r[i]) {
		list = append(list, m)
	}
	return list
}

// column returns a list value as a slice.
func column[T any](v any) []T {
	list, _ := v.([]any)
	out := make([]T, len(list))
	for i, x := range list {
		out[i], _ = x.(T)
	}
	return out
}

// facts are the properties of a node. Accessors give zero values for those that
// are not there.
type facts map[string]any

func (f facts) text(k string) string    { s, _ := f[k].(string); return s }
func (f facts) int(k string) int64      { n, _ := f[k].(int64); return n }
func (f facts) texts(k string) []string { return column[string](f[k]) }

// time returns a date in UTC, zero if there is none.
func (f facts) time(k string) time.Time {
	t, ok := f[k].(time.Time)
	if !ok {
		return time.Time{}
	}
	return t.UTC()
}

// set adds a property unless it is the zero value, which is not stored.
func set[T comparable](f facts, key string, value T) {
	var zero T
	if value != zero {
		f[key] = value
	}
}
