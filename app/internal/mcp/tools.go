package mcp

import (
	"context"
	"fmt"
	"iter"

	"github.com/dendroprof/dendro/app/internal/endpoint"
	"github.com/dendroprof/dendro/query"
	"github.com/dendroprof/dendro/table"
)

// tool is one query.
type tool struct {
	name, description string
	writes            bool
	request           func() any // a new request
	answer            func(ctx context.Context, request any) (any, error)
}

// asks makes a tool of an endpoint.
func asks[Request any](a endpoint.Asker, name, description string, e *endpoint.Endpoint[Request]) tool {
	return tool{name: name, description: description, writes: e.Changes, request: func() any { return new(Request) },
		answer: func(ctx context.Context, request any) (any, error) { return a.Ask(ctx, e.Of(request.(*Request))) }}
}

// tools lists the tools that a store, or a server, can answer.
func tools(a endpoint.Asker, o *Options) []tool {
	list := []tool{
		asks(a, "overview", "Benchmarks with their newest run and metric, and the services that send traces.", endpoint.Overview),
		asks(a, "runs", "Test runs of the selection, oldest first: key, date, commit, branch, machine.", endpoint.Runs),
		asks(a, "function_names", "Names of functions in the store.", endpoint.Names),
		asks(a, "history", "A metric, or the share of a function, over the runs of a benchmark, with the changes of the list.", endpoint.History),
		asks(a, "top", "Functions of the selection by self or total time.", endpoint.Top),
		asks(a, "tree", "The merged call tree of the selection.", endpoint.Tree),
		asks(a, "diff", "What differs between two sets of runs: base-… against head-…, or the last n against those before.", endpoint.Diff),
		asks(a, "find", "Where a function or call path occurs, and how much time it uses.", endpoint.Find),
		asks(a, "lines", "The lines of functions by self and total time, of runs whose original files are kept.", endpoint.Lines),
		asks(a, "bottlenecks", "Functions by how much could be gained from them.", endpoint.Bottlenecks),
		asks(a, "regressions", "What became slower: place, size, since which run, and the causes that were ruled out.", endpoint.Regressions),
		asks(a, "report", "Explain findings: changes with their evidence, call paths, metrics and commits.", endpoint.Report),
	}
	if o.SQL != nil {
		list = append(list, tool{name: "sql", description: "Run one read-only SQL query. Views: profiles, functions, sample, function_node, invokes, recurs.",
			request: func() any { return new(sqlRequest) },
			answer:  func(ctx context.Context, request any) (any, error) { return runSQL(ctx, o.SQL, request.(*sqlRequest)) }})
	}
	if !o.Traces {
		return list
	}
	list = append(list,
		asks(a, "tasks", "Tasks of trace profiling, newest first.", endpoint.Tasks),
		asks(a, "task", "A task, how much of its requests the snapshots cover, and why data is missing.", endpoint.Task),
		asks(a, "task_segments", "The requests that a task sampled.", endpoint.TaskSegments),
		asks(a, "task_analysis", "Where sampled requests spent their time: the merged tree of a task, trace or segment.", endpoint.Analysis),
	)
	if o.Writes {
		list = append(list,
			asks(a, "create_task", "Create a task of trace profiling for an endpoint of a service.", endpoint.CreateTask),
			asks(a, "stop_task", "Stop a task of trace profiling.", endpoint.StopTask),
		)
	}
	return list
}

// maxRows is the maximum number of rows of an SQL result.
const maxRows = 1000

// sqlRequest is a query in SQL.
type sqlRequest struct {
	query.SQLSelection
	Query string `param:"query" help:"the query"`
}

// rows is the result of an SQL query, which is read while it is written.
type rows struct {
	table *table.Table
	rows  iter.Seq2[[]any, error]
	notes []string
}

func runSQL(ctx context.Context, run SQL, r *sqlRequest) (*rows, error) {
	if r.Query == "" {
		return nil, fmt.Errorf("query is missing")
	}
	answer, err := run(ctx, &query.SQLRequest{SQLSelection: r.SQLSelection, Rows: maxRows + 1}, r.Query)
	if err != nil {
		return nil, err
	}
	t := &table.Table{}
	for _, name := range answer.Columns {
		t.Columns = append(t.Columns, table.Column{Name: name})
	}
	return &rows{t, answer.Rows, answer.Notes}, nil
}
