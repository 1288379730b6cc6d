package graphql

import (
	"net/http"

	"skywalking.apache.org/repo/goapi/query"

	"github.com/dendroprof/dendro/app/internal/server"
)

// status returns the routes of OAP's status that clients of the query protocol ask beside
// it: Booster's settings, and programs that need the TTL. Dendro is no cluster, and its
// configuration is not public.
func (r *resolver) status() []server.Route {
	answer := func(pattern string, document any) server.Route {
		return server.Route{Pattern: pattern, Needs: server.Reading, Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			server.WriteJSON(w, http.StatusOK, document)
		})}
	}
	return []server.Route{
		answer("GET /status/config/ttl", struct {
			Metrics query.MetricsTTL `json:"metrics"`
			Records query.RecordsTTL `json:"records"`
		}{r.metricsTTL(), r.recordsTTL()}),
		answer("GET /status/cluster/nodes", map[string][]any{"nodes": {}}),
		answer("GET /debugging/config/dump", struct{}{}),
	}
}
