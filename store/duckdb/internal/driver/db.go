// Package driver runs statements on one DuckDB file: it opens the file, keeps
// connections with their prepared statements and appenders, reads results as
// columns in DuckDB's memory, appends columns, registers table decoders, and
// turns DuckDB's messages into the errors of package store. It knows no table.
//
// DuckDB locks the file for the process, and the lock ends as soon as any
// descriptor of the file is closed. Nothing here opens the file by itself while
// DuckDB has it open.
package driver

import (
	"fmt"
	"runtime"
	"strings"
	"sync"

	bind "github.com/duckdb/duckdb-go-bindings"
)

// Workers is the number of goroutines that share the work of one query. It is
// read once, because Go changes GOMAXPROCS when the process's CPU quota changes.
var Workers = runtime.GOMAXPROCS(0)

// Options are the settings of a file.
type Options struct {
	ReadOnly    bool   // many processes may read one file at once, if none writes
	MemoryLimit string // of DuckDB, as it writes it: "4GiB"; empty: 768 MiB, or 80 % of a machine of less than 1.25 GiB
	TempDir     string // where DuckDB spills what exceeds MemoryLimit; empty: beside the file
}

// DB is one open DuckDB database and its idle connections. Connections are cheap,
// but their prepared statements and appenders are not, so both are reused.
type DB struct {
	db      bind.Database
	session string // SQL that every new connection runs

	mu   sync.Mutex
	idle []*Conn
}

// OpenDB opens the file at path. Every new connection runs the statements of session
// first. Statements, which may be a user's, access no other file than Spare(path).
func OpenDB(path string, opts Options, session string) (*DB, error) {
	spare := Spare(path)
	if opts.TempDir == "" {
		opts.TempDir = spillDir(path, opts.ReadOnly)
	}
	return openDB(path, opts, session, "allowed_paths", []string{spare, spare + ".wal", spare + ".wal.checkpoint", spare + ".wal.recovery"})
}

// Spare is the file beside the one at path that its database may attach and fill.
func Spare(path string) string { return path + ".compact" }

// StorageVersion is the oldest DuckDB that reads new files. Files for older ones have 3 kB
// more for each column, for an estimate of the number of its distinct values.
const StorageVersion = "v1.2.0"

// OpenMemory opens a database in memory whose statements can read and write files in a
// directory and nothing else. It spills to temp.
func OpenMemory(dir, temp string) (*DB, error) {
	return openDB("", Options{TempDir: temp}, "SELECT 1", "allowed_directories", []string{strings.TrimSuffix(dir, "/") + "/"})
}

// openDB opens a database with access to the files that a setting lists. Only a running
// database has such lists.
func openDB(path string, opts Options, session, setting string, allowed []string) (*DB, error) {
	var config bind.Config
	if bind.CreateConfig(&config) != bind.StateSuccess {
		return nil, fmt.Errorf("duckdb: no memory for a configuration")
	}
	defer bind.DestroyConfig(&config)
	settings := [][2]string{
		{"autoinstall_known_extensions", "false"},
		{"autoload_known_extensions", "false"},
		{"allow_community_extensions", "false"},
		// a checkpoint rewrites the last row group of every table; 16 MiB of log are replayed in less than 1 s of CPU
		{"wal_autocheckpoint", "16MiB"},
		{"default_block_size", "65536"}, // of new files: even a small table takes a block
		{"storage_compatibility_version", StorageVersion},
	}
	if opts.ReadOnly {
		settings = append(settings, [2]string{"access_mode", "READ_ONLY"})
	}
	if opts.MemoryLimit != "" {
		settings = append(settings, [2]string{"memory_limit", opts.MemoryLimit})
	}
	if opts.TempDir != "" {
		settings = append(settings, [2]string{"temp_directory", opts.TempDir})
	}
	for _, s := range settings {
		if bind.SetConfig(config, s[0], s[1]) != bind.StateSuccess {
			return nil, fmt.Errorf("%q is not a value of DuckDB's setting %s", s[1], s[0])
		}
	}
	db := &DB{}
	var message string
	if bind.OpenExt(path, &db.db, config, &message) != bind.StateSuccess {
		return nil, &Error{message: message}
	}
	for i := range allowed {
		allowed[i] = Quote(allowed[i])
	}
	err := db.Use(func(c *Conn) error {
		if opts.MemoryLimit == "" {
			if err := c.limitMemory(); err != nil {
				return err
			}
		}
		if err := c.limitSpill(); err != nil {
			return err
		}
		return c.Exec("SET " + setting + " = [" + strings.Join(allowed, ", ") + "]; SET enable_external_access = false; SET lock_configuration = true;" + session)
	})
	if err != nil {
		db.Close()
		return nil, err
	}
	db.session = session
	return db, nil
}

// DefaultMemory is the memory of a database without Options.MemoryLimit: blocks of its
// file, sorts and results. DuckDB itself takes 80 % of the machine's, and keeps blocks
// until it needs the room.
const DefaultMemory = "768MiB"

// limitMemory sets the limit to DefaultMemory where DuckDB's own is a GiB or more.
func (c *Conn) limitMemory() error {
	limit, err := c.setting("memory_limit")
	if err != nil || strings.HasSuffix(limit, "MiB") || strings.HasSuffix(limit, "KiB") { // of "18.8 GiB"
		return err
	}
	return c.Exec("SET memory_limit = '" + DefaultMemory + "'")
}

// Close closes the file. All connections must have been put back.
func (db *DB) Close() {
	db.mu.Lock()
	defer db.mu.Unlock()
	for _, c := range db.idle {
		c.Close()
	}
	db.idle = nil
	bind.Close(&db.db)
}

// Use runs f with an idle or a new connection. It closes the connection if f
// returns an error.
func (db *DB) Use(f func(c *Conn) error) error {
	c, err := db.get()
	if err != nil {
		return err
	}
	if err := f(c); err != nil {
		c.Close()
		return err
	}
	db.mu.Lock()
	defer db.mu.Unlock()
	db.idle = append(db.idle, c)
	return nil
}

func (db *DB) get() (*Conn, error) {
	db.mu.Lock()
	defer db.mu.Unlock()
	if n := len(db.idle); n > 0 {
		c := db.idle[n-1]
		db.idle = db.idle[:n-1]
		return c, nil
	}
	return db.Connect()
}

// Connect returns a new connection, which the caller closes.
func (db *DB) Connect() (*Conn, error) {
	c := &Conn{prepared: map[string]bind.PreparedStatement{}, appenders: map[string]*appender{}}
	if bind.Connect(db.db, &c.Handle) != bind.StateSuccess {
		return nil, fmt.Errorf("duckdb: cannot connect")
	}
	return c, c.Exec(db.session)
}

// Quote returns a text as a literal of SQL.
func Quote(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }

// List returns numbers as SQL writes a list of them, without parentheses.
func List(ids []int32) string {
	return strings.Trim(strings.ReplaceAll(fmt.Sprint(ids), " ", ", "), "[]")
}

// View is a view for users' SQL. Stored views need no function of this program; the file
// has them for other programs.
type View struct {
	Name, SQL string
	Stored    bool
	StoredSQL string // the statement in the file, where a session's has more; empty: SQL
}
