package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/dendroprof/dendro/internal/server"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/store/remote/transfer"
	"github.com/dendroprof/dendro/traceprof"
)

// mistake is an error of the caller's: a parameter that means nothing.
type mistake struct{ err error }

func (m mistake) Error() string { return m.err.Error() }
func (m mistake) Unwrap() error { return m.err }

func mistakef(format string, args ...any) error { return mistake{fmt.Errorf(format, args...)} }

// notFoundError is an address whose thing is not there.
type notFoundError struct{ what string }

func (e notFoundError) Error() string { return e.what }

// notHereError is an error of something that this server does not do.
type notHereError struct{ why string }

func (e notHereError) Error() string { return e.why }

// statuses are the titles and statuses of the errors that callers branch on, by
// the names that transfer gives them. They are stable.
var statuses = map[string]struct {
	status int
	title  string
}{
	"locked":              {http.StatusServiceUnavailable, "The store is in use by another process"},
	"newer":               {http.StatusInternalServerError, "A newer version wrote the store"},
	"not-a-store":         {http.StatusInternalServerError, "The store is none"},
	"corrupt":             {http.StatusInternalServerError, "The store is damaged"},
	"read-only":           {http.StatusConflict, "The store cannot be written"},
	"no-space":            {http.StatusInsufficientStorage, "The disk of the store is full"},
	"other-rules":         {http.StatusConflict, "Names were normalised by other rules"},
	"conflict":            {http.StatusConflict, "Other content is stored"},
	"no-source":           {http.StatusNotFound, "The original was not kept"},
	"nothing-selected":    {http.StatusNotFound, "Nothing is selected"},
	"no-such-task":        {http.StatusNotFound, "There is no such task"},
	"overlap":             {http.StatusConflict, "Another task runs at that time"},
	transfer.SeveralTypes: {http.StatusUnprocessableEntity, "Several value types are selected"},
	"malformed":           {http.StatusBadRequest, "The body is not what it should be"},
	"version":             {http.StatusBadRequest, "The body is of another version"},
}

// problemOf returns an error as it is answered.
func problemOf(err error) *server.Problem {
	if p := server.BodyProblem(err); p != nil {
		return p
	}
	f := transfer.NewFailure(err)
	if s, ok := statuses[f.Kind]; ok {
		p := &server.Problem{Type: transfer.ProblemPrefix + f.Kind, Title: s.title, Status: s.status, Detail: f.Message, More: map[string]any{}}
		if f.Types != nil {
			p.More["types"] = f.Types
		}
		if c := f.Conflict; c != nil {
			p.More["conflict"] = map[string]any{"id": c.ID, "identity": c.Identity, "old": c.Old, "new": c.New}
		}
		return p
	}
	var wrong mistake
	var unknown unknownError
	var gone notFoundError
	var notSampled notSampledError
	var notHere notHereError
	is := func(kind, title string, status int) *server.Problem {
		return &server.Problem{Type: transfer.ProblemPrefix + kind, Title: title, Status: status, Detail: err.Error()}
	}
	var refused *traceprof.RefusedError
	switch {
	case errors.As(err, &refused) && refused.Code == traceprof.AlreadyProfiling:
		return is("overlap", statuses["overlap"].title, statuses["overlap"].status) // of other kinds than trace
	case errors.As(err, &refused):
		return is("refused", "The task is refused", http.StatusUnprocessableEntity)
	case errors.As(err, &wrong):
		return is("bad-request", "A parameter is wrong", http.StatusBadRequest)
	case errors.As(err, &unknown):
		p := is("bad-request", "A parameter is not known", http.StatusBadRequest)
		p.More = map[string]any{"parameters": unknown.known}
		return p
	case errors.As(err, &gone):
		return is("no-such-profile", "There is no such profile", http.StatusNotFound)
	case errors.As(err, &notSampled):
		return is("nothing-sampled", "Nothing was sampled there", http.StatusNotFound)
	case errors.As(err, &notHere):
		return is("not-here", "This server does not do that", http.StatusNotImplemented)
	case errors.Is(err, profile.ErrMalformed), errors.Is(err, profile.ErrUnrecognized), errors.Is(err, profile.ErrUnsupported), errors.Is(err, profile.ErrTooLarge):
		return is("unreadable-profile", "A profile cannot be read", http.StatusUnprocessableEntity)
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return is("ended", "The server is ending, or the client has gone", http.StatusServiceUnavailable)
	}
	return is("failed", "The request failed", http.StatusInternalServerError)
}

// fail answers with an error.
func fail(w http.ResponseWriter, r *http.Request, err error) {
	server.WriteProblem(w, r, problemOf(err))
}

// brokenOff ends an answer whose beginning is sent: the client sees it break off
// and not a short one.
func brokenOff(err error) {
	if err != nil {
		panic(http.ErrAbortHandler)
	}
}

// speaker returns the engine's SQL.
func (a *api) speaker() (store.SQLSpeaker, error) {
	if !a.SQL {
		return nil, notHereError{"this server answers no SQL (it was started with --sql=false)"}
	}
	s, ok := a.Store.(store.SQLSpeaker)
	if !ok {
		return nil, notHereError{"this store does not speak SQL"}
	}
	return s, nil
}
