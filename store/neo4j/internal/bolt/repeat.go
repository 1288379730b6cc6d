package bolt

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"
)

// Tries is the maximum number of attempts of a query that meets changes, and of an
// import that meets another one.
const Tries = 12

// ChangedError reports that data is inconsistent because another transaction changed it
// at the same time. Again repeats the work.
type ChangedError struct{ What string }

// Error describes what is inconsistent.
func (e *ChangedError) Error() string { return "the store changed meanwhile: " + e.What }

// Changed returns a ChangedError.
func Changed(format string, args ...any) error {
	return &ChangedError{fmt.Sprintf(format, args...)}
}

// CheckCount returns an error if a statement did not write all its rows: MATCH silently
// drops rows that it does not find.
func CheckCount(what string, n int64, want int) error {
	if n != int64(want) {
		return Changed("%d of %d %s were written", n, want, what)
	}
	return nil
}

// Again calls f until it does not fail because of changes by others.
func Again(ctx context.Context, f func() error) error {
	for try := 1; ; try++ {
		err := f()
		var changed *ChangedError
		if err == nil || try == Tries || !errors.As(err, &changed) && !HasCode(err, codeNoEntity, codeConstraint) {
			return err
		}
		pause := time.Duration(1<<try) * time.Millisecond
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(pause/2 + rand.N(pause)):
		}
	}
}
