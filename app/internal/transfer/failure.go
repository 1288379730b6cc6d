package transfer

import (
	"errors"

	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/traceprof"
)

// ProblemPrefix stands before the name of an error in the type of a problem over
// HTTP.
const ProblemPrefix = "urn:dendro:problem:"

// kinds are the errors that callers branch on, with their stable names: of
// problems over HTTP, and of failures in messages.
var kinds = []struct {
	name string
	err  error
}{
	{"locked", store.ErrLocked},
	{"older", store.ErrOlder},
	{"newer", store.ErrNewer},
	{"not-a-store", store.ErrNotStore},
	{"corrupt", store.ErrCorrupt},
	{"read-only", store.ErrReadOnly},
	{"no-space", store.ErrNoSpace},
	{"other-rules", store.ErrOtherRules},
	{"conflict", store.ErrConflict},
	{"no-source", store.ErrNoSource},
	{"nothing-selected", store.ErrNothing},
	{"no-such-task", traceprof.ErrNoTask},
	{"overlap", traceprof.ErrOverlap},
	{"malformed", ErrMalformed},
	{"version", ErrVersion},
}

// SeveralTypes is the name of a store.SeveralTypesError.
const SeveralTypes = "several-types"

// Kinds lists the names of all errors that callers branch on.
func Kinds() []string {
	names := []string{SeveralTypes}
	for _, k := range kinds {
		names = append(names, k.name)
	}
	return names
}

// KindOf returns the name of the error that callers branch on, or an empty text.
func KindOf(err error) string {
	if _, ok := errors.AsType[*store.SeveralTypesError](err); ok {
		return SeveralTypes
	}
	for _, k := range kinds {
		if errors.Is(err, k.err) {
			return k.name
		}
	}
	return ""
}

// Failure is an error in a message: its text and the errors that callers branch on.
type Failure struct {
	Kind     string               // of KindOf; empty: none
	Message  string               //
	Conflict *store.ConflictError // of a conflict between contents; else nil
	Types    []string             // of several types
}

// NewFailure converts an error.
func NewFailure(err error) *Failure {
	f := &Failure{Kind: KindOf(err), Message: err.Error()}
	if conflict, ok := errors.AsType[*store.ConflictError](err); ok {
		f.Conflict = conflict
	}
	if several, ok := errors.AsType[*store.SeveralTypesError](err); ok {
		f.Types = several.Keys
	}
	return f
}

// Err returns an error with the text of the original, for which errors.Is and
// errors.As find what they found in it.
func (f *Failure) Err() error {
	e := &remoteError{message: f.Message}
	switch {
	case f.Conflict != nil:
		e.is = f.Conflict
	case f.Kind == SeveralTypes:
		e.is = &store.SeveralTypesError{Keys: f.Types}
	default:
		for _, k := range kinds {
			if k.name == f.Kind {
				e.is = k.err
			}
		}
	}
	return e
}

type remoteError struct {
	message string
	is      error
}

func (e *remoteError) Error() string { return e.message }
func (e *remoteError) Unwrap() error { return e.is }

// failure codes an error or nil.
func (c *coder) failure(v *error) {
	var f *Failure
	if !c.reading && *v != nil {
		f = NewFailure(*v)
	}
	if code(c, &f); c.reading && c.err == nil && f != nil {
		*v = f.Err()
	}
}
