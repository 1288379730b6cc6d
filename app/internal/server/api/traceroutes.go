package api

import (
	"context"
	"net/http"
	"net/url"

	"github.com/dendroprof/dendro/app/internal/server"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/query"
	"github.com/dendroprof/dendro/query/tasks"
	"github.com/dendroprof/dendro/traceprof"
)

// traceRoutes lists the addresses of trace profiling.
func (a *api) traceRoutes(ask, change func(string, func(http.ResponseWriter, *http.Request) error) server.Route) []server.Route {
	return []server.Route{
		change("POST /api/v1/tasks", a.createTask),
		ask("GET /api/v1/tasks", traces(a, tasks.Tasks)),
		ask("GET /api/v1/tasks/{task}", traces(a, tasks.DescribeTask)),
		change("POST /api/v1/tasks/{task}/stop", traces(a, tasks.StopTask)),
		ask("GET /api/v1/tasks/{task}/logs", traces(a, tasks.TaskLog)),
		ask("GET /api/v1/tasks/{task}/coverage", traces(a, tasks.CoverTask)),
		ask("GET /api/v1/tasks/{task}/why", traces(a, tasks.TaskCauses)),
		ask("GET /api/v1/tasks/{task}/segments", traces(a, tasks.SegmentsOrSpans)),
		ask("GET /api/v1/tasks/{task}/archive", a.traceArchive),
		ask("GET /api/v1/services", traces(a, query.Services)),
		ask("GET /api/v1/instances", traces(a, tasks.Instances)),
		ask("GET /api/v1/endpoints", traces(a, tasks.Endpoints)),
		ask("GET /api/v1/segments", traces(a, tasks.Segments)),
		ask("GET /api/v1/segments/{segment}", traces(a, tasks.DescribeSegment)),
		ask("GET /api/v1/snapshots", traces(a, tasks.Snapshots)),
		ask("GET /api/v1/analysis", traces(a, tasks.Analyze)),
		ask("GET /api/v1/trace-profile", a.traceProfile),
	}
}

// traces returns the part of the store that keeps trace profiling.
func (a *api) traces() (traceprof.Store, error) {
	if a.Dispatcher == nil {
		return nil, notHere("this store keeps no trace profiling")
	}
	return a.Dispatcher.Store(), nil
}

// traces returns a handler that reads a request, answers it from the traces of the
// store and writes the result.
func traces[Request, Result any](a *api, answer func(context.Context, traceprof.Store, *Request) (Result, error)) func(http.ResponseWriter, *http.Request) error {
	return func(w http.ResponseWriter, r *http.Request) error {
		var f resultForm
		result, err := answerTraces(a, r, &f, answer)
		if err != nil {
			return err
		}
		return respond(w, f, result)
	}
}

// answerTraces reads a request, and the form of its result, and answers it.
func answerTraces[Request, Result any](a *api, r *http.Request, form any, answer func(context.Context, traceprof.Store, *Request) (Result, error)) (result Result, err error) {
	var request Request
	if err := readWith(r, &request, form); err != nil {
		return result, err
	}
	st, err := a.traces()
	if err != nil {
		return result, err
	}
	return answer(r.Context(), st, &request)
}

// createTask answers with the status 201 and the address of the task.
func (a *api) createTask(w http.ResponseWriter, r *http.Request) error {
	var f resultForm
	t, err := answerTraces(a, r, &f, tasks.CreateTask)
	if err != nil {
		return err
	}
	w.Header().Set("Location", "/api/v1/tasks/"+url.PathEscape(t.ID))
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusCreated)
	return respond(w, f, t)
}

// traceArchive writes a trace as SkyWalking's exporter does.
func (a *api) traceArchive(w http.ResponseWriter, r *http.Request) error {
	archive, err := answerTraces(a, r, new(struct{}), tasks.ArchiveTrace)
	if err != nil {
		return err
	}
	attach(w, "application/gzip", archive.Name)
	abortOn(archive.Write(w))
	return nil
}

// profileRequest is a tasks.SnapshotProfileRequest with the format of the file.
type profileRequest struct {
	tasks.SnapshotProfileRequest
	Format string `param:"format" arg:"format" default:"firefox" help:"format of the file: firefox, pprof, folded, …"`
}

// traceProfile writes snapshots as a profile with times.
func (a *api) traceProfile(w http.ResponseWriter, r *http.Request) error {
	var out file
	p, err := answerTraces(a, r, new(struct{}), func(ctx context.Context, st traceprof.Store, q *profileRequest) (p *profile.Profile, err error) {
		if out, err = fileOf("trace", q.Format); err != nil {
			return nil, mistake(err)
		}
		p, _, err = tasks.SnapshotProfile(ctx, st, &q.SnapshotProfileRequest)
		return p, err
	})
	if err != nil {
		return err
	}
	out.write(w, p, -1)
	return nil
}
