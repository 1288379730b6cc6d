// Package bolt runs Cypher in a Neo4j database behind Bolt: addresses and passwords,
// transactions and when they are repeated, rows and properties of results, and the
// server's errors in words that say what to do. Texts get stored names that fit into
// an index, and ids that every importer computes alike.
//
// It knows no label of the store.
package bolt

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	driver "github.com/neo4j/neo4j-go-driver/v6/neo4j"
	"github.com/neo4j/neo4j-go-driver/v6/neo4j/config"
	"github.com/neo4j/neo4j-go-driver/v6/neo4j/notifications"

	"github.com/dendroprof/dendro/store"
)

// Options defines how a database is reached.
type Options struct {
	// PasswordFile names a file with the password; empty: the environment's.
	PasswordFile string
	// Password asks the user for it if neither the environment nor a file has it.
	// It may be nil.
	Password func(ctx context.Context, user, server string) (string, error)
}

// DB is a database behind Bolt. The driver repeats transactions with increasing delays
// after transient errors (deadlocks, a new leader, a restart). Bookmarks pass from each transaction to the next one, so that
// a member of a cluster shows what another one has written.
type DB struct {
	Address       Address
	authenticated bool
	Driver        driver.Driver // tests wrap it
	bookmarks     driver.BookmarkManager

	mu         sync.Mutex
	processors int           // of the server, once it was asked
	helping    chan struct{} // holds a token for each helper of Tx.Parallel
}

// retryTime is for how long the driver repeats a transaction.
const retryTime = 30 * time.Second

// Dial connects to a database. It fails if no server answers.
func Dial(ctx context.Context, where string, opts Options) (*DB, error) {
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
		if err := a.inClear(); err != nil {
			return nil, err
		}
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
	g := &DB{Address: a, authenticated: ok, Driver: d, helping: make(chan struct{}, helpers),
		bookmarks: driver.NewBookmarkManager(driver.BookmarkManagerConfig{})}
	if err := g.verify(ctx); err != nil {
		return nil, errors.Join(err, g.Close())
	}
	return g, nil
}

// answerTime is how long a server may take for its first answer.
const answerTime = 10 * time.Second

// verify checks that the server answers and knows user and database. It comes before
// the first transaction, which the driver would repeat for a long time if no server
// listens.
func (g *DB) verify(ctx context.Context) error {
	// A server of another protocol may wait for more input.
	short, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	if err := g.Driver.VerifyConnectivity(short); err != nil {
		if short.Err() != nil && ctx.Err() == nil {
			return fmt.Errorf("%s: what listens there does not answer as a Neo4j server within %s: is this its Bolt port (7687 unless changed)?", g.Address, answerTime)
		}
		return g.Explain(store.Ended(ctx, err))
	}
	ctx, stop := Interruptible(ctx)
	defer stop()
	session := g.Session(ctx, driver.AccessModeRead)
	defer session.Close(context.WithoutCancel(ctx))
	result, err := session.Run(ctx, "RETURN 1", nil)
	if err == nil {
		_, err = result.Consume(ctx)
	}
	return g.Explain(store.Ended(ctx, err))
}

// Close ends the connections.
func (g *DB) Close() error { return g.Driver.Close(context.Background()) }

// Session returns a session, which the caller closes.
func (g *DB) Session(ctx context.Context, mode driver.AccessMode) driver.Session {
	return g.Driver.NewSession(ctx, driver.SessionConfig{
		AccessMode: mode, DatabaseName: g.Address.database, BookmarkManager: g.bookmarks,
	})
}

// Remarking returns a session as Session does, in which the server remarks on queries.
func (g *DB) Remarking(ctx context.Context, mode driver.AccessMode) driver.Session {
	return g.Driver.NewSession(ctx, driver.SessionConfig{
		AccessMode: mode, DatabaseName: g.Address.database, BookmarkManager: g.bookmarks, NotificationsMinSeverity: notifications.WarningLevel,
	})
}

// Interruptible returns a context with a deadline that never comes: without one the
// driver does not notice, while it waits for the server, that a context ends.
func Interruptible(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, 365*24*time.Hour)
}

// Read runs f in a transaction that only reads, perhaps several times.
func (g *DB) Read(ctx context.Context, f func(t *Tx) error) error {
	return g.Explain(sure(func() error { return g.transact(ctx, driver.AccessModeRead, "the question", f) }))
}

// Write runs f in a transaction, perhaps several times, and commits it. If the
// connection breaks during the commit, it runs f again: f must change nothing that
// was committed before. What names the work in errors. The error is the driver's.
func (g *DB) Write(ctx context.Context, what string, f func(t *Tx) error) error {
	return sure(func() error { return g.WriteOnce(ctx, what, f) })
}

// WriteOnce is Write for work that must not run again after a commit: it returns an
// error for which UnknownCommit holds.
func (g *DB) WriteOnce(ctx context.Context, what string, f func(t *Tx) error) error {
	return g.transact(ctx, driver.AccessModeWrite, what, f)
}

// sure repeats a transaction until it is known how it ended: the connection may break
// during the commit.
func sure(transaction func() error) error {
	for try := 1; ; try++ {
		if err := transaction(); !UnknownCommit(err) || try == Tries {
			return err
		}
	}
}

// transact runs f in a transaction that the driver repeats if this helps.
func (g *DB) transact(ctx context.Context, mode driver.AccessMode, what string, f func(t *Tx) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	ctx, cancel := Interruptible(ctx)
	defer cancel()
	session := g.Session(ctx, mode)
	defer session.Close(context.WithoutCancel(ctx))
	execute := session.ExecuteWrite
	if mode == driver.AccessModeRead {
		execute = session.ExecuteRead
	}
	_, err := execute(ctx, func(m driver.ManagedTransaction) (any, error) {
		return nil, final(what, f(&Tx{Ctx: ctx, tx: m, DB: g}))
	})
	return final(what, store.Ended(ctx, err))
}

// Schema runs one statement that changes the schema, which needs a transaction of
// its own.
func (g *DB) Schema(ctx context.Context, statement string) error {
	err := g.Write(ctx, "the schema", func(t *Tx) error { return t.Do(statement, nil) })
	return g.Explain(err)
}
