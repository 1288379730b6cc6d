package graphql

import (
	"context"
	"time"

	"skywalking.apache.org/repo/goapi/query"

	"github.com/dendroprof/dendro/app/internal/server"
	"github.com/dendroprof/dendro/traceprof"
)

// protocol is the implemented version of SkyWalking. Clients choose their documents by it:
// from 9 on the current ones.
const protocol = "10.2.0"

// Version answers Query.version.
func (r *resolver) Version(context.Context) (*string, error) {
	v := protocol + "-dendro"
	if r.Options.Version != "" {
		v += "-" + r.Options.Version
	}
	return &v, nil
}

// GetTimeInfo answers Query.getTimeInfo.
func (r *resolver) GetTimeInfo(context.Context) (*query.TimeInfo, error) {
	now := r.Now()
	return &query.TimeInfo{Timezone: new(time.UnixMilli(now).In(zone).Format("-0700")), CurrentTimestamp: &now}, nil
}

// CheckHealth answers Query.checkHealth: whether the store answers.
func (r *resolver) CheckHealth(ctx context.Context) (*query.HealthStatus, error) {
	details := ""
	h := &query.HealthStatus{Details: &details}
	if _, err := r.Store.Tasks(ctx, traceprof.TaskQuery{Limit: 1}); err != nil {
		details = server.Shown(ctx, "the store does not answer: "+err.Error())
		h.Score = 1
	}
	return h, nil
}

// absent is the TTL of stages that Dendro does not have.
const absent = -1

// days returns a TTL in whole days, at least one; 0: forever.
func (r *resolver) days() int {
	if r.TTL <= 0 {
		return 0
	}
	return max(1, int(r.TTL/(24*time.Hour)))
}

// recordsTTL returns how long segments, tasks and snapshots are kept.
func (r *resolver) recordsTTL() query.RecordsTTL {
	d := r.days()
	return query.RecordsTTL{Normal: d, Trace: d, ZipkinTrace: d, Log: d, BrowserErrorLog: d,
		ColdNormal: absent, ColdTrace: absent, ColdZipkinTrace: absent, ColdLog: absent, ColdBrowserErrorLog: absent}
}

// metricsTTL returns how long services, instances and endpoints are kept.
func (r *resolver) metricsTTL() query.MetricsTTL {
	d := r.days()
	return query.MetricsTTL{Minute: d, Hour: d, Day: d, ColdMinute: absent, ColdHour: absent, ColdDay: absent}
}

// GetRecordsTTL answers Query.getRecordsTTL.
func (r *resolver) GetRecordsTTL(context.Context) (*query.RecordsTTL, error) {
	return new(r.recordsTTL()), nil
}

// metricsTTL has the field that the client library's type lacks.
type metricsTTL struct {
	query.MetricsTTL
	Metadata int `json:"metadata"`
}

// GetMetricsTTL answers Query.getMetricsTTL.
func (r *resolver) GetMetricsTTL(context.Context) (*metricsTTL, error) {
	return &metricsTTL{r.metricsTTL(), r.days()}, nil
}

// ExecExpression answers Query.execExpression: there are no metrics.
func (r *resolver) ExecExpression(context.Context, string, query.Entity, query.Duration, *bool, *bool) (*query.ExpressionResult, error) {
	return &query.ExpressionResult{Type: query.ExpressionResultTypeUnknown, Results: []*query.MQEValues{}}, nil
}
