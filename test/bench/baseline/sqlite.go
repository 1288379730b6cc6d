package baseline

import (
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/dendroprof/dendro/test/bench"
	_ "modernc.org/sqlite" // registers the driver "sqlite"
)

// SQLite is the per-node model on a row store, as one writes it first. It
// answers no queries: the study's three took a hundred times DuckDB's time.
type SQLite struct {
	path    string
	db      *sql.DB
	names   *nameCache
	fns     map[string]int64
	benches map[[2]string]int64
}

var _ bench.Engine = (*SQLite)(nil)

var sqliteSchema = []string{
	`PRAGMA journal_mode = WAL`,
	`PRAGMA synchronous = NORMAL`,
	`CREATE TABLE IF NOT EXISTS fn(id INTEGER PRIMARY KEY, name TEXT)`,
	`CREATE TABLE IF NOT EXISTS benchmark(id INTEGER PRIMARY KEY, grp TEXT, name TEXT)`,
	`CREATE TABLE IF NOT EXISTS profile(id INTEGER PRIMARY KEY, bench INTEGER, run TEXT, date TEXT, metric REAL, samples INTEGER)`,
	`CREATE TABLE IF NOT EXISTS node(id INTEGER PRIMARY KEY, profile INTEGER, parent INTEGER, fn INTEGER, depth INTEGER,
		self INTEGER, total INTEGER, rec INTEGER, recd INTEGER)`,
	`CREATE INDEX IF NOT EXISTS node_profile ON node(profile)`,
	`CREATE INDEX IF NOT EXISTS node_fn ON node(fn)`,
	`CREATE INDEX IF NOT EXISTS node_parent ON node(parent)`,
}

// OpenSQLite opens or creates a store in a folder. It has one connection, as
// the engine has one writer.
func OpenSQLite(o bench.Options) (*SQLite, error) {
	if err := os.MkdirAll(o.Dir, 0o755); err != nil {
		return nil, fmt.Errorf("opening the baseline: %w", err)
	}
	e := &SQLite{
		path: filepath.Join(o.Dir, "a.sqlite"), names: &nameCache{mapName: o.Names, known: map[string]string{}},
		fns: map[string]int64{}, benches: map[[2]string]int64{},
	}
	var err error
	if e.db, err = sql.Open("sqlite", e.path); err != nil {
		return nil, fmt.Errorf("opening %s: %w", e.path, err)
	}
	e.db.SetMaxOpenConns(1)
	for _, s := range sqliteSchema {
		if _, err := e.db.Exec(s); err != nil {
			e.db.Close()
			return nil, fmt.Errorf("opening %s: %w", e.path, err)
		}
	}
	if err := e.load(); err != nil {
		e.db.Close()
		return nil, err
	}
	return e, nil
}

func (e *SQLite) load() error {
	rows, err := e.db.Query(`SELECT id, name FROM fn`)
	if err != nil {
		return fmt.Errorf("reading functions: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var id int64
		var name string
		if err := rows.Scan(&id, &name); err != nil {
			return fmt.Errorf("reading functions: %w", err)
		}
		e.fns[name] = id
	}
	return rows.Err()
}

// callNode is a node of the plain parser's tree.
type callNode struct {
	name        string
	parent      *callNode
	children    map[string]*callNode
	depth       int
	self, total int64
	rowID       int64
}

// nameCache maps each frame once.
type nameCache struct {
	mapName func(string) string // nil keeps names
	known   map[string]string
}

func (c *nameCache) of(frame string) string {
	if c.mapName == nil {
		return frame
	}
	name, ok := c.known[frame]
	if !ok {
		name = c.mapName(frame)
		// The frame is a part of the whole text, which must not stay.
		c.known[strings.Clone(frame)] = strings.Clone(name)
	}
	return name
}

// parsePlain reads folded text the way one does who is not measuring it.
func parsePlain(text string, names *nameCache) (*callNode, error) {
	root := &callNode{children: map[string]*callNode{}, depth: -1}
	for _, line := range strings.Split(text, "\n") {
		if line == "" {
			continue
		}
		cut := strings.LastIndex(line, " ")
		if cut < 0 {
			return nil, fmt.Errorf("no count in %.60q", line)
		}
		count, err := strconv.ParseInt(line[cut+1:], 10, 64)
		if err != nil {
			return nil, fmt.Errorf("count of %.60q: %w", line, err)
		}
		at := root
		at.total += count
		for _, name := range strings.Split(line[:cut], ";") {
			name = names.of(name)
			child := at.children[name]
			if child == nil {
				child = &callNode{name: name, parent: at, children: map[string]*callNode{}, depth: at.depth + 1}
				at.children[name] = child
			}
			at = child
			at.total += count
		}
		at.self += count
	}
	return root, nil
}

// Import stores each profile in a separate transaction.
func (e *SQLite) Import(batch []bench.Profile) error {
	for i := range batch {
		if err := e.put(&batch[i]); err != nil {
			return fmt.Errorf("importing profile %d: %w", batch[i].Index, err)
		}
	}
	return nil
}

func (e *SQLite) put(p *bench.Profile) error {
	root, err := parsePlain(string(p.Text), e.names)
	if err != nil {
		return err
	}
	tx, err := e.db.Begin()
	if err != nil {
		return err
	}
	defer tx.Rollback()
	of, err := e.benchmark(tx, p.Group, p.Benchmark)
	if err != nil {
		return err
	}
	res, err := tx.Exec(`INSERT INTO profile(bench, run, date, metric, samples) VALUES (?, ?, ?, ?, ?)`,
		of, p.Run, p.Date, p.MetricMean, root.total)
	if err != nil {
		return err
	}
	profile, err := res.LastInsertId()
	if err != nil {
		return err
	}
	insertNode, err := tx.Prepare(`INSERT INTO node(profile, parent, fn, depth, self, total, rec, recd)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?)`)
	if err != nil {
		return err
	}
	defer insertNode.Close()
	insertFn, err := tx.Prepare(`INSERT INTO fn(name) VALUES (?)`)
	if err != nil {
		return err
	}
	defer insertFn.Close()

	var put func(n *callNode) error
	put = func(n *callNode) error {
		fn, ok := e.fns[n.name]
		if !ok {
			res, err := insertFn.Exec(n.name)
			if err != nil {
				return err
			}
			if fn, err = res.LastInsertId(); err != nil {
				return err
			}
			e.fns[n.name] = fn
		}
		var rec, recd any // NULL without recursion
		for up := n.parent; up.parent != nil; up = up.parent {
			if up.name == n.name {
				rec, recd = up.rowID, n.depth-up.depth
				break
			}
		}
		var parent any
		if n.parent.parent != nil {
			parent = n.parent.rowID
		}
		res, err := insertNode.Exec(profile, parent, fn, n.depth, n.self, n.total, rec, recd)
		if err != nil {
			return err
		}
		if n.rowID, err = res.LastInsertId(); err != nil {
			return err
		}
		for _, c := range n.children {
			if err := put(c); err != nil {
				return err
			}
		}
		return nil
	}
	for _, c := range root.children {
		if err := put(c); err != nil {
			return err
		}
	}
	return tx.Commit()
}

func (e *SQLite) benchmark(tx *sql.Tx, group, name string) (int64, error) {
	key := [2]string{group, name}
	if id, ok := e.benches[key]; ok {
		return id, nil
	}
	res, err := tx.Exec(`INSERT INTO benchmark(grp, name) VALUES (?, ?)`, group, name)
	if err != nil {
		return 0, err
	}
	id, err := res.LastInsertId()
	e.benches[key] = id
	return id, err
}

// Finish writes the log into the file.
func (e *SQLite) Finish() error {
	_, err := e.db.Exec(`PRAGMA wal_checkpoint(TRUNCATE)`)
	return err
}

// Size returns the size of the file and its log.
func (e *SQLite) Size() (int64, error) {
	info, err := os.Stat(e.path)
	if err != nil {
		return 0, fmt.Errorf("measuring the store: %w", err)
	}
	n := info.Size()
	// A log that was written into the file is empty or gone.
	if info, err := os.Stat(e.path + "-wal"); err == nil {
		n += info.Size()
	}
	return n, nil
}

// Answer returns ErrNoAnswer.
func (e *SQLite) Answer(bench.Question) (bench.Answer, error) {
	return bench.Answer{}, bench.ErrNoAnswer
}

// Close closes the store; the file stays.
func (e *SQLite) Close() error { return e.db.Close() }
