// Package cost says what a request may cost, and counts it before it is spent.
//
//	limits (flags) ─▶ Account of one request ─▶ context ─▶ handlers, readers, stores: Spend in every loop
//
// An Account counts units of work, each with a maximum. Code that reads, expands, builds or
// compares asks it first: Spend fails before the work is done, with an error that names the
// limit, its unit and its flag. It also fails once the context of the request has ended, so
// that a loop that spends needs no other check.
//
// What requests share, such as memory of the server, is counted elsewhere
// (app/internal/server.Budget): an Account bounds one request, and takes units that have a
// Pool from there, too.
package cost

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"
)

// Unit is what is counted.
type Unit uint8

// The units.
const (
	Read     Unit = iota // bytes as they were sent
	Expanded             // bytes that they become: decompressed, decoded, copied into keys
	Rows                 // samples, windows, rows of a result
	Paths                // call paths
	Steps                // of patterns: the size of a compiled pattern times the bytes of texts
	Memory               // bytes that stay in memory until the request ends
	units
)

// Limit is the maximum of one unit. Zero does not limit.
type Limit struct {
	Max  int64
	What string // is limited, in words: `bytes of a decompressed profile`
	Flag string // that raises it; empty: none does

	// Pool takes units from what requests share, until the request ends; nil: they share
	// nothing. Its error is that of Spend.
	Pool func(ctx context.Context, n int64) error
}

// Limits are what one request may cost. The zero value does not limit.
type Limits struct {
	Read, Expanded, Rows, Paths, Steps, Memory Limit
	Time                                       Limit // in milliseconds
}

// Exceeded is the error of work that would cost more than a limit allows. The work was not
// done.
type Exceeded struct {
	Limit
	Value int64 // that the work would have reached
}

// Error names what is limited, value, maximum and flag.
func (e *Exceeded) Error() string {
	text := fmt.Sprintf("%s: %d, the maximum is %d", e.What, e.Value, e.Max)
	if e.Flag != "" {
		text += " (raise it with " + e.Flag + ")"
	}
	return text
}

// Check returns an Exceeded if value is above the limit, for work that is counted as a whole.
func (l Limit) Check(value int64) error {
	if l.Max > 0 && value > l.Max {
		return &Exceeded{l, value}
	}
	return nil
}

// Account is what one request has spent. It is safe for concurrent use; a nil Account does not
// limit.
type Account struct {
	limits [units]Limit
	spent  [units]atomic.Int64
	ctx    context.Context
}

// Spend counts n units before they are spent. If they are more than is left, nothing is
// counted, and the error is an Exceeded, or that of the pool; if the request has ended, it is
// the cause.
func (a *Account) Spend(u Unit, n int64) error {
	if a == nil {
		return nil
	}
	if a.ctx.Err() != nil {
		return context.Cause(a.ctx)
	}
	spent := a.spent[u].Add(n)
	err := a.limits[u].Check(spent)
	if pool := a.limits[u].Pool; err == nil && pool != nil {
		err = pool(a.ctx, n)
	}
	if err != nil {
		a.spent[u].Add(-n)
	}
	return err
}

// Spent returns the units that were counted.
func (a *Account) Spent(u Unit) int64 {
	if a == nil {
		return 0
	}
	return a.spent[u].Load()
}

type accountKey struct{}

// Begin opens the account of a request and returns its context, which ends with end or after
// Limits.Time.
func Begin(ctx context.Context, l Limits) (_ context.Context, end context.CancelFunc) {
	if t := l.Time; t.Max > 0 {
		late := &Exceeded{t, t.Max + 1}
		ctx, end = context.WithTimeoutCause(ctx, time.Duration(t.Max)*time.Millisecond, late)
	} else {
		ctx, end = context.WithCancel(ctx)
	}
	a := &Account{limits: [units]Limit{l.Read, l.Expanded, l.Rows, l.Paths, l.Steps, l.Memory}, ctx: ctx}
	return context.WithValue(ctx, accountKey{}, a), end
}

// Of returns the account of a context; nil, which does not limit, if it has none. Call it once
// before a loop.
func Of(ctx context.Context) *Account {
	a, _ := ctx.Value(accountKey{}).(*Account)
	return a
}
