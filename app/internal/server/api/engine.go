package api

import (
	"context"
	"io"
	"net/http"

	"github.com/dendroprof/dendro/app/internal/server"
	"github.com/dendroprof/dendro/app/internal/transfer"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/traceprof"
)

// engineRoutes lists the methods of the store for another Dendro.
func (a *api) engineRoutes() []server.Route {
	st := a.Store
	type none = transfer.None
	return []server.Route{
		method(a, transfer.Profiles, st.Profiles),
		method(a, transfer.FunctionNames, func(ctx context.Context, _ none) ([]profile.Function, error) { return st.FunctionNames(ctx) }),
		method(a, transfer.RawNames, func(ctx context.Context, q transfer.RawNamesQuery) (map[string]string, error) {
			return st.RawNames(ctx, q.Group, q.Names)
		}),
		method(a, transfer.Waiting, func(ctx context.Context, _ none) ([]store.Measurement, error) { return st.Waiting(ctx) }),
		method(a, transfer.Source, st.Source),
		method(a, transfer.SumFunctions, func(ctx context.Context, q store.Query) (transfer.Sums, error) {
			sums, err := store.SumFunctions(ctx, st, q)
			if err != nil {
				return transfer.Sums{}, err
			}
			return transfer.Sums{FunctionSums: *sums}, nil
		}),
		method(a, transfer.FunctionMoments, func(ctx context.Context, q transfer.MomentsQuery) (transfer.Moments, error) {
			set, err := store.FunctionMoments(ctx, st, q.Query, q.Measure)
			if err != nil {
				return transfer.Moments{}, err
			}
			return transfer.Moments{MomentSet: *set}, nil
		}),
		method(a, transfer.MergeTrees, func(ctx context.Context, q store.Query) (transfer.Merged, error) {
			t, profiles, err := store.MergeTrees(ctx, st, q)
			return transfer.Merged{Tree: t, Profiles: profiles}, err
		}),
		method(a, transfer.Delete, st.Delete),
		method(a, transfer.Compact, func(ctx context.Context, _ none) (none, error) { return none{}, st.Compact(ctx) }),
		streamed(a, transfer.Functions, func(ctx context.Context, q transfer.FunctionsQuery) (writer, error) {
			names := append([]string{}, q.Names...)
			if q.All {
				names = nil
			}
			set, err := st.Functions(ctx, q.Query, names)
			return func(w io.Writer, flush transfer.Flusher) error { return transfer.WriteFunctions(w, flush, set) }, err
		}),
		streamed(a, transfer.Trees, func(ctx context.Context, q transfer.TreesQuery) (writer, error) {
			set, err := st.Trees(ctx, q.Query, q.Options)
			return func(w io.Writer, flush transfer.Flusher) error { return transfer.WriteTrees(w, flush, set) }, err
		}),
		streamed(a, transfer.SQL, func(ctx context.Context, q string) (writer, error) {
			speaker, err := a.speaker()
			if err != nil {
				return nil, err
			}
			answer, err := speaker.SQL(ctx, q)
			if err != nil {
				return nil, sqlMistake(err)
			}
			return func(w io.Writer, flush transfer.Flusher) error { return transfer.WriteSQL(w, flush, answer) }, nil
		}),
		route(a, transfer.Put, func(r *http.Request, body io.Reader) (writer, error) {
			files, opts, err := transfer.ReadFiles(body)
			if err != nil {
				return nil, err
			}
			return result(st.Put(r.Context(), files, opts))
		}),

		traced(a, transfer.CreateTask, traceprof.Store.CreateTask),
		traced(a, transfer.Task, traceprof.Store.Task),
		traced(a, transfer.Tasks, traceprof.Store.Tasks),
		traced(a, transfer.StopTask, func(st traceprof.Store, ctx context.Context, q transfer.StopQuery) (none, error) {
			return none{}, st.StopTask(ctx, q.Task, q.At)
		}),
		traced(a, transfer.AppendLog, func(st traceprof.Store, ctx context.Context, lines []traceprof.Log) (none, error) {
			return none{}, st.AppendLog(ctx, lines...)
		}),
		traced(a, transfer.Logs, func(st traceprof.Store, ctx context.Context, tasks []string) ([]traceprof.Log, error) {
			return st.Logs(ctx, tasks...)
		}),
		traced(a, transfer.PutInstances, func(st traceprof.Store, ctx context.Context, list []traceprof.Instance) (none, error) {
			return none{}, st.PutInstances(ctx, list...)
		}),
		traced(a, transfer.Instances, func(st traceprof.Store, ctx context.Context, q transfer.InstancesQuery) ([]traceprof.Instance, error) {
			return st.Instances(ctx, q.Service, q.Since)
		}),
		traced(a, transfer.PutSegments, func(st traceprof.Store, ctx context.Context, list []traceprof.Segment) (none, error) {
			return none{}, st.PutSegments(ctx, list...)
		}),
		traced(a, transfer.Segments, traceprof.Store.Segments),
		traced(a, transfer.Endpoints, func(st traceprof.Store, ctx context.Context, q transfer.EndpointsQuery) ([]traceprof.Endpoint, error) {
			return st.Endpoints(ctx, q.Service, q.Keyword, q.Limit)
		}),
		traced(a, transfer.Expire, traceprof.Store.Expire),
		streamed(a, transfer.Snapshots, func(ctx context.Context, q traceprof.SnapshotQuery) (writer, error) {
			st, err := a.traces()
			if err != nil {
				return nil, err
			}
			return func(w io.Writer, flush transfer.Flusher) error {
				return transfer.WriteSnapshots(w, flush, st.Snapshots(ctx, q))
			}, nil
		}),
		route(a, transfer.PutSnapshots, func(r *http.Request, body io.Reader) (writer, error) {
			rows, err := transfer.ReadSnapshots(io.NopCloser(body))
			if err != nil {
				return nil, err
			}
			var list []traceprof.Snapshots
			for v, err := range rows {
				if err != nil {
					return nil, err
				}
				list = append(list, v)
			}
			st, err := a.traces()
			if err != nil {
				return nil, err
			}
			return result(none{}, st.PutSnapshots(r.Context(), list...))
		}),
	}
}

// writer writes the result of a method.
type writer func(io.Writer, transfer.Flusher) error

// result returns the writer of a result of one value.
func result[Out any](out Out, err error) (writer, error) {
	return func(w io.Writer, _ transfer.Flusher) error { return transfer.Write(w, &out) }, err
}

// route makes the route of a method from a function that reads the argument and returns
// the writer of the result.
func route[In, Out any](a *api, m transfer.Method[In, Out], answer func(r *http.Request, body io.Reader) (writer, error)) server.Route {
	needs, kind := server.Reading, server.Streams
	if m.Changes {
		needs, kind = server.All, server.Imports
	}
	return server.Route{Pattern: "POST " + transfer.Path + m.Name, Needs: needs, Kind: kind, Upload: m.Changes, Handler: handler(func(w http.ResponseWriter, r *http.Request) error {
		r.Body = http.MaxBytesReader(w, r.Body, a.PutBytes)
		body, release := server.Reserve(r, a.puts)
		defer release()
		write, err := answer(r, body)
		if err != nil {
			return err
		}
		w.Header().Set("Content-Type", transfer.ContentType)
		abortOn(write(w, http.NewResponseController(w).Flush))
		return nil
	})}
}

// streamed makes the route of a method with a stream as its result.
func streamed[In, Out any](a *api, m transfer.Method[In, Out], answer func(context.Context, In) (writer, error)) server.Route {
	return route(a, m, func(r *http.Request, body io.Reader) (writer, error) {
		var in In
		if err := transfer.Read(body, &in); err != nil {
			return nil, err
		}
		return answer(r.Context(), in)
	})
}

// method makes the route of a method with a result of one value.
func method[In, Out any](a *api, m transfer.Method[In, Out], answer func(context.Context, In) (Out, error)) server.Route {
	return streamed(a, m, func(ctx context.Context, in In) (writer, error) { return result(answer(ctx, in)) })
}

// traced makes the route of a method of trace profiling.
func traced[In, Out any](a *api, m transfer.Method[In, Out], answer func(traceprof.Store, context.Context, In) (Out, error)) server.Route {
	return method(a, m, func(ctx context.Context, in In) (out Out, err error) {
		st, err := a.traces()
		if err != nil {
			return out, err
		}
		return answer(st, ctx, in)
	})
}
