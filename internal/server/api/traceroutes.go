package api

import (
	"net/http"

	"github.com/dendroprof/dendro/internal/server"
)

// traceRoutes lists what is answered of trace profiling.
func (a *api) traceRoutes(ask, change, upload func(string, func(http.ResponseWriter, *http.Request) error) server.Route) []server.Route {
	return []server.Route{
		change("POST /api/v1/tasks", a.createTask),
		ask("GET /api/v1/tasks", a.tasks),
		ask("GET /api/v1/tasks/{task}", a.task),
		change("POST /api/v1/tasks/{task}/stop", a.stopTask),
		ask("GET /api/v1/tasks/{task}/logs", a.taskLogs),
		ask("GET /api/v1/tasks/{task}/coverage", a.taskCoverage),
		ask("GET /api/v1/tasks/{task}/why", a.taskWhy),
		ask("GET /api/v1/tasks/{task}/archive", a.traceArchive),
		ask("GET /api/v1/services", a.services),
		ask("GET /api/v1/instances", a.instances),
		ask("GET /api/v1/endpoints", a.endpoints),
		ask("GET /api/v1/segments", a.segments),
		ask("GET /api/v1/segments/{segment}", a.segment),
		ask("GET /api/v1/snapshots", a.snapshots),
		ask("GET /api/v1/analysis", a.analysis),
		ask("GET /api/v1/trace-profile", a.traceProfile),
		ask("POST /api/v1/store/trace-question", traceQuestions.handler(a)),
		ask("POST /api/v1/store/trace-snapshots", a.traceSnapshots),
		upload("POST /api/v1/store/trace-change", traceChanges.handler(a)),
		upload("POST /api/v1/store/trace-put", a.tracePut),
	}
}
