package mcp

import (
	"context"
	"fmt"
	"iter"

	"github.com/dendroprof/dendro/app/internal/render"
	"github.com/dendroprof/dendro/query"
	"github.com/dendroprof/dendro/query/tasks"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/traceprof"
)

// tool is one query.
type tool struct {
	name, description string
	writes            bool
	request           func() any // a new request
	answer            func(ctx context.Context, request any) (any, error)
}

// reads makes a tool of a query over a store.
func reads[Request, Result, Store any](st Store, name, description string, answer func(context.Context, Store, *Request) (Result, error)) tool {
	return tool{name: name, description: description, request: func() any { return new(Request) },
		answer: func(ctx context.Context, request any) (any, error) { return answer(ctx, st, request.(*Request)) }}
}

// writes makes a tool that changes the store.
func writes(t tool) tool {
	t.writes = true
	return t
}

// tools lists the tools that a store can answer.
func tools(st store.Store, o *Options) []tool {
	list := []tool{
		reads(st, "overview", "Benchmarks with their newest run and metric, and the services that send traces.", query.Overview),
		reads(st, "runs", "Test runs of the selection, oldest first: key, date, commit, branch, machine.", query.Runs),
		reads(st, "function_names", "Names of functions in the store.", query.FunctionNames),
		reads(st, "history", "A metric, or the share of a function, over the runs of a benchmark, with lasting changes.", query.History),
		reads(st, "top", "Functions of the selection by self or total time.", func(ctx context.Context, st store.Store, r *query.TopRequest) (any, error) {
			r.Limits = o.Limits
			return query.TreeView(&r.TreeRequest).Answer(ctx, st, &r.TreeRequest)
		}),
		reads(st, "tree", "The merged call tree of the selection.", func(ctx context.Context, st store.Store, r *query.TreeRequest) (any, error) {
			r.Limits = o.Limits
			return query.TreeView(r).Answer(ctx, st, r)
		}),
		reads(st, "diff", "What differs between two sets of runs: base-… against new-…, or the last n against those before.", func(ctx context.Context, st store.Store, r *query.DiffRequest) (any, error) {
			r.Limits = o.Limits
			return query.DiffView(r).Answer(ctx, st, r)
		}),
		reads(st, "find", "Where a function or call path occurs, and how much time it uses.", func(ctx context.Context, st store.Store, r *query.FindRequest) (any, error) {
			return query.FindView(r).Answer(ctx, st, r)
		}),
		reads(st, "lines", "The lines of functions by self and total time, of runs whose original files are kept.", func(ctx context.Context, st store.Store, r *query.LinesRequest) (*query.LinesResult, error) {
			r.Limits = o.Limits
			return query.Lines(ctx, st, r)
		}),
		reads(st, "bottlenecks", "Functions by how much could be gained from them.", query.Bottlenecks),
		reads(st, "regressions", "What became slower: place, size, since which run, and the causes that were ruled out.", func(ctx context.Context, st store.Store, r *query.MethodRequest) (any, error) {
			return query.MethodView(r).Answer(ctx, st, r)
		}),
		reads(st, "report", "Explain findings: changes with their evidence, call paths, metrics and commits.", query.Report),
	}
	if speaker, ok := st.(store.SQLSpeaker); ok && o.SQL {
		list = append(list, reads(speaker, "sql", "Run one read-only SQL query. Views: profiles, functions, sample, function_node, invokes, recurs.", runSQL))
	}
	traces, ok := st.(traceprof.Store)
	if !ok {
		return list
	}
	list = append(list,
		reads(traces, "tasks", "Tasks of trace profiling, newest first.", tasks.Tasks),
		reads(traces, "task", "A task, how much of its requests the snapshots cover, and why data is missing.", tasks.DescribeTask),
		reads(traces, "task_segments", "The requests that a task sampled.", tasks.SegmentsOrSpans),
		reads(traces, "task_analysis", "Where sampled requests spent their time: the merged tree of a task, trace or segment.", tasks.Analyze),
	)
	if o.Writes {
		list = append(list,
			writes(reads(traces, "create_task", "Create a task of trace profiling for an endpoint of a service.", tasks.CreateTask)),
			writes(reads(traces, "stop_task", "Stop a task of trace profiling.", tasks.StopTask)),
		)
	}
	return list
}

// maxRows is the maximum number of rows of an SQL result.
const maxRows = 1000

// sqlRequest is a query in SQL.
type sqlRequest struct {
	Query string `param:"query" help:"the query"`
}

// rows is the result of an SQL query, which is read while it is written.
type rows struct {
	table *render.Table
	rows  iter.Seq2[[]any, error]
}

func runSQL(ctx context.Context, st store.SQLSpeaker, r *sqlRequest) (*rows, error) {
	if r.Query == "" {
		return nil, fmt.Errorf("query is missing")
	}
	answer, err := st.SQL(ctx, r.Query)
	if err != nil {
		return nil, err
	}
	t := &render.Table{}
	for _, name := range answer.Columns {
		t.Columns = append(t.Columns, render.Column{Name: name})
	}
	return &rows{t, answer.Rows}, nil
}
