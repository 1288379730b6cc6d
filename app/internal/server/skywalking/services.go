package skywalking

import (
	"context"

	"google.golang.org/protobuf/proto"
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

	unary  func(a *Agents, ctx context.Context, msg []byte) (proto.Message, error)
	stream func(a *Agents, c *call) error
	both   bool // the server streams too
}

// services are all services that agents call. Data that Dendro does not use is accepted
// too.
var services = []service{
	{name: "skywalking.v3.ManagementService", old: true, methods: []method{
		{name: "reportInstanceProperties", unary: (*Agents).reportProperties},
		{name: "keepAlive", unary: (*Agents).keepAlive},
	}},
	{name: "skywalking.v3.TraceSegmentReportService", old: true, methods: []method{
		{name: "collect", stream: (*Agents).collectSegments},
		{name: "collectInSync", unary: (*Agents).collectSegmentsInSync},
	}},
	{name: "skywalking.v3.ProfileTask", old: true, methods: []method{
		{name: "getProfileTaskCommands", unary: (*Agents).pollTrace},
		{name: "collectSnapshot", stream: (*Agents).collectSnapshots},
		{name: "goProfileReport", current: true, stream: (*Agents).collectGoProfiles},
		{name: "reportTaskFinish", unary: (*Agents).reportFinish},
	}},
	{name: "skywalking.v10.AsyncProfilerTask", methods: []method{
		{name: "getAsyncProfilerTaskCommands", unary: (*Agents).pollAsync},
		{name: "collect", stream: (*Agents).collectAsync, both: true},
	}},
	{name: "skywalking.v10.PprofTask", methods: []method{
		{name: "getPprofTaskCommands", unary: (*Agents).pollPprof},
		{name: "collect", stream: (*Agents).collectPprof, both: true},
	}},
	{name: "skywalking.v3.ConfigurationDiscoveryService", methods: []method{
		{name: "fetchConfigurations", unary: (*Agents).fetchConfigurations},
	}},
	{name: "skywalking.v3.JVMMetricReportService", old: true, methods: []method{
		{name: "collect", unary: (*Agents).collectJVM},
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
