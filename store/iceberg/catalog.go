package iceberg

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib" // the driver of catalogs in PostgreSQL
	"modernc.org/sqlite"             // also the driver of catalogs in a file
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/dendroprof/dendro/internal/secret"
	"github.com/dendroprof/dendro/store"
)

// The names under which the catalog has the tables: lake.dendro.profiles.
const (
	catalogName = "lake"
	namespace   = "dendro"
	catalogFile = "catalog.db"
)

// catalog is the SQL database that has the location of each table's metadata, in the form
// of Iceberg's JDBC catalog, version 1. It is a file of SQLite or a database of PostgreSQL.
type catalog struct {
	db       *sql.DB
	postgres bool
}

// isPostgres reports whether the address of a lake is the URL of its catalog.
func isPostgres(address string) bool {
	return strings.HasPrefix(address, "postgres://") || strings.HasPrefix(address, "postgresql://")
}

// openFile opens the catalog in a directory.
func openFile(dir string, create bool) (*catalog, error) {
	file := filepath.Join(dir, catalogFile)
	if create {
		if err := os.MkdirAll(dir, 0o777); err != nil {
			return nil, err
		}
	} else if _, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) {
		return nil, errNoLake
	} else if err != nil {
		return nil, err
	}
	// A transaction takes the lock when it begins. Others wait for it. With a log of changes,
	// readers do not keep it from ending, such as a session of Spark with an open result.
	address := url.URL{Scheme: "file", Path: file, RawQuery: "_txlock=immediate&_pragma=busy_timeout(60000)&_pragma=journal_mode(wal)&_pragma=synchronous(full)"}
	db, err := sql.Open("sqlite", address.String())
	if err != nil {
		return nil, err
	}
	// SQLite waits for locks, but not where a new file gets its log of changes.
	for until := time.Now().Add(time.Minute); isBusy(db.Ping()) && time.Now().Before(until); time.Sleep(10 * time.Millisecond) {
	}
	return &catalog{db: db}, nil
}

// isBusy reports whether another process has a lock.
func isBusy(err error) bool {
	var e *sqlite.Error
	return errors.As(err, &e) && e.Code()&0xff == sqlite3.SQLITE_BUSY
}

// openPostgres opens the catalog in a database.
func openPostgres(ctx context.Context, address string) (*catalog, error) {
	c, err := pgx.ParseConfig(address)
	if err != nil {
		return nil, err
	}
	if err := inClear(c); err != nil {
		return nil, err
	}
	db := stdlib.OpenDB(*c)
	if err := db.PingContext(ctx); err != nil {
		db.Close()
		return nil, err
	}
	return &catalog{db: db, postgres: true}, nil
}

// inClear returns an error if a password could go to another machine without encryption:
// a server may ask for it as it is.
func inClear(c *pgx.ConnConfig) error {
	if c.Password == "" {
		return nil
	}
	attempts := append([]*pgconn.FallbackConfig{{Host: c.Host, TLSConfig: c.TLSConfig}}, c.Fallbacks...)
	for _, a := range attempts {
		if a.TLSConfig == nil && !strings.HasPrefix(a.Host, "/") { // not a socket
			if err := secret.InClear("the password", a.Host, "?sslmode=verify-full behind the database's name"); err != nil {
				return err
			}
		}
	}
	return nil
}

// errNoLake is the error of opening a lake that is not there.
var errNoLake = fmt.Errorf("there is no lake (dendro publish creates one): %w", fs.ErrNotExist)

// querier is a database or a transaction.
type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// sql returns a statement with the placeholders of the database.
func (c *catalog) sql(statement string) string {
	if c.postgres {
		for n := 1; strings.Contains(statement, "?"); n++ {
			statement = strings.Replace(statement, "?", "$"+strconv.Itoa(n), 1)
		}
	}
	return statement
}

// ofTables selects the rows of the lake's tables.
const ofTables = "catalog_name = '" + catalogName + "' AND table_namespace = '" + namespace + "'"

// locations returns the location of each table's metadata, none if there is no lake.
func (c *catalog) locations(ctx context.Context, q querier) (map[string]string, error) {
	query := "SELECT table_name, metadata_location FROM iceberg_tables WHERE " + ofTables
	if _, changing := q.(*sql.Tx); changing && c.postgres {
		query += " FOR UPDATE" // other programs commit one table at a time
	}
	list := map[string]string{}
	rows, err := q.QueryContext(ctx, query)
	if missing := new(pgconn.PgError); errors.As(err, &missing) && missing.Code == "42P01" ||
		err != nil && strings.Contains(err.Error(), "no such table: iceberg_tables") {
		return nil, nil // the catalog is empty, such as after a creation that failed
	} else if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var name, location string
		if err := rows.Scan(&name, &location); err != nil {
			return nil, err
		}
		list[name] = location
	}
	return list, rows.Err()
}

// change runs f in a transaction that holds the catalog's lock: transactions of other
// publishers wait for its end.
func (c *catalog) change(ctx context.Context, f func(tx *sql.Tx) error) error {
	tx, err := c.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	if c.postgres {
		if _, err := tx.ExecContext(ctx, "SELECT pg_advisory_xact_lock(7234508716520041)"); err != nil {
			return err
		}
	}
	if err := f(tx); err != nil {
		return err
	}
	var file *sqlite.Error
	var answer *pgconn.PgError
	err = tx.Commit()
	if err == nil || errors.As(err, &file) || errors.As(err, &answer) && !IsDown(err) {
		return err // the database says so
	}
	return fmt.Errorf("%w: %w", errUnsure, err)
}

// errUnsure is wrapped by the error of a commit that may have been made all the same.
var errUnsure = errors.New("no answer to the commit")

// create creates the tables of the catalog that are missing, and the namespace.
func (c *catalog) create(ctx context.Context, tx *sql.Tx) error {
	for _, statement := range []string{
		`CREATE TABLE IF NOT EXISTS iceberg_tables (catalog_name VARCHAR(255) NOT NULL, table_namespace VARCHAR(255) NOT NULL,
  table_name VARCHAR(255) NOT NULL, metadata_location VARCHAR(1000), previous_metadata_location VARCHAR(1000), iceberg_type VARCHAR(5),
  PRIMARY KEY (catalog_name, table_namespace, table_name))`,
		`CREATE TABLE IF NOT EXISTS iceberg_namespace_properties (catalog_name VARCHAR(255) NOT NULL, namespace VARCHAR(255) NOT NULL,
  property_key VARCHAR(255) NOT NULL, property_value VARCHAR(1000), PRIMARY KEY (catalog_name, namespace, property_key))`,
		`INSERT INTO iceberg_namespace_properties VALUES ('` + catalogName + `', '` + namespace + `', 'exists', 'true') ON CONFLICT DO NOTHING`,
	} {
		if _, err := tx.ExecContext(ctx, statement); err != nil {
			return err
		}
	}
	return nil
}

// add adds a table.
func (c *catalog) add(ctx context.Context, tx *sql.Tx, name, location string) error {
	_, err := tx.ExecContext(ctx, c.sql("INSERT INTO iceberg_tables VALUES (?, ?, ?, ?, NULL, 'TABLE')"), catalogName, namespace, name, location)
	return err
}

// replace makes other metadata of a table current.
func (c *catalog) replace(ctx context.Context, tx *sql.Tx, name, location, previous string) error {
	r, err := tx.ExecContext(ctx, c.sql("UPDATE iceberg_tables SET metadata_location = ?, previous_metadata_location = ? WHERE "+ofTables+" AND table_name = ? AND metadata_location = ?"),
		location, previous, name, previous)
	if err != nil {
		return err
	}
	if n, err := r.RowsAffected(); err != nil || n != 1 {
		return errors.Join(err, fmt.Errorf("table %s was changed meanwhile", name))
	}
	return nil
}

// sameRules checks that names were normalised by the rules of the lake, and records the
// rules of the first publication.
func (s *Snapshot) sameRules(rules string) error {
	if have := s.Rules(); have != "" && have != rules {
		return fmt.Errorf("its names were normalised by the rules %s, those of the store by %s (dendro copy --renormalize): %w", have, rules, store.ErrOtherRules)
	}
	s.tables["profiles"].Properties[rulesProperty] = rules
	return nil
}

// IsDown reports whether an error says that the catalog or the files of a lake do not answer now.
func IsDown(err error) bool {
	var network net.Error
	var answer *pgconn.PgError
	return errors.As(err, &network) || errors.As(err, &answer) && slices.Contains([]string{"08", "53", "57"}, answer.Code[:2])
}

// fullCatalog reports whether SQLite has no room, be it for what its readers share.
func fullCatalog(err error) bool {
	var e *sqlite.Error
	return errors.As(err, &e) && (e.Code() == sqlite3.SQLITE_FULL || e.Code() == sqlite3.SQLITE_IOERR_SHMSIZE)
}
