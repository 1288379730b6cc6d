package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/dendroprof/dendro/internal/engines"
	skyids "github.com/dendroprof/dendro/internal/server/skywalking/ids"
	"github.com/dendroprof/dendro/traceprof"
)

// taskCreateOptions are the flags of `dendro task create`.
type taskCreateOptions struct {
	kind, service, endpoint, start string
	duration, threshold, period    time.Duration
	segments                       int
	instances, events              []string
	arguments                      string
	output                         outputFormat
}

func newTaskCreate(e *env) *cobra.Command {
	o := taskCreateOptions{kind: string(traceprof.TraceKind)}
	c := &cobra.Command{
		Use:   "create --service NAME --endpoint NAME [flags]",
		Short: "Order a task and print its id",
		Long: `Create orders a task; agents are told when they ask next (every 20 s unless
configured otherwise) or with the reply to another report. A service has one task at
a time.

The endpoint is what agents name the first span of a request: GET:/checkout for most
of Java, /checkout for Python. ` + "`dendro task show`" + ` says which names were seen if it is
another. Of kind trace, agents take tasks of 1 to 15 minutes, periods from 10 ms on,
and 1 to 9 requests per instance. The kinds async-profiler (Java) and pprof (Go)
profile whole instances, and their recordings go straight into the store, in the
group of the service.`,
		Example: `  dendro task create --service shop --endpoint GET:/checkout
  dendro task create --service shop --endpoint /checkout --duration 1m --period 20ms --min-duration 500ms
  dendro task create --kind async-profiler --service shop --event cpu --event alloc --duration 30s`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return o.run(c.Context(), e) },
	}
	f := c.Flags()
	f.Var(&choice{&o.kind, taskKinds}, "kind", "`kind`: "+strings.Join(taskKinds, ", "))
	f.StringVar(&o.service, "service", "", "`name` of the service")
	f.StringVar(&o.endpoint, "endpoint", "", "`name` of the endpoint (kind trace)")
	f.StringVar(&o.start, "start", "", "`date` when it begins (RFC 3339; default: now)")
	f.DurationVar(&o.duration, "duration", 5*time.Minute, "`time` that it lasts")
	f.DurationVar(&o.threshold, "min-duration", 0, "sample requests once they are older than this `time`")
	f.DurationVar(&o.period, "period", 10*time.Millisecond, "`time` between two dumps; of kind pprof the rate of block and mutex events")
	f.IntVar(&o.segments, "segments", 5, "`n` requests per instance at most")
	f.StringArrayVar(&o.instances, "instance", nil, "`name` of an instance (other kinds; default: all); repeatable")
	f.StringArrayVar(&o.events, "event", nil, "`event`: cpu, wall, alloc, lock, …; of kind pprof cpu, heap, block, mutex, goroutine, …; repeatable")
	f.StringVar(&o.arguments, "args", "", "further `arguments` for async-profiler")
	o.output.addFlag(c, "text", "json")
	_ = c.MarkFlagRequired("service") // it fails for unknown flags only
	return c
}

// order returns what the flags ask for.
func (o *taskCreateOptions) order() (traceprof.Order, error) {
	start, err := dateFlag("--start", o.start)
	if err != nil {
		return traceprof.Order{}, err
	}
	order := traceprof.Order{Kind: traceprof.Kind(o.kind), Service: skyids.ServiceName(o.service), ServiceID: skyids.Service(o.service), Endpoint: o.endpoint,
		Duration: o.duration.Milliseconds(), MinDuration: o.threshold.Milliseconds(), Period: o.period.Milliseconds(),
		MaxSegments: o.segments, Instances: o.instances, Arguments: o.arguments}
	if !start.IsZero() {
		order.Start = start.UnixMilli()
	}
	for _, event := range o.events {
		order.Events = append(order.Events, strings.ToUpper(event))
	}
	return order, nil
}

func (o *taskCreateOptions) run(ctx context.Context, e *env) error {
	order, err := o.order()
	if err != nil {
		return err
	}
	return e.withTraces(ctx, engines.Write, func(st traceprof.Store) error {
		now := time.Now().UnixMilli()
		if order.Kind != traceprof.TraceKind && len(order.Instances) == 0 {
			if order.Instances, err = namesOfAlive(ctx, st, order.Service, now); err != nil {
				return err
			}
		}
		t, err := traceprof.NewDispatcher(st, traceprof.DispatcherOptions{}).Create(ctx, order)
		var refused *traceprof.RefusedError
		switch {
		case errors.As(err, &refused):
			return fmt.Errorf("the task is refused: %w%s", err, inTheWay(ctx, st, refused, &order, now))
		case err != nil:
			return err
		case o.output == "json":
			return e.writeJSON(t)
		}
		fmt.Fprintln(e.err, taskText(&t, now))
		_, err = fmt.Fprintln(e.out, t.ID)
		return err
	})
}

// aliveInstances returns the instances of a service that reported lately.
func aliveInstances(ctx context.Context, st traceprof.Store, service string, now int64) ([]traceprof.Instance, error) {
	return st.Instances(ctx, service, now-10*traceprof.Minute)
}

// namesOfAlive names them. That there are none is an error.
func namesOfAlive(ctx context.Context, st traceprof.Store, service string, now int64) (names []string, err error) {
	list, err := aliveInstances(ctx, st, service, now)
	for _, i := range list {
		names = append(names, i.Name)
	}
	if err == nil && len(names) == 0 {
		err = fmt.Errorf("no instance of service %s reported in the last 10 minutes; --instance names one", service)
	}
	return names, err
}

// inTheWay names the task that an order which was refused overlaps.
func inTheWay(ctx context.Context, st traceprof.Store, refused *traceprof.RefusedError, order *traceprof.Order, now int64) string {
	if refused.Code != traceprof.AlreadyProfiling {
		return ""
	}
	begin := cmp.Or(order.Start, now)
	list, err := st.Tasks(ctx, traceprof.TaskQuery{Kind: order.Kind, Service: order.Service, From: begin, To: begin + order.Duration})
	if err != nil || len(list) == 0 {
		return ""
	}
	return fmt.Sprintf(": task %s runs until %s (dendro task stop ends it)", list[0].ID, instant(list[0].End()))
}
