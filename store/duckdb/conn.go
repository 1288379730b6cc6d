package duckdb

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
	"unsafe"

	bind "github.com/duckdb/duckdb-go-bindings"
)

// instance is one open DuckDB and its idle connections. DuckDB connections are
// cheap but their prepared statements and appenders are not, so both are kept.
type instance struct {
	db bind.Database

	mu   sync.Mutex
	idle []*conn
}

// conn is a connection with what it has prepared. It serves one goroutine.
type conn struct {
	c         bind.Connection
	prepared  map[string]bind.PreparedStatement
	appenders map[string]*appender
}

// openInstance opens the file with DuckDB's settings. Nothing outside of the
// file may be touched through the instance unless external says so: users' SQL
// runs on it, and the setting belongs to the instance, not to a connection.
func openInstance(path string, readOnly, external bool, opts Options) (*instance, error) {
	var config bind.Config
	if bind.CreateConfig(&config) != bind.StateSuccess {
		return nil, fmt.Errorf("duckdb: no memory for a configuration")
	}
	defer bind.DestroyConfig(&config)
	settings := [][2]string{
		{"enable_external_access", fmt.Sprint(external)},
		{"autoinstall_known_extensions", "false"},
		{"autoload_known_extensions", "false"},
		{"allow_community_extensions", "false"},
		{"wal_autocheckpoint", "64MiB"}, // a checkpoint rewrites the last row group of every table
		{"default_block_size", "65536"}, // of new files: a table that has little still takes a block
		{"lock_configuration", "true"},
	}
	if readOnly {
		settings = append(settings, [2]string{"access_mode", "READ_ONLY"})
	}
	if opts.MemoryLimit != "" {
		settings = append(settings, [2]string{"memory_limit", opts.MemoryLimit})
	}
	if opts.Threads > 0 {
		settings = append(settings, [2]string{"threads", fmt.Sprint(opts.Threads)})
	}
	if opts.TempDir != "" {
		settings = append(settings, [2]string{"temp_directory", opts.TempDir})
	}
	for _, s := range settings {
		if bind.SetConfig(config, s[0], s[1]) != bind.StateSuccess {
			return nil, fmt.Errorf("%q is no value of DuckDB's %s", s[1], s[0])
		}
	}
	in := &instance{}
	var message string
	if bind.OpenExt(path, &in.db, config, &message) != bind.StateSuccess {
		return nil, &dbError{message: message}
	}
	return in, nil
}

// close disconnects the idle connections and closes the file. All connections
// must have been put back.
func (in *instance) close() {
	in.mu.Lock()
	defer in.mu.Unlock()
	for _, c := range in.idle {
		c.close()
	}
	in.idle = nil
	bind.Close(&in.db)
}

func (in *instance) get() (*conn, error) {
	in.mu.Lock()
	if n := len(in.idle); n > 0 {
		c := in.idle[n-1]
		in.idle = in.idle[:n-1]
		in.mu.Unlock()
		return c, nil
	}
	in.mu.Unlock()
	return in.connect()
}

func (in *instance) connect() (*conn, error) {
	c := &conn{prepared: map[string]bind.PreparedStatement{}, appenders: map[string]*appender{}}
	if bind.Connect(in.db, &c.c) != bind.StateSuccess {
		return nil, fmt.Errorf("duckdb: cannot connect")
	}
	return c, c.exec(selectedTable + "; " + wantedTable)
}

func (in *instance) put(c *conn) {
	in.mu.Lock()
	in.idle = append(in.idle, c)
	in.mu.Unlock()
}

func (c *conn) close() {
	c.dropAppenders()
	for _, p := range c.prepared {
		bind.DestroyPrepare(&p)
	}
	bind.Disconnect(&c.c)
}

// dropAppenders destroys the appenders; after an error they are of no use.
func (c *conn) dropAppenders() {
	for name, a := range c.appenders {
		a.destroy()
		delete(c.appenders, name)
	}
}

// exec runs statements without parameters and results.
func (c *conn) exec(sql string) error {
	var res bind.Result
	defer bind.DestroyResult(&res)
	if bind.Query(c.c, sql, &res) != bind.StateSuccess {
		return resultError(&res, sql)
	}
	return nil
}

// query runs a statement and hands each chunk of its result to each, which may be
// nil. A chunk is valid during the call.
//
// DuckDB plans with what it knows of the tables at that moment: it drops a
// condition that all rows meet, and reads a number of rows off the plan. A
// statement is therefore planned and run in one transaction: as text, or, with
// parameters, inside of BEGIN and COMMIT. Only plain INSERTs are kept prepared.
func (c *conn) query(ctx context.Context, sql string, args []any, each func(chunk) error) error {
	return c.run(ctx, sql, args, each, func() {})
}

// run is query that calls done before the result goes away, and with it the
// memory of the chunks that were kept. The result is complete before its first
// chunk is seen: a streaming one has constant vectors, which the C interface
// cannot tell from flat ones.
func (c *conn) run(ctx context.Context, sql string, args []any, each func(chunk) error, done func()) error {
	var res bind.Result
	defer bind.DestroyResult(&res)
	defer done()
	if err := ctx.Err(); err != nil {
		return err
	}
	defer c.interruptible(ctx)()
	if err := c.execute(sql, args, &res); err != nil {
		return cmp.Or(ctx.Err(), err)
	}
	for each != nil {
		ch := chunk{bind.FetchChunk(res)}
		if ch.c.Ptr == nil {
			break
		}
		err := each(ch)
		if err != errKept {
			bind.DestroyDataChunk(&ch.c)
			if err != nil {
				return err
			}
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	return nil
}

// execute runs a statement to its end.
func (c *conn) execute(sql string, args []any, res *bind.Result) error {
	if len(args) == 0 {
		if bind.Query(c.c, sql, res) != bind.StateSuccess {
			return resultError(res, sql)
		}
		return nil
	}
	stmt, kept := c.prepared[sql]
	if !kept {
		if bind.Prepare(c.c, sql, &stmt) != bind.StateSuccess {
			err := &dbError{message: bind.PrepareError(stmt), sql: sql}
			bind.DestroyPrepare(&stmt)
			return err
		}
		if strings.HasPrefix(sql, "INSERT") {
			c.prepared[sql] = stmt
		} else {
			defer bind.DestroyPrepare(&stmt)
		}
	}
	if err := bindAll(stmt, args); err != nil {
		return fmt.Errorf("%w in %s", err, sql)
	}
	if bind.ExecutePrepared(stmt, res) != bind.StateSuccess {
		return resultError(res, sql)
	}
	return nil
}

// errKept is what a receiver of chunks returns that will destroy the chunk.
var errKept = errors.New("kept")

// spread is query with chunks handed to f on all processors. F must not write to
// them.
func (c *conn) spread(ctx context.Context, sql string, f func(worker int, ch chunk)) error {
	workers := processors
	jobs := make(chan chunk, 2*workers)
	var wg sync.WaitGroup
	work := sync.OnceFunc(func() {
		for w := range workers {
			wg.Go(func() {
				for ch := range jobs {
					f(w, ch)
					bind.DestroyDataChunk(&ch.c)
				}
			})
		}
	})
	return c.run(ctx, sql, nil, func(ch chunk) error {
		work()
		jobs <- ch
		return errKept
	}, func() {
		close(jobs)
		wg.Wait()
	})
}

// interruptible stops what the connection is doing when ctx ends. The returned
// function ends that, and returns only when no interrupt can come any more.
func (c *conn) interruptible(ctx context.Context) (release func()) {
	if ctx.Done() == nil {
		return func() {}
	}
	done := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		bind.Interrupt(c.c)
		close(done)
	})
	return func() {
		if !stop() {
			<-done
		}
	}
}

func bindAll(stmt bind.PreparedStatement, args []any) error {
	for i, arg := range args {
		if bindOne(stmt, bind.IdxT(i+1), arg) != bind.StateSuccess {
			return fmt.Errorf("duckdb: parameter %d does not fit", i+1)
		}
	}
	return nil
}

func bindOne(stmt bind.PreparedStatement, n bind.IdxT, arg any) bind.State {
	switch v := arg.(type) {
	case int32:
		return bind.BindInt32(stmt, n, v)
	case int64:
		return bind.BindInt64(stmt, n, v)
	case uint8:
		return bind.BindUInt8(stmt, n, v)
	case float64:
		return bind.BindDouble(stmt, n, v)
	case bool:
		return bind.BindBoolean(stmt, n, v)
	case string:
		return bind.BindVarchar(stmt, n, v)
	case []byte:
		return bind.BindBlob(stmt, n, v)
	case time.Time:
		if v.IsZero() {
			return bind.BindNull(stmt, n)
		}
		value := bind.CreateTimestampNS(bind.NewTimestampNS(v.UnixNano()))
		defer bind.DestroyValue(&value)
		return bind.BindValue(stmt, n, value)
	case map[string]string:
		value := mapValue(v)
		defer bind.DestroyValue(&value)
		return bind.BindValue(stmt, n, value)
	}
	panic(fmt.Sprintf("duckdb: parameter of type %T", arg))
}

func mapValue(m map[string]string) bind.Value {
	varchar := bind.CreateLogicalType(bind.TypeVarchar)
	defer bind.DestroyLogicalType(&varchar)
	typ := bind.CreateMapType(varchar, varchar)
	defer bind.DestroyLogicalType(&typ)
	var keys, values []bind.Value
	for _, k := range slices.Sorted(maps.Keys(m)) {
		keys, values = append(keys, bind.CreateVarchar(k)), append(values, bind.CreateVarchar(m[k]))
	}
	value := bind.CreateMapValue(typ, keys, values)
	for i := range keys {
		bind.DestroyValue(&keys[i])
		bind.DestroyValue(&values[i])
	}
	return value
}

// chunk is a part of a result: some thousand rows as columns in DuckDB's memory.
type chunk struct{ c bind.DataChunk }

func (ch chunk) len() int { return int(bind.DataChunkGetSize(ch.c)) }

// column returns a column of fixed width as a slice over DuckDB's memory. T
// must be the type of the column.
func column[T any](ch chunk, i int) []T {
	v := bind.DataChunkGetVector(ch.c, bind.IdxT(i))
	return unsafe.Slice((*T)(bind.VectorGetData(v)), ch.len())
}

// valid returns the validity mask of a column; nil when nothing is NULL.
func (ch chunk) valid(i int) validity {
	v := bind.DataChunkGetVector(ch.c, bind.IdxT(i))
	p := bind.VectorGetValidity(v)
	if p == nil {
		return nil
	}
	return unsafe.Slice((*uint64)(p), (ch.len()+63)/64)
}

type validity []uint64

func (v validity) at(row int) bool { return v == nil || v[row/64]>>(row%64)&1 == 1 }

// text is DuckDB's string_t: short ones lie inside, long ones behind a pointer.
// It is only ever looked at in DuckDB's memory, never copied.
type text struct {
	length uint32
	inline [4]byte
	data   unsafe.Pointer
}

// bytes returns the content, which belongs to DuckDB.
func (t *text) bytes() []byte {
	if t.length <= 12 {
		return unsafe.Slice(&t.inline[0], 12)[:t.length]
	}
	return unsafe.Slice((*byte)(t.data), t.length)
}

func (t *text) String() string { return string(t.bytes()) }

// texts copies a VARCHAR column; NULL becomes the empty string.
func (ch chunk) texts(i int) []string {
	col, ok := column[text](ch, i), ch.valid(i)
	list := make([]string, len(col))
	for row := range col {
		if ok.at(row) {
			list[row] = col[row].String()
		}
	}
	return list
}

// textMaps copies a MAP(VARCHAR, VARCHAR) column.
func (ch chunk) textMaps(i int) []map[string]string {
	v := bind.DataChunkGetVector(ch.c, bind.IdxT(i))
	entries := unsafe.Slice((*[2]uint64)(bind.VectorGetData(v)), ch.len())
	child := bind.ListVectorGetChild(v)
	size := int(bind.ListVectorGetSize(v))
	keys := unsafe.Slice((*text)(bind.VectorGetData(bind.StructVectorGetChild(child, 0))), size)
	values := unsafe.Slice((*text)(bind.VectorGetData(bind.StructVectorGetChild(child, 1))), size)
	list := make([]map[string]string, len(entries))
	for row, e := range entries {
		if e[1] == 0 {
			continue
		}
		m := make(map[string]string, e[1])
		for k := e[0]; k < e[0]+e[1]; k++ {
			m[keys[k].String()] = values[k].String()
		}
		list[row] = m
	}
	return list
}

// appender writes rows of one table in chunks of columns.
type appender struct {
	a     bind.Appender
	chunk bind.DataChunk
	types []bind.LogicalType
}

// nullTime is a timestamp column in which the zero time is NULL.
type nullTime []time.Time

// appender returns the connection's appender of a table ("main" of the catalog).
func (c *conn) appender(catalog, table string) (*appender, error) {
	key := catalog + "." + table
	if a, ok := c.appenders[key]; ok {
		return a, nil
	}
	a := &appender{}
	if bind.AppenderCreateExt(c.c, catalog, "main", table, &a.a) != bind.StateSuccess {
		err := &dbError{message: bind.AppenderError(a.a), sql: "append to " + table}
		bind.AppenderDestroy(&a.a)
		return nil, err
	}
	for i := range bind.AppenderColumnCount(a.a) {
		a.types = append(a.types, bind.AppenderColumnType(a.a, i))
	}
	a.chunk = bind.CreateDataChunk(a.types)
	c.appenders[key] = a
	return a, nil
}

func (a *appender) destroy() {
	bind.DestroyDataChunk(&a.chunk)
	for i := range a.types {
		bind.DestroyLogicalType(&a.types[i])
	}
	bind.AppenderDestroy(&a.a)
}

// append writes n rows given as one slice per column of the table, and flushes
// them into the transaction of the connection.
//
// Few rows are inserted one by one: an appender's flush is planned anew each
// time, which takes as long as four statements that are prepared.
func (c *conn) append(table string, n int, columns ...any) error {
	if n > 3 {
		return c.appendTo("", table, n, columns...)
	}
	sql := "INSERT INTO " + table + " VALUES (?" + strings.Repeat(", ?", len(columns)-1) + ")"
	args := make([]any, len(columns))
	for row := range n {
		for i, col := range columns {
			args[i] = cell(col, row)
		}
		if err := c.query(context.Background(), sql, args, nil); err != nil {
			return err
		}
	}
	return nil
}

// cell returns one value of a column.
func cell(column any, row int) any {
	switch col := column.(type) {
	case []int32:
		return col[row]
	case []int64:
		return col[row]
	case []uint8:
		return col[row]
	case []float64:
		return col[row]
	case []bool:
		return col[row]
	case []string:
		return col[row]
	case [][]byte:
		return col[row]
	case nullTime:
		return col[row]
	case []map[string]string:
		return col[row]
	}
	panic(fmt.Sprintf("duckdb: column of type %T", column))
}

func (c *conn) appendTo(catalog, table string, n int, columns ...any) error {
	if n == 0 {
		return nil
	}
	a, err := c.appender(catalog, table)
	if err != nil {
		return err
	}
	if len(columns) != len(a.types) {
		panic("duckdb: columns of " + table)
	}
	step := int(bind.VectorSize())
	for from := 0; from < n; from += step {
		to := min(from+step, n)
		bind.DataChunkReset(a.chunk)
		for i, col := range columns {
			fillVector(bind.DataChunkGetVector(a.chunk, bind.IdxT(i)), col, from, to)
		}
		bind.DataChunkSetSize(a.chunk, bind.IdxT(to-from))
		if bind.AppendDataChunk(a.a, a.chunk) != bind.StateSuccess {
			return &dbError{message: bind.AppenderError(a.a), sql: "append to " + table}
		}
	}
	if bind.AppenderFlush(a.a) != bind.StateSuccess {
		return &dbError{message: bind.AppenderError(a.a), sql: "append to " + table}
	}
	return nil
}

// fillVector copies rows from..to of a column into a vector.
func fillVector(v bind.Vector, column any, from, to int) {
	switch col := column.(type) {
	case []int32:
		copyVector(v, col[from:to])
	case []int64:
		copyVector(v, col[from:to])
	case []uint8:
		copyVector(v, col[from:to])
	case []float64:
		copyVector(v, col[from:to])
	case []bool:
		copyVector(v, col[from:to])
	case []string:
		for i, s := range col[from:to] {
			bind.VectorAssignStringElement(v, bind.IdxT(i), s)
		}
	case [][]byte:
		for i, b := range col[from:to] {
			bind.UnsafeVectorAssignStringElementLen(v, bind.IdxT(i), b)
		}
	case nullTime:
		fillTimes(v, col[from:to])
	case []map[string]string:
		fillMaps(v, col[from:to])
	default:
		panic(fmt.Sprintf("duckdb: column of type %T", column))
	}
}

func copyVector[T any](v bind.Vector, rows []T) {
	copy(unsafe.Slice((*T)(bind.VectorGetData(v)), len(rows)), rows)
}

func fillTimes(v bind.Vector, rows []time.Time) {
	data := unsafe.Slice((*int64)(bind.VectorGetData(v)), len(rows))
	for i, t := range rows {
		if t.IsZero() {
			bind.VectorEnsureValidityWritable(v)
			bind.ValiditySetRowInvalid(bind.VectorGetValidity(v), bind.IdxT(i))
			continue
		}
		data[i] = t.UnixNano()
	}
}

func fillMaps(v bind.Vector, rows []map[string]string) {
	size := 0
	for _, m := range rows {
		size += len(m)
	}
	bind.ListVectorReserve(v, bind.IdxT(size))
	bind.ListVectorSetSize(v, bind.IdxT(size))
	entries := unsafe.Slice((*[2]uint64)(bind.VectorGetData(v)), len(rows))
	child := bind.ListVectorGetChild(v)
	keys, values := bind.StructVectorGetChild(child, 0), bind.StructVectorGetChild(child, 1)
	next := 0
	for i, m := range rows {
		entries[i] = [2]uint64{uint64(next), uint64(len(m))}
		for _, k := range slices.Sorted(maps.Keys(m)) {
			bind.VectorAssignStringElement(keys, bind.IdxT(next), k)
			bind.VectorAssignStringElement(values, bind.IdxT(next), m[k])
			next++
		}
	}
}
