package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"

	"github.com/dendroprof/dendro/app/internal/endpoint"
	"github.com/dendroprof/dendro/app/internal/server"
	"github.com/dendroprof/dendro/app/internal/transfer"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/query"
	"github.com/dendroprof/dendro/query/facts"
	"github.com/dendroprof/dendro/query/param"
	"github.com/dendroprof/dendro/query/tasks"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/traceprof"
)

// saidError is an error with its problem.
type saidError struct {
	error
	kind, title string
	status      int
	more        map[string]any // further members of the problem
}

func (e *saidError) Unwrap() error { return e.error }

// mistake makes an error the caller's: a parameter that means nothing.
func mistake(err error) error {
	return &saidError{error: err, kind: "bad-request", title: "A parameter is wrong", status: http.StatusBadRequest}
}

func mistakef(format string, args ...any) error { return mistake(fmt.Errorf(format, args...)) }

// unknown is a parameter that an address does not have; it has those that are known.
func unknown(name string, known []string) error {
	return &saidError{error: fmt.Errorf("this address has no parameter %.60q", name), kind: "bad-request", title: "A parameter is not known",
		status: http.StatusBadRequest, more: map[string]any{"parameters": known}}
}

// gone is the error for a profile that is not stored.
func gone(id store.ProfileID) error {
	return &saidError{error: fmt.Errorf("there is no profile %s", id), kind: "no-such-profile", title: "There is no such profile",
		status: http.StatusNotFound}
}

// notHere is an error of something that this server does not do.
func notHere(why string) error {
	return &saidError{error: errors.New(why), kind: "not-here", title: "This server does not do that", status: http.StatusNotImplemented}
}

// statuses are the titles and statuses of the errors that callers branch on, by
// the names that transfer gives them. They are stable.
var statuses = map[string]struct {
	status int
	title  string
}{
	"locked":              {http.StatusServiceUnavailable, "The store is in use by another process"},
	"older":               {http.StatusInternalServerError, "An older version wrote the store"},
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

// problemOf returns the problem of an error.
func problemOf(err error) *server.Problem {
	if p := server.BodyProblem(err); p != nil {
		return p
	}
	f := transfer.NewFailure(err)
	refused, _ := errors.AsType[*traceprof.RefusedError](err)
	if refused != nil && refused.Code == traceprof.AlreadyProfiling {
		f.Kind = "overlap" // of other kinds of tasks than trace, too
	}
	if s, ok := statuses[f.Kind]; ok {
		p := &server.Problem{Type: transfer.ProblemPrefix + f.Kind, Title: s.title, Status: s.status, Detail: f.Message, More: map[string]any{}}
		if f.Types != nil {
			p.More["types"] = f.Types
		}
		if overlap, ok := errors.AsType[*tasks.OverlapError](err); ok {
			p.More["task"] = overlap.Task
		}
		if f.Conflict != nil {
			p.More["conflict"] = f.Conflict
		}
		return p
	}
	is := func(kind, title string, status int) *server.Problem {
		return &server.Problem{Type: transfer.ProblemPrefix + kind, Title: title, Status: status, Detail: err.Error()}
	}
	var said *saidError
	var needs *facts.NeededError
	switch {
	case errors.As(err, &needs):
		p := is("needs-facts", "Facts of the client's repository are needed", http.StatusUnprocessableEntity)
		p.More = map[string]any{"needs": needs.Facts}
		return p
	case errors.Is(err, endpoint.ErrNoTraces):
		return problemOf(notHere(err.Error()))
	case errors.As(err, new(*param.Error)), errors.As(err, new(interface{ Asked() })): // the latter of a package that knows no requests
		p := problemOf(mistake(errors.New(flagName.ReplaceAllString(err.Error(), "$1"))))
		p.More = map[string]any{"command": err.Error()}
		return p
	case errors.As(err, &said):
		p := is(said.kind, said.title, said.status)
		p.More = said.more
		return p
	case errors.Is(err, tasks.ErrNotSampled):
		return is("nothing-sampled", "Nothing was sampled there", http.StatusNotFound)
	case refused != nil:
		return is("refused", "The task is refused", http.StatusUnprocessableEntity)
	case errors.Is(err, profile.ErrMalformed), errors.Is(err, profile.ErrUnrecognized), errors.Is(err, profile.ErrUnsupported),
		errors.Is(err, profile.ErrTooLarge):
		return is("unreadable-profile", "A profile cannot be read", http.StatusUnprocessableEntity)
	case errors.Is(err, query.ErrNoSide):
		return is("no-side", "A side is not known", http.StatusNotFound)
	case errors.Is(err, store.ErrManyLinks):
		return is("many-links", "The store keeps no more links", http.StatusInsufficientStorage)
	case errors.Is(err, store.ErrReorganised):
		return &server.Problem{Type: server.TypeBusy, Title: "The store is being reorganised", Status: http.StatusServiceUnavailable,
			Detail: err.Error()}
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return is("ended", "The server is ending, or the client has gone", http.StatusServiceUnavailable)
	}
	return is("failed", "The request failed", http.StatusInternalServerError)
}

// flagName matches a parameter as the command line writes it.
var flagName = regexp.MustCompile(`--([a-z])`)

// fail answers with an error.
func fail(w http.ResponseWriter, r *http.Request, err error) {
	server.WriteProblem(w, r, problemOf(err))
}

// abortOn aborts an answer that cannot be completed because of an error, if there is one.
func abortOn(err error) {
	if err != nil {
		server.Abort(problemOf(err))
	}
}
