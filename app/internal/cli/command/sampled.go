package command

import (
	"cmp"
	"context"
	"fmt"

	"github.com/dendroprof/dendro/app/internal/endpoint"
	"github.com/dendroprof/dendro/app/internal/transfer"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/query/tasks"
	"github.com/dendroprof/dendro/query/trees"
	"github.com/dendroprof/dendro/store/engines"
	"github.com/dendroprof/dendro/traceprof"
)

// AskingTraces is asking for trace profiling, which not every store keeps.
func (e *Env) AskingTraces(ctx context.Context, access engines.Access, f func(a endpoint.Asker) error) error {
	return e.Asking(ctx, access, profile.Limits{}, func(a endpoint.Asker) error {
		if l, ok := a.(*endpoint.Local); ok && l.Traces == nil {
			info, _ := l.Store.Info(ctx)
			return fmt.Errorf("a %s store keeps no tasks: use dendro serve with a DuckDB file", cmp.Or(info.Engine, "read-only"))
		}
		return f(a)
	})
}

// Sampled calls f with a store that holds the wanted segments and snapshots.
func (e *Env) Sampled(ctx context.Context, wanted transfer.WantedSamples, f func(st traceprof.Store) error) error {
	return e.AskingTraces(ctx, engines.Read, func(a endpoint.Asker) error {
		l, ok := a.(*endpoint.Local)
		if ok {
			return f(l.Traces)
		}
		st, err := a.(endpoint.Remote).Client.Sampled(ctx, wanted)
		if err != nil {
			return err
		}
		return f(st)
	})
}

// traceInput returns the snapshots of a task, a trace or a segment.
func (e *Env) traceInput(ctx context.Context, id string) (in trees.Input, err error) {
	err = e.Sampled(ctx, transfer.WantedSamples{Name: id}, func(st traceprof.Store) error {
		p, name, err := tasks.NamedSnapshots(ctx, st, id)
		if err == nil {
			in = trees.NewInput(name, p, trees.NamesAsWritten)
			e.Notes([]string{"times are dumps × period of the task; dendro task analyze shows the time between the dumps"})
		}
		return err
	})
	return in, err
}
