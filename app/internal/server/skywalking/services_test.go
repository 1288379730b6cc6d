package skywalking_test

import (
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	configurationv3 "skywalking.apache.org/repo/goapi/collect/agent/configuration/v3"
	commonv3 "skywalking.apache.org/repo/goapi/collect/common/v3"
	eventv3 "skywalking.apache.org/repo/goapi/collect/event/v3"
	agentv3 "skywalking.apache.org/repo/goapi/collect/language/agent/v3"
	agentcompat "skywalking.apache.org/repo/goapi/collect/language/agent/v3/compat"
	asyncv10 "skywalking.apache.org/repo/goapi/collect/language/asyncprofiler/v10"
	profilev3 "skywalking.apache.org/repo/goapi/collect/language/profile/v3"
	profilecompat "skywalking.apache.org/repo/goapi/collect/language/profile/v3/compat"
	loggingv3 "skywalking.apache.org/repo/goapi/collect/logging/v3"
	managementv3 "skywalking.apache.org/repo/goapi/collect/management/v3"
	managementcompat "skywalking.apache.org/repo/goapi/collect/management/v3/compat"
	pprofv10 "skywalking.apache.org/repo/goapi/collect/pprof/v10"

	"github.com/dendroprof/dendro/app/internal/server/skywalking"
)

// published are the services that agents call, as their protocol publishes them.
var published = []*grpc.ServiceDesc{
	&managementv3.ManagementService_ServiceDesc, &managementcompat.ManagementService_ServiceDesc,
	&agentv3.TraceSegmentReportService_ServiceDesc, &agentcompat.TraceSegmentReportService_ServiceDesc,
	&agentv3.SpanAttachedEventReportService_ServiceDesc,
	&agentv3.JVMMetricReportService_ServiceDesc, &agentcompat.JVMMetricReportService_ServiceDesc,
	&agentv3.CLRMetricReportService_ServiceDesc, &agentcompat.CLRMetricReportService_ServiceDesc,
	&agentv3.MeterReportService_ServiceDesc, &agentcompat.MeterReportService_ServiceDesc,
	&agentv3.BrowserPerfService_ServiceDesc, &agentcompat.BrowserPerfService_ServiceDesc,
	&profilev3.ProfileTask_ServiceDesc, &profilecompat.ProfileTask_ServiceDesc,
	&asyncv10.AsyncProfilerTask_ServiceDesc, &pprofv10.PprofTask_ServiceDesc,
	&configurationv3.ConfigurationDiscoveryService_ServiceDesc,
	&loggingv3.LogReportService_ServiceDesc, &eventv3.EventService_ServiceDesc,
}

// TestEveryServiceIsThere compares what is registered with the protocol.
func TestEveryServiceIsThere(t *testing.T) {
	g := grpc.NewServer()
	skywalking.New(skywalking.Options{}).Register(g)
	have := g.GetServiceInfo()
	for _, d := range published {
		info, ok := have[d.ServiceName]
		if !ok {
			t.Errorf("no service %s", d.ServiceName)
			continue
		}
		kinds := map[string]grpc.MethodInfo{}
		for _, m := range info.Methods {
			kinds[m.Name] = m
		}
		for _, m := range d.Methods {
			if kinds[m.MethodName] != (grpc.MethodInfo{Name: m.MethodName}) {
				t.Errorf("%s/%s is %+v", d.ServiceName, m.MethodName, kinds[m.MethodName])
			}
		}
		for _, m := range d.Streams {
			want := grpc.MethodInfo{Name: m.StreamName, IsClientStream: m.ClientStreams, IsServerStream: m.ServerStreams}
			if kinds[m.StreamName] != want {
				t.Errorf("%s/%s is %+v, want %+v", d.ServiceName, m.StreamName, kinds[m.StreamName], want)
			}
		}
		if n := len(d.Methods) + len(d.Streams); len(info.Methods) != n {
			t.Errorf("%s has %d methods, want %d", d.ServiceName, len(info.Methods), n)
		}
		delete(have, d.ServiceName)
	}
	for name := range have {
		t.Errorf("service %s is not of the protocol", name)
	}
}

// TestEveryMethodAnswers calls each method with an empty message and with none.
func TestEveryMethodAnswers(t *testing.T) {
	b := newBench(t)
	for _, d := range published {
		for _, m := range d.Methods {
			method := "/" + d.ServiceName + "/" + m.MethodName
			reply := new(commonv3.Commands)
			if err := b.conn.Invoke(b.ctx, method, new(commonv3.Commands), reply); err != nil {
				t.Errorf("%s: %v", method, err)
			}
		}
		for _, m := range d.Streams {
			method := "/" + d.ServiceName + "/" + m.StreamName
			for _, messages := range []int{0, 1} {
				if m.ServerStreams {
					continue // uploads have a conversation of their own
				}
				stream, err := b.conn.NewStream(b.ctx, &grpc.StreamDesc{ClientStreams: true}, method)
				if err != nil {
					t.Fatal(err)
				}
				for range messages {
					if err := stream.SendMsg(new(commonv3.Commands)); err != nil {
						t.Fatal(err)
					}
				}
				if err := stream.CloseSend(); err != nil {
					t.Fatal(err)
				}
				if err := stream.RecvMsg(new(commonv3.Commands)); err != nil {
					t.Errorf("%s with %d messages: %v", method, messages, err)
				}
			}
		}
	}
	err := b.conn.Invoke(b.ctx, "/skywalking.v3.ProfileTask/nothing", new(commonv3.Commands), new(commonv3.Commands))
	if status.Code(err) != codes.Unimplemented {
		t.Errorf("an unknown method: %v", err)
	}
}

func TestFetchConfigurations(t *testing.T) {
	b := newBench(t)
	client := configurationv3.NewConfigurationDiscoveryServiceClient(b.conn)
	uuid := ""
	for range 2 { // the second time with what the first one said
		reply, err := client.FetchConfigurations(b.ctx, &configurationv3.ConfigurationSyncRequest{Service: "shop", Uuid: uuid})
		if err != nil {
			t.Fatal(err)
		}
		name, list := args(t, reply)
		if name != "ConfigurationDiscoveryCommand" || len(list) != 2 || list[0][0] != "SerialNumber" || list[1][0] != "UUID" ||
			uuid != "" && list[1][1] != uuid {
			t.Errorf("%s %v", name, list)
		}
		uuid = list[1][1]
	}
}
