package skywalking

import (
	"context"
	"strconv"
	"strings"

	"github.com/google/uuid"
	"google.golang.org/protobuf/proto"
	configurationv3 "skywalking.apache.org/repo/goapi/collect/agent/configuration/v3"
	commonv3 "skywalking.apache.org/repo/goapi/collect/common/v3"
	profilev3 "skywalking.apache.org/repo/goapi/collect/language/profile/v3"

	"github.com/dendroprof/dendro/traceprof"
)

// commandsOf returns tasks as commands for agents. Every command has its own serial
// number: agents skip those that they have executed.
func commandsOf(tasks []traceprof.Task) *commonv3.Commands {
	if len(tasks) == 0 {
		return nothing
	}
	c := &commonv3.Commands{}
	for i := range tasks {
		c.Commands = append(c.Commands, commandOf(&tasks[i]))
	}
	return c
}

// commandOf returns one task as a command. All values are texts; agents read them by key,
// and the Java agent drops a command with an invalid number.
func commandOf(t *traceprof.Task) *commonv3.Command {
	switch t.Kind {
	case traceprof.AsyncKind:
		return command("AsyncProfilerTaskQuery",
			"TaskId", t.ID, "Duration", number(max(1, t.Duration/1000)), "ExecArgs", execArgs(t), "CreateTime", number(t.Created))
	case traceprof.PprofKind:
		return command("PprofTaskQuery",
			"TaskId", t.ID, "Events", strings.ToLower(strings.Join(t.Events, ",")), "Duration", number(t.Minutes()),
			"CreateTime", number(t.Created), "DumpPeriod", number(t.Period))
	default:
		return command("ProfileTaskQuery",
			"TaskId", t.ID, "EndpointName", t.Endpoint, "Duration", number(t.Minutes()),
			"MinDurationThreshold", number(t.MinDuration), "DumpPeriod", number(t.Period),
			"MaxSamplingCount", strconv.Itoa(t.MaxSegments), "StartTime", number(t.Start), "CreateTime", number(t.Created))
	}
}

// execArgs returns the arguments of async-profiler: the events, then the task's arguments.
func execArgs(t *traceprof.Task) string {
	args := "event=" + strings.ToLower(strings.Join(t.Events, ","))
	if t.Arguments != "" {
		args += "," + t.Arguments
	}
	return args
}

func number(n int64) string { return strconv.FormatInt(n, 10) }

// command returns a command with a new serial number and arguments, given as alternating
// keys and values.
func command(name string, args ...string) *commonv3.Command {
	c := &commonv3.Command{Command: name, Args: []*commonv3.KeyStringValuePair{{Key: "SerialNumber", Value: uuid.NewString()}}}
	for i := 0; i < len(args); i += 2 {
		c.Args = append(c.Args, &commonv3.KeyStringValuePair{Key: args[i], Value: args[i+1]})
	}
	return c
}

// pollQuery is the common interface of the queries of all polls.
type pollQuery[Q any] interface {
	*Q
	proto.Message
	GetService() string
	GetServiceInstance() string
	GetLastCommandTime() int64
}

// polled returns a method that answers an agent's poll for tasks of a kind.
func polled[Q any, P pollQuery[Q]](kind traceprof.Kind) unary {
	return func(a *Agents, ctx context.Context, msg []byte) (proto.Message, error) {
		q := P(new(Q))
		if _, err := decode(msg, q); err != nil {
			return nil, err
		}
		p := instanceOf(q)
		tasks, err := a.opts.Dispatcher.Poll(ctx, kind, p.Service, p.Name, q.GetLastCommandTime())
		if err != nil {
			return nil, err
		}
		a.counts.commands.WithLabelValues("poll").Add(float64(len(tasks)))
		return commandsOf(tasks), nil
	}
}

// push answers a report that is not a poll with the tasks that the instance has not
// received yet, so that a task reaches the Java agent within a second. An error does not
// fail the report: the next poll delivers the task.
func (a *Agents) push(ctx context.Context, p traceprof.InstanceKey) (proto.Message, error) {
	tasks, err := a.opts.Dispatcher.Push(ctx, p.Service, p.Name)
	if err != nil {
		a.opts.Log.WarnContext(ctx, "cannot deliver tasks in a reply", "service", p.Service, "instance", p.Name, "error", err)
		return nothing, nil
	}
	a.counts.commands.WithLabelValues("push").Add(float64(len(tasks)))
	return commandsOf(tasks), nil
}

// reportFinish logs that an agent has executed a task. An unknown task is ignored.
func (a *Agents) reportFinish(ctx context.Context, msg []byte) (proto.Message, error) {
	m := new(profilev3.ProfileTaskFinishReport)
	if _, err := decode(msg, m); err != nil {
		return nil, err
	}
	return nothing, a.opts.Dispatcher.Report(ctx, instanceOf(m).Name, m.GetTaskId(), traceprof.Finished, "")
}

// noConfiguration is the id of the empty configuration. Agents apply a configuration only
// if its id changes. This is SkyWalking's own id, the SHA-512 of "EMPTY", so that agents
// notice no change of servers.
const noConfiguration = "410bb567794fe14362a2fb5912af7331eba74877614b82f36f3861fe86201c61" +
	"4f53423e896e5036509c0a815c7f444f20aefbc2bbe66545b382200299aced16"

// fetchConfigurations answers with the empty configuration.
func (a *Agents) fetchConfigurations(_ context.Context, msg []byte) (proto.Message, error) {
	if _, err := decode(msg, new(configurationv3.ConfigurationSyncRequest)); err != nil {
		return nil, err
	}
	return &commonv3.Commands{Commands: []*commonv3.Command{command("ConfigurationDiscoveryCommand", "UUID", noConfiguration)}}, nil
}
