package store

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// Errors that callers branch on.
var (
	// ErrLocked: another process owns the store.
	ErrLocked = errors.New("the store is in use by another process")
	// ErrReorganised: the store was compacted while the result of a statement was read; the
	// same statement works again.
	ErrReorganised = errors.New("the store was reorganised meanwhile: send the statement again")
	// ErrOlder: an older Dendro wrote the store, and it was opened read-only: opening
	// it for writing brings it up to date. Or no release wrote it.
	ErrOlder = errors.New("the store was written by an older version")
	// ErrNewer: a newer Dendro wrote the store.
	ErrNewer = errors.New("the store was written by a newer version")
	// ErrNotStore: the file or database holds something else.
	ErrNotStore = errors.New("not a Dendro store")
	// ErrCorrupt: the store's content contradicts itself.
	ErrCorrupt = errors.New("the store is damaged")
	// ErrReadOnly: the place or the mode of the store forbids writing.
	ErrReadOnly = errors.New("the store cannot be written")
	// ErrNoSpace: the disk is full.
	ErrNoSpace = errors.New("no space left on the disk of the store")
	// ErrOtherRules: names were normalised by other rules than the store's.
	ErrOtherRules = errors.New("names were normalised by other rules")
	// ErrConflict: other content has the identity of a profile, its values cannot be
	// added, or facts of a run contradict the stored ones.
	ErrConflict = errors.New("conflict with stored content")
	// ErrNoSource: the original of a profile was not kept.
	ErrNoSource = errors.New("the original file was not kept (import with --keep-source)")
	// ErrUnavailable: the server of the store does not answer, or is too busy. The same
	// request may succeed later; one that writes may have been carried out.
	ErrUnavailable = errors.New("the store does not answer")
	// ErrNothing: nothing is selected.
	ErrNothing = errors.New("nothing is selected")
)

// Ended returns the reason why a context ended in place of an error that this caused.
func Ended(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// SeveralTypesError reports that a selection has value types that do not add.
type SeveralTypesError struct {
	Keys []string // profile.ValueType.Key of each, sorted
}

// Error lists the types and names the option that chooses one.
func (e *SeveralTypesError) Error() string {
	return "the selection has several value types, choose one with --type: " + strings.Join(e.Keys, ", ")
}

// ConflictError names two files with different content for one identity.
type ConflictError struct {
	ID       ProfileID `json:"id"`
	Identity string    `json:"identity"` // "group/benchmark, run, type"
	Old      string    `json:"old"`      // the name of a file
	New      string    `json:"new"`      // the name of a file
}

// Error names the identity, both files and the options that resolve it; of one file also why
// it may differ.
func (e *ConflictError) Error() string {
	if e.Old == e.New {
		return fmt.Sprintf("%s is stored already with other content: %q has changed, or this version of Dendro reads it otherwise (samples without a stack, settings of JFR, units of callgrind, periods of perf, resources of OTLP); --replace stores it anew", e.Identity, e.New)
	}
	return fmt.Sprintf("%s is stored already with other content: %q before, %q now (use --replace, or import --add for shards of one run)", e.Identity, e.Old, e.New)
}

// Unwrap makes it an ErrConflict.
func (e *ConflictError) Unwrap() error { return ErrConflict }

// InterruptedError is the error of files that Put did not store because the server or the
// network failed after it had stored others.
type InterruptedError struct{ Err error }

// Error describes the failure.
func (e *InterruptedError) Error() string { return e.Err.Error() }

// Unwrap returns the failure.
func (e *InterruptedError) Unwrap() error { return e.Err }
