package driver

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	bind "github.com/duckdb/duckdb-go-bindings"
)

// Conn is a connection with its prepared statements and appenders. It serves one
// goroutine at a time.
type Conn struct {
	Handle    bind.Connection
	prepared  map[string]bind.PreparedStatement
	appenders map[string]*appender
	tx        transaction
}

// Close disconnects.
func (c *Conn) Close() {
	c.DropAppenders()
	for _, p := range c.prepared {
		bind.DestroyPrepare(&p)
	}
	bind.Disconnect(&c.Handle)
}

// DropAppenders destroys the appenders. They keep the database of their table attached.
func (c *Conn) DropAppenders() {
	for name, a := range c.appenders {
		a.destroy()
		delete(c.appenders, name)
	}
}

// observer is called with every statement; nil: none is. Tests count with it.
var observer atomic.Pointer[func(sql string)]

// Observe calls f with every statement that this process runs from now on until stop is
// called, but not with rows that are appended. It replaces an earlier f.
func Observe(f func(sql string)) (stop func()) {
	observer.Store(&f)
	return func() { observer.Store(nil) }
}

func observed(sql string) {
	if f := observer.Load(); f != nil {
		(*f)(sql)
	}
}

// Exec runs statements that have no parameters and whose results are not needed.
func (c *Conn) Exec(sql string) error {
	var res bind.Result
	defer bind.DestroyResult(&res)
	return c.execute(sql, nil, &res)
}

// Query runs a statement and calls each, which may be nil, with each chunk of its
// result. A chunk is valid during the call.
//
// DuckDB plans a statement with the statistics of that moment: it drops a
// condition that all rows meet, and takes a number of rows from the plan. A
// statement is therefore planned and run in one transaction. Only plain INSERTs,
// and what begins and ends a transaction, are kept prepared.
func (c *Conn) Query(ctx context.Context, sql string, args []any, each func(Chunk) error) error {
	return c.run(ctx, sql, args, each, func() {})
}

// run is Query that calls done before it destroys the result, and with it the
// memory of the chunks that were kept. The result is complete before its first
// chunk is read: a streaming result has constant vectors, which the C interface
// cannot tell from flat ones.
func (c *Conn) run(ctx context.Context, sql string, args []any, each func(Chunk) error, done func()) error {
	var res bind.Result
	defer bind.DestroyResult(&res)
	defer done()
	if err := ctx.Err(); err != nil {
		return err
	}
	defer c.Interruptible(ctx)()
	if err := c.execute(sql, args, &res); err != nil {
		return cmp.Or(ctx.Err(), err)
	}
	for each != nil {
		ch, ok := Fetch(&res)
		if !ok {
			break
		}
		err := each(ch)
		if err != errKept {
			ch.Destroy()
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

// execute runs a statement to its end, in the transaction that was begun.
func (c *Conn) execute(sql string, args []any, res *bind.Result) error {
	if err := c.enter(); err != nil {
		return err
	}
	observed(sql)
	transaction := sql == "BEGIN TRANSACTION" || sql == "COMMIT"
	if len(args) == 0 && !transaction {
		if bind.Query(c.Handle, sql, res) != bind.StateSuccess {
			return resultError(res, sql)
		}
		return nil
	}
	stmt, kept := c.prepared[sql]
	if !kept {
		if bind.Prepare(c.Handle, sql, &stmt) != bind.StateSuccess {
			err := &Error{message: bind.PrepareError(stmt), sql: sql}
			bind.DestroyPrepare(&stmt)
			return err
		}
		if transaction || strings.HasPrefix(sql, "INSERT") {
			c.prepared[sql] = stmt
		} else {
			defer bind.DestroyPrepare(&stmt)
		}
	}
	if err := bindAll(stmt, args); err != nil {
		return fmt.Errorf("%w in %s", err, sql)
	}
	return finish(stmt, res, sql)
}

// idle is how long finish sleeps when there is nothing to do for it.
const idle = 50 * time.Microsecond

// finish executes a prepared statement. It takes part in the work, and sleeps while the threads
// of the database have the rest of it: DuckDB's own call asks for work all the time, for as long
// as a commit waits for the disk.
func finish(stmt bind.PreparedStatement, res *bind.Result, sql string) error {
	var pending bind.PendingResult
	defer bind.DestroyPending(&pending)
	if bind.PendingPrepared(stmt, &pending) != bind.StateSuccess {
		return &Error{message: bind.PendingError(pending), sql: sql}
	}
	for {
		state := bind.PendingExecuteTask(pending)
		if state == bind.PendingStateError {
			return &Error{message: bind.PendingError(pending), sql: sql}
		}
		if bind.PendingExecutionIsFinished(state) {
			break
		}
		if state == bind.PendingStateNoTasksAvailable {
			time.Sleep(idle)
		}
	}
	if bind.ExecutePending(pending, res) != bind.StateSuccess {
		return resultError(res, sql)
	}
	return nil
}

// errKept is returned by a function that destroys the chunk itself, later.
var errKept = errors.New("kept")

// QueryParallel runs a statement and calls f with each chunk of its result on
// several goroutines, numbered below Workers. F must not write to the chunks.
func (c *Conn) QueryParallel(ctx context.Context, sql string, f func(worker int, ch Chunk)) error {
	jobs := make(chan Chunk, 2*Workers)
	var wg sync.WaitGroup
	work := sync.OnceFunc(func() {
		for w := range Workers {
			wg.Go(func() {
				for ch := range jobs {
					f(w, ch)
					ch.Destroy()
				}
			})
		}
	})
	return c.run(ctx, sql, nil, func(ch Chunk) error {
		work()
		jobs <- ch
		return errKept
	}, func() {
		close(jobs)
		wg.Wait()
	})
}

// Interruptible interrupts the running statement when ctx ends, until release is
// called: again and again, because DuckDB forgets an interrupt that comes before a statement
// has begun. No interrupt comes after release has returned.
func (c *Conn) Interruptible(ctx context.Context) (release func()) {
	if ctx.Done() == nil {
		return func() {}
	}
	released, done := make(chan struct{}), make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(done)
		for {
			bind.Interrupt(c.Handle)
			select {
			case <-released:
				return
			case <-time.After(10 * time.Millisecond):
			}
		}
	})
	return func() {
		if !stop() {
			close(released)
			<-done
		}
	}
}

// bindAll binds parameters or pointers to them, as Rows has them.
func bindAll(stmt bind.PreparedStatement, args []any) error {
	for i, arg := range args {
		if p := reflect.ValueOf(arg); p.Kind() == reflect.Pointer {
			arg = p.Elem().Interface()
		}
		if bindOne(stmt, bind.IdxT(i+1), arg) != bind.StateSuccess {
			return fmt.Errorf("duckdb: cannot bind parameter %d", i+1)
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

// ReadTx runs functions one after the other in one transaction that is rolled back,
// so that their rows in temporary tables are removed afterwards.
func (c *Conn) ReadTx(steps ...func() error) error {
	if err := c.Exec("BEGIN TRANSACTION"); err != nil {
		return err
	}
	var err error
	for _, step := range steps {
		if err = step(); err != nil {
			break
		}
	}
	if end := c.Exec("ROLLBACK"); err == nil {
		err = end
	}
	return err
}
