package continuous

import (
	"context"
	"time"
)

// Outcome is what PutWindows did with one window.
type Outcome uint8

// The outcomes.
const (
	Stored   Outcome = iota
	Repeated         // stored before, with the same content
	TooLarge         // not stored: what brings windows to a store has no message of that size
)

// Store stores windows. Engines of package store implement it too; package storetest tests
// it.
//
// As with store.Store, no transaction spans two calls. If a call returns no error, what it
// wrote survives a crash; if it fails, it wrote nothing. Methods are safe for concurrent
// use. Arguments are not retained, and results are not shared.
//
// Answers have each pushed window once, whatever levels there are: the raw windows where
// they are kept, and the sums of hours and days for the rest and where a whole hour or day
// is selected. Where only a sum is left, it belongs to a selection if its start does. A selection
// by a label that sums lack (Policy.Instance) reads raw windows only, and is a SummedError if sums
// of its time may have more of it.
type Store interface {
	// PutWindows stores windows in one transaction, in any order of time. A window that
	// Window.Check refuses is an error of the call. A repeat is found as long as the raw
	// window is kept, that of an untimed window within RepeatWithin.
	PutWindows(ctx context.Context, list []*Window) ([]Outcome, error)

	// Series lists the series that match and have a window in the time, in order of
	// service, type and labels: those of raw windows where they are kept, and of sums for the rest.
	Series(ctx context.Context, q Query) ([]Series, error)

	// Totals lists the windows of the selection, as coarse as step allows: windows of
	// hours and days are used where step is at least that long. Step 0 is the finest
	// that is kept.
	Totals(ctx context.Context, q Query, step time.Duration) (*Totals, error)

	// Tree adds up the windows of the selection, of one type.
	Tree(ctx context.Context, q Query) (*Merged, error)

	// Function returns what the function of that name took in each window; step as in
	// Totals.
	Function(ctx context.Context, q Query, name string, step time.Duration) (*Amounts, error)

	// RollUp makes the hours and days, without labels of instances, that ended before now (callers give programs a few
	// minutes to push the last windows of an hour), adds late windows to
	// theirs, and removes what is older than the policy keeps. It may be killed at any
	// moment: nothing is counted twice or lost.
	RollUp(ctx context.Context, now time.Time, p Policy) (Rolled, error)

	// WindowStats counts series and windows.
	WindowStats(ctx context.Context) (Stats, error)
}

// Taker takes windows: a Store, or what brings them to one.
type Taker interface {
	PutWindows(ctx context.Context, list []*Window) ([]Outcome, error)
}

// Aging is a Taker that does not take old windows.
type Aging interface {
	// MaxAge returns the maximum age of a window at its end, and what raises it; 0: there is none.
	MaxAge() (most time.Duration, setting string)
}

// Versioned is a Store that knows when its windows changed, because no other program can change them:
// answers about those of a service hold while the version is the same. Later versions are larger.
// Versions of two openings do not compare.
type Versioned interface {
	WindowsVersion(service string) uint64 // of every service if it is empty
}

// Follower is a Store that holds the windows of a log, and keeps how far it has read: whatever
// ends it, it has exactly the windows of the records before its position.
type Follower interface {
	// PutRead stores windows as PutWindows does, which may be none, and the position behind them
	// in the same transaction.
	PutRead(ctx context.Context, list []*Window, behind Position) ([]Outcome, error)
	// Position returns the position of the next record to read; zero if none was read.
	Position(ctx context.Context) (Position, error)
}

// Position is how far a log was read.
type Position struct {
	Next int64 // record to read
	// From is the time from which on all windows were read: earlier ones were in records that the log
	// did not have any more. Zero: all were.
	From time.Time
	// Kept is the time from which on the store keeps windows: it has removed earlier ones. Zero: none.
	// PutRead does not need it.
	Kept time.Time
}

// Limited is a Store whose forest of call paths has a limited size. Stacks for which there is no
// room are together in the path Other.
type Limited interface {
	// Limit sets the limits, before windows are stored.
	Limit(Room)
	// HasRoom reports whether a series is stored, or has room: one of the service with so many
	// bytes of labels and facts.
	HasRoom(k Key, service string, bytes int64) bool
	// Forest returns the size of the forest.
	Forest(ctx context.Context) (Forest, error)
	// Unused counts the paths that nothing uses any more, which Compact of the engine removes.
	// It reads all windows.
	Unused(ctx context.Context) (paths int64, err error)
}

// Other is the function of stacks for which a store has no room.
const Other = "(other)"

// Room is the maximum size of a forest; zero fields do not limit.
type Room struct {
	Paths int64
	Text  int64 // bytes of the names and places of functions, and of labels and facts of series
	Share int   // of both that the windows of one service may add, in percent; 0: all
}

// Part returns the share of a service of a maximum.
func (r *Room) Part(of int64) int64 {
	if r.Share <= 0 || r.Share >= 100 {
		return of
	}
	return of * int64(r.Share) / 100
}

// Forest is the size of a forest.
type Forest struct {
	Paths  int64
	Text   int64 // bytes of the names and places of functions, and of labels and facts of series
	Folded int64 // values of stacks that were added to Other since the store was opened
}
