// Package usersql runs users' SQL on a DuckDB: one statement that only reads, in a
// read-only transaction and a session of its own, over views that the caller chooses.
//
// A statement is checked before DuckDB binds it: the functions that read files or run text
// as SQL are not allowed, whatever the database could access. Package usersql knows
// no table.
package usersql

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"math/big"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	bind "github.com/duckdb/duckdb-go-bindings"

	"github.com/dendroprof/dendro/internal/column"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/store/duckdb/internal/driver"
)

// ErrNotAllowed reports a statement that users may not run, because it changes the
// store or accesses anything else.
var ErrNotAllowed = errors.New("not allowed")

// Host is a database that users' SQL runs on.
type Host struct {
	Path string // for messages
	// Views returns what a statement that names some tables, in lower case, can query.
	Views   func(ctx context.Context, named map[string]bool) ([]driver.View, error)
	Enter   func(context.Context) error  // before a statement is prepared
	Leave   func()                       // after that
	Reading func(func())                 // runs a function while the database stays open
	Connect func() (*driver.Conn, error) // opens a connection
	// Begin begins a read-only transaction and calls bind in it.
	Begin func(ctx context.Context, c *driver.Conn, bind func() error) error

	mu   sync.Mutex
	open map[*Rows]bool // results
}

func (h *Host) add(r *Rows) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.open == nil {
		h.open = map[*Rows]bool{}
	}
	h.open[r] = true
}

func (h *Host) remove(r *Rows) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.open, r)
}

// Close ends all results, before the database is closed.
func (h *Host) Close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for r := range h.open {
		r.free()
	}
	h.open = nil
}

// Rows is the result of a statement: typed columns and a stream of rows. The caller
// closes it or reads it to its end.
type Rows struct {
	Columns []string
	Types   []string // DuckDB's names of types, without parameters: "BIGINT", "DECIMAL"

	types []columnType
	h     *Host
	ctx   context.Context
	c     *driver.Conn // nil: closed
	stmt  bind.PreparedStatement
	res   bind.Result
	begun bool
}

// SQL prepares a statement and returns its columns and a stream of its rows.
func (h *Host) SQL(ctx context.Context, query string) (*store.SQLAnswer, error) {
	r, err := h.Open(ctx, query)
	if err != nil {
		return nil, err
	}
	return &store.SQLAnswer{Columns: r.Columns, Types: r.Types, Rows: r.All()}, nil
}

// showTables matches the statement that lists what can be queried: the documented views,
// and not the tables behind them.
var showTables = regexp.MustCompile(`(?i)^\s*SHOW\s+(ALL\s+)?TABLES\s*;?\s*$`)

// listViews answers it.
func listViews(views []driver.View) string {
	names := column.Of(views, func(v driver.View) string { return driver.Quote(v.Name) })
	return "SELECT unnest([" + strings.Join(names, ", ") + "]) AS name ORDER BY name"
}

// Open returns the prepared statement, which the caller closes.
func (h *Host) Open(ctx context.Context, query string) (*Rows, error) {
	if err := h.Enter(ctx); err != nil {
		return nil, err
	}
	defer h.Leave()
	c, err := h.Connect()
	if err != nil {
		return nil, err
	}
	r := &Rows{h: h, ctx: ctx, c: c}
	if err := r.prepare(query); err != nil {
		r.free()
		return nil, err
	}
	return r, nil
}

// prepare checks the statement and prepares it in a read-only transaction.
func (r *Rows) prepare(query string) error {
	named, made, err := r.check(query)
	if err != nil {
		return err
	}
	for name := range made.macros {
		if err := r.c.Exec(bounded[name]); err != nil {
			return fmt.Errorf("macro %s: %w", name, err)
		}
	}
	views, err := r.h.Views(r.ctx, named)
	if err != nil {
		return err
	}
	if showTables.MatchString(query) {
		query = listViews(views)
	}
	for _, v := range views {
		if err := r.c.Exec("CREATE TEMP VIEW " + v.Name + " AS " + v.SQL); err != nil {
			return fmt.Errorf("view %s: %w", v.Name, err)
		}
	}
	if err := r.bind(query); err != nil {
		return err
	}
	r.describe()
	if slices.ContainsFunc(r.types, func(t columnType) bool { return t.fill == nil }) &&
		bind.PreparedStatementType(r.stmt) == bind.StatementTypeSelect {
		if query, err = r.cast(query); err != nil {
			return err
		}
	}
	return r.h.Begin(r.ctx, r.c, func() error {
		r.h.add(r)
		return r.bind(query) // the plan must be of the snapshot: see driver.Conn.Query
	})
}

var summarize = regexp.MustCompile(`(?i)^\s*summarize\s`)

var explain = regexp.MustCompile(`(?is)^\s*explain(\s+analyze)?(\s*\([^()]*\))?\s`)

// check checks the statement before DuckDB binds it: binding already opens the files
// that a table function names, and even opening and closing the store's own file would
// release this process's lock on it. It returns the tables that the statement names, and what
// it makes values with.
func (r *Rows) check(query string) (named map[string]bool, made *values, err error) {
	var list bind.ExtractedStatements
	n := bind.ExtractStatements(r.c.Handle, query, &list)
	message := bind.ExtractStatementsError(list)
	bind.DestroyExtracted(&list)
	switch {
	case message != "":
		return nil, nil, driver.NewError(message)
	case n != 1:
		return nil, nil, fmt.Errorf("%d statements: %w: give one", n, ErrNotAllowed)
	}
	var tree any
	err = r.c.Query(r.ctx, "SELECT json_serialize_sql(?::VARCHAR)::VARCHAR", []any{explain.ReplaceAllString(query, "")},
		func(ch driver.Chunk) error {
			return json.Unmarshal(driver.Column[driver.Text](ch, 0)[0].Bytes(), &tree)
		})
	if err != nil {
		return nil, nil, err
	}
	if m, ok := tree.(map[string]any); !ok || m["error"] != false {
		return nil, nil, fmt.Errorf("%w: only SELECT, EXPLAIN, DESCRIBE, SHOW and SUMMARIZE are", ErrNotAllowed)
	}
	named, made = map[string]bool{}, &values{}
	if err = checkTree(tree, named); err == nil {
		err = made.check(tree, 0)
	}
	if err == nil {
		err = made.growth()
	}
	return named, made, err
}

// tableFunctions are the table functions that a statement may use. All others might
// read files, or run text as SQL.
var tableFunctions = []string{"range", "generate_series", "unnest", "repeat", "repeat_row", "json_each", "json_tree", "summary",
	"pragma_table_info", "pragma_version", "pragma_database_size", "pragma_storage_info", "duckdb_columns", "duckdb_tables",
	"duckdb_functions", "duckdb_types", "duckdb_keywords", "duckdb_schemas"}

// hidden are the tables that have paths of the machine: who may read the store need not be
// a user of the machine. Views of a lake have the paths of its files in their text.
var hidden = []string{"duckdb_databases", "duckdb_settings", "duckdb_logs", "duckdb_views", "pragma_database_list", "pg_settings",
	"pg_views",
	"sqlite_master", "sqlite_schema", "sqlite_temp_master", "sqlite_temp_schema", "views"}

// checkTree checks a parsed statement, and adds the tables that it names.
func checkTree(tree any, named map[string]bool) error {
	switch node := tree.(type) {
	case []any:
		for _, sub := range node {
			if err := checkTree(sub, named); err != nil {
				return err
			}
		}
	case map[string]any:
		switch node["type"] {
		case "TABLE_FUNCTION":
			call, _ := node["function"].(map[string]any)
			if name, _ := call["function_name"].(string); !slices.Contains(tableFunctions, strings.ToLower(name)) {
				return fmt.Errorf("%w: table function %q", ErrNotAllowed, name)
			}
		case "BASE_TABLE":
			if name, _ := node["table_name"].(string); strings.ContainsAny(name, `./\:*?`) || slices.Contains(hidden, strings.ToLower(name)) {
				return fmt.Errorf("%w: %q as a table", ErrNotAllowed, name)
			}
		case "FUNCTION":
			if name, _ := node["function_name"].(string); strings.EqualFold(name, "current_setting") {
				return fmt.Errorf("%w: settings", ErrNotAllowed)
			}
		}
		if name, ok := node["table_name"].(string); ok {
			named[strings.ToLower(strings.Trim(name, `"`))] = true
		}
		for _, sub := range node {
			if err := checkTree(sub, named); err != nil {
				return err
			}
		}
	}
	return nil
}

// bind prepares a statement.
func (r *Rows) bind(query string) error {
	bind.DestroyPrepare(&r.stmt)
	if bind.Prepare(r.c.Handle, query, &r.stmt) != bind.StateSuccess {
		return driver.NewError(bind.PrepareError(r.stmt))
	}
	if t := bind.PreparedStatementType(r.stmt); t != bind.StatementTypeSelect && t != bind.StatementTypeExplain {
		return fmt.Errorf("%w: only SELECT, EXPLAIN, DESCRIBE, SHOW and SUMMARIZE are", ErrNotAllowed)
	}
	if bind.NParams(r.stmt) > 0 {
		return fmt.Errorf("%w: parameters in a statement", ErrNotAllowed)
	}
	return nil
}

// describe reads the columns of the statement.
func (r *Rows) describe() {
	for i := range bind.PreparedStatementColumnCount(r.stmt) {
		t, ok := columnTypes[bind.PreparedStatementColumnType(r.stmt, i)]
		if !ok {
			t.name = "OTHER"
		}
		r.Columns, r.Types, r.types = append(r.Columns, bind.PreparedStatementColumnName(r.stmt, i)), append(r.Types, t.name), append(r.types, t)
	}
}

// cast returns the statement with columns as text for which Go has no type.
func (r *Rows) cast(query string) (string, error) {
	if summarize.MatchString(query) { // which may stand in a view only so
		query = "FROM (" + strings.TrimRight(query, "; \t\n") + ")"
	}
	if err := r.c.Exec("CREATE TEMP VIEW dendro_result AS " + query); err != nil {
		return "", err
	}
	var names, list []string
	for i, t := range r.types {
		name := fmt.Sprintf("c%d", i)
		names = append(names, name)
		if t.fill == nil {
			name = fmt.Sprintf("CAST(%s AS VARCHAR)", name)
		}
		list = append(list, name)
	}
	return fmt.Sprintf("SELECT %s FROM dendro_result AS r(%s)", strings.Join(list, ", "), strings.Join(names, ", ")), nil
}

// All streams the rows and closes the result at the end. It can be read once.
func (r *Rows) All() iter.Seq2[[]any, error] {
	return func(yield func([]any, error) bool) {
		defer r.Close()
		for {
			rows, err := r.fetch()
			if err != nil {
				yield(nil, err)
				return
			}
			if rows == nil {
				return
			}
			for _, row := range rows {
				if !yield(row, nil) {
					return
				}
			}
		}
	}
}

// fetch returns the next rows, or nil at the end. The database may be closed between
// two fetches.
func (r *Rows) fetch() (rows [][]any, err error) {
	r.h.Reading(func() { rows, err = r.next() })
	return rows, err
}

// next is fetch while the database stays open.
func (r *Rows) next() (rows [][]any, err error) {
	if err := r.ctx.Err(); err != nil {
		return nil, err
	}
	if r.c == nil {
		return nil, fmt.Errorf("%s: %w", r.h.Path, store.ErrReorganised)
	}
	release := r.c.Interruptible(r.ctx)
	defer release()
	stop := r.watched()
	defer func() {
		if stop() && err != nil {
			rows, err = nil, errGrown
		}
	}()
	if !r.begun {
		r.begun = true
		if bind.ExecutePrepared(r.stmt, &r.res) != bind.StateSuccess {
			return nil, r.failure()
		}
	}
	ch, ok := driver.Fetch(&r.res)
	defer ch.Destroy()
	if !ok || ch.Len() == 0 {
		if bind.ResultError(&r.res) != "" {
			return nil, r.failure()
		}
		return nil, nil
	}
	rows = make([][]any, ch.Len())
	cells := make([]any, len(rows)*len(r.Columns))
	for i := range rows {
		rows[i] = cells[i*len(r.Columns) : (i+1)*len(r.Columns) : (i+1)*len(r.Columns)]
	}
	for col, t := range r.types {
		if t.fill == nil { // which was cast
			t = columnTypes[bind.TypeVarchar]
		}
		t.fill(ch, col, rows)
	}
	return rows, nil
}

func (r *Rows) failure() error {
	if err := r.ctx.Err(); err != nil {
		return err
	}
	return driver.Translate(r.h.Path, driver.NewError(bind.ResultError(&r.res)))
}

// Close ends the statement. It may be called more than once.
func (r *Rows) Close() error {
	r.h.Reading(func() {
		r.h.remove(r)
		r.free()
	})
	return nil
}

func (r *Rows) free() {
	if r.c != nil {
		bind.DestroyResult(&r.res)
		bind.DestroyPrepare(&r.stmt)
		r.c.Close()
		r.c = nil
	}
}

// columnType is a type of DuckDB: its name, and how its values are copied. Without, they are read as text.
type columnType struct {
	name string
	fill func(ch driver.Chunk, col int, rows [][]any)
}

var columnTypes = map[bind.Type]columnType{
	bind.TypeBoolean:     {"BOOLEAN", cells(func(v *bool) any { return *v })},
	bind.TypeTinyInt:     {"TINYINT", cells(integer[int8])},
	bind.TypeSmallInt:    {"SMALLINT", cells(integer[int16])},
	bind.TypeInteger:     {"INTEGER", cells(integer[int32])},
	bind.TypeBigInt:      {"BIGINT", cells(integer[int64])},
	bind.TypeUTinyInt:    {"UTINYINT", cells(integer[uint8])},
	bind.TypeUSmallInt:   {"USMALLINT", cells(integer[uint16])},
	bind.TypeUInteger:    {"UINTEGER", cells(integer[uint32])},
	bind.TypeHugeInt:     {"HUGEINT", cells(huge)},
	bind.TypeFloat:       {"FLOAT", cells(func(v *float32) any { return float64(*v) })},
	bind.TypeDouble:      {"DOUBLE", cells(func(v *float64) any { return *v })},
	bind.TypeTimestamp:   {"TIMESTAMP", cells(func(v *int64) any { return time.UnixMicro(*v).UTC() })},
	bind.TypeTimestampTZ: {"TIMESTAMPTZ", cells(func(v *int64) any { return time.UnixMicro(*v).UTC() })},
	bind.TypeTimestampS:  {"TIMESTAMP_S", cells(func(v *int64) any { return time.Unix(*v, 0).UTC() })},
	bind.TypeTimestampMS: {"TIMESTAMP_MS", cells(func(v *int64) any { return time.UnixMilli(*v).UTC() })},
	bind.TypeTimestampNS: {"TIMESTAMP_NS", cells(func(v *int64) any { return time.Unix(0, *v).UTC() })},
	bind.TypeDate:        {"DATE", cells(func(v *int32) any { return time.Unix(int64(*v)*86400, 0).UTC() })},
	bind.TypeBlob:        {"BLOB", cells(func(v *driver.Text) any { return slices.Clone(v.Bytes()) })},
	bind.TypeVarchar:     {"VARCHAR", cells(func(v *driver.Text) any { return v.String() })},

	bind.TypeUBigInt: {name: "UBIGINT"}, bind.TypeUHugeInt: {name: "UHUGEINT"}, bind.TypeDecimal: {name: "DECIMAL"},
	bind.TypeTime: {name: "TIME"}, bind.TypeTimeTZ: {name: "TIMETZ"}, bind.TypeInterval: {name: "INTERVAL"},
	bind.TypeEnum: {name: "ENUM"}, bind.TypeList: {name: "LIST"}, bind.TypeStruct: {name: "STRUCT"}, bind.TypeMap: {name: "MAP"},
	bind.TypeArray: {name: "ARRAY"}, bind.TypeUnion: {name: "UNION"}, bind.TypeUUID: {name: "UUID"}, bind.TypeBit: {name: "BIT"},
}

// cells reads a column in place: a text must not be copied as a struct.
func cells[T any](value func(*T) any) func(ch driver.Chunk, col int, rows [][]any) {
	return func(ch driver.Chunk, col int, rows [][]any) {
		data, valid := driver.Column[T](ch, col), ch.Valid(col)
		for i := range rows {
			if valid.At(i) {
				rows[i][col] = value(&data[i])
			}
		}
	}
}

func integer[T int8 | int16 | int32 | int64 | uint8 | uint16 | uint32](v *T) any { return int64(*v) }

// huge returns a 128-bit integer, the type of every sum of integers in DuckDB, as an
// int64 if it fits and as text otherwise.
func huge(v *[2]uint64) any {
	lower, upper := v[0], int64(v[1])
	if upper == int64(lower)>>63 {
		return int64(lower)
	}
	n := new(big.Int).Lsh(big.NewInt(upper), 64)
	return n.Add(n, new(big.Int).SetUint64(lower)).String()
}
