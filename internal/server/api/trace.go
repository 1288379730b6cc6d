package api

import (
	"context"
	"net/http"

	"github.com/dendroprof/dendro/internal/transfer"
	"github.com/dendroprof/dendro/traceprof"
)

// traces returns the part of the store that keeps trace profiling.
func (a *api) traces() (traceprof.Store, error) {
	if a.Dispatcher == nil {
		return nil, notHere("this store keeps no trace profiling")
	}
	return a.Dispatcher.Store(), nil
}

// traceMethods answers methods of traceprof.Store by their names.
type traceMethods map[string]func(context.Context, traceprof.Store, *transfer.TraceQuestion) (transfer.Answer, error)

// traceQuestions are the methods that only read, but for Snapshots.
var traceQuestions = traceMethods{
	"Task": func(ctx context.Context, st traceprof.Store, q *transfer.TraceQuestion) (transfer.Answer, error) {
		if len(q.IDs) != 1 {
			return nil, mistakef("%d tasks are asked for; it is one", len(q.IDs))
		}
		return traceFacts(st.Task(ctx, q.IDs[0]))
	},
	"Tasks": func(ctx context.Context, st traceprof.Store, q *transfer.TraceQuestion) (transfer.Answer, error) {
		return traceFacts(st.Tasks(ctx, q.Tasks))
	},
	"Logs": func(ctx context.Context, st traceprof.Store, q *transfer.TraceQuestion) (transfer.Answer, error) {
		return traceFacts(st.Logs(ctx, q.IDs...))
	},
	"Instances": func(ctx context.Context, st traceprof.Store, q *transfer.TraceQuestion) (transfer.Answer, error) {
		return traceFacts(st.Instances(ctx, q.Service, q.At))
	},
	"Segments": func(ctx context.Context, st traceprof.Store, q *transfer.TraceQuestion) (transfer.Answer, error) {
		return traceFacts(st.Segments(ctx, q.Segments))
	},
	"Endpoints": func(ctx context.Context, st traceprof.Store, q *transfer.TraceQuestion) (transfer.Answer, error) {
		return traceFacts(st.Endpoints(ctx, q.Service, q.Keyword, q.Limit))
	},
}

// traceChanges are the methods that write, but for PutSnapshots.
var traceChanges = traceMethods{
	"CreateTask": func(ctx context.Context, st traceprof.Store, q *transfer.TraceQuestion) (transfer.Answer, error) {
		if q.Task == nil {
			return nil, mistakef("no task is given")
		}
		return traceFacts(st.CreateTask(ctx, *q.Task))
	},
	"StopTask": func(ctx context.Context, st traceprof.Store, q *transfer.TraceQuestion) (transfer.Answer, error) {
		if len(q.IDs) != 1 {
			return nil, mistakef("%d tasks are to stop; it is one", len(q.IDs))
		}
		return traceDone(st.StopTask(ctx, q.IDs[0], q.At))
	},
	"AppendLog": func(ctx context.Context, st traceprof.Store, q *transfer.TraceQuestion) (transfer.Answer, error) {
		return traceDone(st.AppendLog(ctx, q.Log...))
	},
	"PutInstances": func(ctx context.Context, st traceprof.Store, q *transfer.TraceQuestion) (transfer.Answer, error) {
		return traceDone(st.PutInstances(ctx, q.Instances...))
	},
	"PutSegments": func(ctx context.Context, st traceprof.Store, q *transfer.TraceQuestion) (transfer.Answer, error) {
		return traceDone(st.PutSegments(ctx, q.Put...))
	},
	"Expire": func(ctx context.Context, st traceprof.Store, q *transfer.TraceQuestion) (transfer.Answer, error) {
		return traceFacts(st.Expire(ctx, q.Expiry))
	},
}

// traceFacts makes an answer of what a method returns.
func traceFacts[T any](v T, err error) (transfer.Answer, error) {
	return &transfer.TraceFacts[T]{Value: v}, err
}

// traceDone makes one of a method that returns nothing.
func traceDone(err error) (transfer.Answer, error) { return traceFacts(struct{}{}, err) }

// traceQuestion returns what a request asks, and whom. Its body, which a change may
// fill with segments, is held in memory.
func (a *api) traceQuestion(w http.ResponseWriter, r *http.Request) (traceprof.Store, transfer.TraceQuestion, error) {
	st, err := a.traces()
	if err != nil {
		return nil, transfer.TraceQuestion{}, err
	}
	q, err := transfer.ReadTraceQuestion(http.MaxBytesReader(w, r.Body, a.PutBytes))
	return st, q, err
}

// handler answers the methods.
func (m traceMethods) handler(a *api) func(http.ResponseWriter, *http.Request) error {
	return func(w http.ResponseWriter, r *http.Request) error {
		st, q, err := a.traceQuestion(w, r)
		if err != nil {
			return err
		}
		answer := m[q.Method]
		if answer == nil {
			return mistakef("there is no method %.60q here", q.Method)
		}
		v, err := answer(r.Context(), st, &q)
		if err != nil {
			return err
		}
		return send(w, v)
	}
}

// traceSnapshots streams the snapshots of a query.
func (a *api) traceSnapshots(w http.ResponseWriter, r *http.Request) error {
	st, q, err := a.traceQuestion(w, r)
	if err != nil {
		return err
	}
	abortOn(transfer.WriteSnapshots(w, begin(w), st.Snapshots(r.Context(), q.Snapshots)))
	return nil
}

// tracePut stores the snapshots of an upload: all of them or none.
func (a *api) tracePut(w http.ResponseWriter, r *http.Request) error {
	st, err := a.traces()
	if err != nil {
		return err
	}
	rows, err := transfer.ReadSnapshots(http.MaxBytesReader(w, r.Body, a.PutBytes))
	if err != nil {
		return err
	}
	var list []traceprof.Snapshots
	for v, err := range rows {
		if err != nil {
			return err
		}
		list = append(list, v)
	}
	if err := st.PutSnapshots(r.Context(), list...); err != nil {
		return err
	}
	return send(w, &transfer.TraceFacts[struct{}]{})
}
