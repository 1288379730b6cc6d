package skywalking

import (
	"context"

	"google.golang.org/protobuf/proto"
	asyncv10 "skywalking.apache.org/repo/goapi/collect/language/asyncprofiler/v10"
	profilev3 "skywalking.apache.org/repo/goapi/collect/language/profile/v3"
	pprofv10 "skywalking.apache.org/repo/goapi/collect/pprof/v10"

	"github.com/dendroprof/dendro/traceprof"
)

// service is one service of the protocol, under one or two names.
type service struct {
	name    string // with the package
	old     bool   // also without the package
	methods []method
}

// method is one method of a service: one of unary and stream is set.
type method struct {
	name    string
	current bool // not in the old service without a package

	unary  unary
	stream stream
	both   bool // the server streams too
}

// What answers methods: one message, or a stream of them.
type (
	unary  = func(a *Agents, ctx context.Context, msg []byte) (proto.Message, error)
	stream = func(a *Agents, c *call) error
)

// services are all services that agents call. Data that Dendro does not use is accepted
// too.
var services = []service{
	{name: "skywalking.v3.ManagementService", old: true, methods: []method{
		{name: "reportInstanceProperties", unary: stored((*Session).Properties)},
		{name: "keepAlive", unary: reported((*Session).Ping)},
	}},
	{name: "skywalking.v3.TraceSegmentReportService", old: true, methods: []method{
		{name: "collect", stream: collected((*Session).Segment)},
		{name: "collectInSync", unary: stored((*Session).Segments)},
	}},
	{name: "skywalking.v3.ProfileTask", old: true, methods: []method{
		{name: "getProfileTaskCommands", unary: polled[profilev3.ProfileTaskCommandQuery](traceprof.TraceKind)},
		{name: "collectSnapshot", stream: collected((*Session).Snapshot)},
		{name: "goProfileReport", current: true, stream: (*Agents).collectGoProfiles},
		{name: "reportTaskFinish", unary: (*Agents).reportFinish},
	}},
	{name: "skywalking.v10.AsyncProfilerTask", methods: []method{
		{name: "getAsyncProfilerTaskCommands", unary: polled[asyncv10.AsyncProfilerTaskCommandQuery](traceprof.AsyncKind)},
		{name: "collect", stream: recorded(traceprof.AsyncKind), both: true},
	}},
	{name: "skywalking.v10.PprofTask", methods: []method{
		{name: "getPprofTaskCommands", unary: polled[pprofv10.PprofTaskCommandQuery](traceprof.PprofKind)},
		{name: "collect", stream: recorded(traceprof.PprofKind), both: true},
	}},
	{name: "skywalking.v3.ConfigurationDiscoveryService", methods: []method{
		{name: "fetchConfigurations", unary: (*Agents).fetchConfigurations},
	}},
	{name: "skywalking.v3.JVMMetricReportService", old: true, methods: []method{
		{name: "collect", unary: reported((*Session).JVMMetrics)},
	}},
	{name: "skywalking.v3.CLRMetricReportService", old: true, methods: []method{
		{name: "collect", unary: (*Agents).ignore},
	}},
	{name: "skywalking.v3.MeterReportService", old: true, methods: []method{
		{name: "collect", stream: (*Agents).ignoreStream},
		{name: "collectBatch", current: true, stream: (*Agents).ignoreStream},
	}},
	{name: "skywalking.v3.SpanAttachedEventReportService", methods: []method{
		{name: "collect", stream: (*Agents).ignoreStream},
	}},
	{name: "skywalking.v3.LogReportService", methods: []method{
		{name: "collect", stream: (*Agents).ignoreStream},
	}},
	{name: "skywalking.v3.EventService", methods: []method{
		{name: "collect", stream: (*Agents).ignoreStream},
	}},
	{name: "skywalking.v3.BrowserPerfService", old: true, methods: []method{
		{name: "collectPerfData", unary: (*Agents).ignore},
		{name: "collectErrorLogs", stream: (*Agents).ignoreStream},
		{name: "collectWebVitalsPerfData", current: true, unary: (*Agents).ignore},
		{name: "collectResourcePerfData", current: true, unary: (*Agents).ignore},
		{name: "collectWebInteractionsPerfData", current: true, unary: (*Agents).ignore},
	}},
}
