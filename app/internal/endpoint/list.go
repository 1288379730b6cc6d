package endpoint

import (
	"cmp"
	"context"
	"io"
	"net/url"

	"github.com/dendroprof/dendro/format"
	"github.com/dendroprof/dendro/internal/words"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/query"
	"github.com/dendroprof/dendro/query/find"
	"github.com/dendroprof/dendro/query/growth"
	"github.com/dendroprof/dendro/query/judge"
	"github.com/dendroprof/dendro/query/listing"
	"github.com/dendroprof/dendro/query/param"
	"github.com/dendroprof/dendro/query/tasks"
	"github.com/dendroprof/dendro/query/trees"
	"github.com/dendroprof/dendro/report"
	"github.com/dendroprof/dendro/report/flame"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/traceprof"
	"github.com/dendroprof/dendro/web"
)

// FlameRequest is a TreeRequest for a flame graph.
type FlameRequest struct {
	trees.TreeRequest `default:"view=flame"`
}

// The results of requests with several views.
var (
	Trees = []any{trees.TreeResult{}, trees.FunctionsResult{}, trees.FlameResult{}, trees.StackChartResult{}, trees.MarkersResult{},
		trees.LocksResult{}, trees.ActivityResult{}, trees.NodeResult{}, growth.Result{}}
	Diffs = []any{trees.DiffResult{}, trees.DiffFunctionsResult{}, trees.DiffFlameResult{}, trees.DiffChartResult{}, trees.DiffNodeResult{},
		trees.DiffBenchmarksResult{}, trees.BandResult{},
		trees.TreeResult{}, trees.FunctionsResult{}, trees.FlameResult{}, trees.NodeResult{}}
)

// Queries of the store.
var (
	Runs           = one("runs", "store", "/api/v1/runs", "Test runs of the selection, oldest first.", query.Runs)
	Profiles       = one("profiles", "store", "/api/v1/profiles", "Profiles of the selection.", query.Profiles)
	Overview       = one("overview", "store", "/api/v1/overview", "Benchmarks with their newest run and metric, and the services that send traces.", judge.Overview)
	Choices        = one("choices", "store", "/api/v1/choices", "What a selection may be narrowed to: branches with the one that others are compared with, groups, machines, value types, metrics, dates.", query.Choices)
	Names          = one("functionNames", "store", "/api/v1/function-names", "Functions of the store, by name.", query.FunctionNames)
	Completions    = one("completions", "store", "/api/v1/completions", "Names in the store that a parameter may have.", query.Completions)
	Search         = one("search", "store", "/api/v1/search", "Benchmarks, functions, runs, services and tasks whose name has each word of a text; runs also by the beginning of their commit.", query.Search)
	PushedServices = one("pushedServices", "store", "/api/v1/pushed/services", "Services that push profiles, with their types and labels.",
		query.PushedServices)
	PushedSeries = one("pushedSeries", "queries", "/api/v1/pushed/series", "Pushed profiles, or a function in them, over time.",
		query.PushedSeries)
	History = one("history", "queries", "/api/v1/history", "A metric, or the share of a function, over the runs of each benchmark, with the changes of the list.", judge.History)
	Top     = tree("functions", "/api/v1/functions", "Functions of the selection by self and total; with last=n now and before.", func(r *trees.TopRequest) *trees.TreeRequest { return &r.TreeRequest })
	Tree    = tree("tree", "/api/v1/tree", "The merged call tree of the selection.", func(r *trees.TreeRequest) *trees.TreeRequest { return r })
	Flame   = tree("flame", "/api/v1/flame", "The flame graph of the selection.",
		func(r *FlameRequest) *trees.TreeRequest { return &r.TreeRequest })
	Diff = viewed(about("diff", "queries", "/api/v1/diff", "How two parts of the store differ: base-… and head-…, or last=n against the runs before.", Diffs...),
		ofStore, trees.DiffView, func(l *Local, r *trees.DiffRequest) { r.Limits = l.Limits })
	Find = viewed(about("find", "queries", "/api/v1/find", "Where a function or call path occurs, and how much time it uses.", find.Result{}, find.SumsResult{}),
		ofStore, find.View, func(l *Local, r *find.Request) { r.Limits = l.Limits })
	Lines       = lines()
	Bottlenecks = one("bottlenecks", "analyses", "/api/v1/bottlenecks", "Functions by how much could be gained from them.", judge.Bottlenecks)
	Regressions = viewed(about("regressions", "analyses", "/api/v1/regressions", "What became slower, where, since when, by how much.",
		judge.RegressionsResult{}, judge.ScoresResult{}, judge.CorrelationsResult{}, judge.HotellingResult{}), ofStore, judge.MethodView, nil)
	Report = reporting("report", "/api/v1/report", "What changed and the evidence for it, as a document.", judge.Report,
		func(r *judge.ReportRequest) *judge.ReportRequest { return r },
		func(r *judge.ReportRequest) bool { return !r.Changed || r.Candidates > 0 }) // not for a list of what changed
	Check = reporting("check", "/api/v1/check", "A report with the verdict of a gate.", judge.Check,
		func(r *judge.CheckRequest) *judge.ReportRequest { return &r.ReportRequest },
		func(*judge.CheckRequest) bool { return true })
)

// Changes of the store.
var (
	Prune   = change(one("prune", "changes", "/api/v1/prune", "Remove old profiles.", query.Prune))
	Compact = change(one("compact", "changes", "/api/v1/compact", "Reclaim space and optimise the store.",
		func(ctx context.Context, st store.Store, _ *struct{}) (*query.CompactResult, error) {
			return query.Compact(ctx, st)
		}))
)

// What people accepted.
var (
	Accepted = one("accepted", "store", "/api/v1/accepted", "Changes that were accepted: who, when, why, until when and up to which size.", judge.Accepted)
	Accept   = change(one("accept", "changes", "/api/v1/accept", "Accept a change, in place of an earlier acceptance of the same finding.", judge.Accept))
	Withdraw = change(one("withdraw", "changes", "/api/v1/withdraw", "End the acceptance of a change.", judge.Withdraw))
)

// Short links to pages.
var (
	Link     = one("link", "store", "/api/v1/links/{link}", "The page that a short link leads to.", query.Link)
	KeepLink = keepLink()
)

// Queries of trace profiling.
var (
	Tasks           = traced("tasks", "/api/v1/tasks", "List tasks of trace profiling, newest start first.", tasks.Tasks)
	CreateTask      = createTask()
	Task            = traced("task", "/api/v1/tasks/{task}", "Describe a task: its state, the coverage of what it sampled, and what kept it from more.", tasks.DescribeTask)
	StopTask        = change(traced("stopTask", "/api/v1/tasks/{task}/stop", "Stop a task now. Agents that have received it continue for its duration.", tasks.StopTask))
	TaskLog         = traced("taskLogs", "/api/v1/tasks/{task}/logs", "List what happened to a task at its instances, newest first.", tasks.TaskLog)
	TaskCoverage    = traced("taskCoverage", "/api/v1/tasks/{task}/coverage", "The coverage of what a task sampled: in sum, and of each segment.", tasks.CoverTask)
	TaskCauses      = traced("taskWhy", "/api/v1/tasks/{task}/why", "List why a task has no data, or less than it should; the most telling cause first.", tasks.TaskCauses)
	TaskSegments    = taskSegments()
	Services        = traced("services", "/api/v1/services", "List services whose instances reported, by name.", query.Services)
	Instances       = traced("instances", "/api/v1/instances", "List instances that reported, by service and name.", tasks.Instances)
	Endpoints       = traced("endpoints", "/api/v1/endpoints", "List endpoints of a service, by name.", tasks.Endpoints)
	Segments        = traced("segments", "/api/v1/segments", "List segments, newest start first.", tasks.Segments)
	DescribeSegment = traced("segment", "/api/v1/segments/{segment}", "Describe a segment and its spans.", tasks.DescribeSegment)
	Snapshots       = traced("snapshots", "/api/v1/snapshots", "List snapshots one by one, by task, segment and sequence. Select a task or a segment.", tasks.Snapshots)
	Analysis        = traced("analysis", "/api/v1/analysis", "Where the time of sampled requests was spent: trees of code signatures, depth first. Select a task, a trace or a segment.", tasks.Analyze)
)

// Files.
var (
	TreePage = page("treePage", "/api/v1/page/tree", "The call tree of the selection as an offline page, or its flame graph as a picture.", trees.TreePage, trees.Graph,
		func(l *Local, r *PageRequest[trees.TreeRequest]) { r.Page.Limits = l.Limits })
	DiffPage = page("diffPage", "/api/v1/page/diff", "How two parts of the store differ, as an offline page or a picture.", trees.DiffPage, trees.DiffGraph,
		func(l *Local, r *PageRequest[trees.DiffRequest]) { r.Page.Limits = l.Limits })
	BottlenecksPage = page("bottlenecksPage", "/api/v1/page/bottlenecks", "Functions by how much could be gained from them, with plots, as an offline page.", judge.BottlenecksPage, nil, nil)
	Export          = file("export", "queries", "/api/v1/export", "The sum of the selection as a file that other tools read.", export,
		func(l *Local, r *ExportRequest) { r.Limits = l.Limits }, pageTypes...)
	Original = file("original", "queries", "/api/v1/original", "The original file of the one selected profile, if the import kept it.",
		original, nil, pageTypes...)
	TraceArchive = file("traceArchive", "traces", "/api/v1/tasks/{task}/archive", "A trace as SkyWalking's profile exporter writes it (tar.gz).",
		traceArchive, nil, traceTypes...)
	TraceProfile = file("traceProfile", "traces", "/api/v1/trace-profile",
		"Snapshots as a profile with times, for all tools that show profiles. Select a task, a trace or a segment.",
		traceProfile, nil, traceTypes...)
)

// The media types of files: of the store, and of trace profiling.
var (
	pageTypes  = []string{"text/html", "application/octet-stream"}
	traceTypes = []string{"application/octet-stream", "application/gzip"}
)

// All lists the endpoints.
var All = []Any{Runs, Profiles, Overview, Choices, Names, Completions, Search, PushedServices, PushedSeries, History, Top, Tree, Flame,
	Diff, Find, Lines, Bottlenecks, Regressions, Report, Check, Prune, Compact, Accepted, Accept, Withdraw, Link, KeepLink,
	Tasks, CreateTask, Task, StopTask, TaskLog, TaskCoverage, TaskCauses, TaskSegments, Services, Instances, Endpoints, Segments,
	DescribeSegment, Snapshots, Analysis,
	TreePage, DiffPage, BottlenecksPage, Export, Original, TraceArchive, TraceProfile}

func about(id, tag, path, summary string, results ...any) About {
	return About{ID: id, Tag: tag, Method: "GET", Path: path, Summary: summary, Form: FormRows, Results: results}
}

// viewed is an endpoint of a request that chooses a view of the store, or of its traces.
func viewed[Store, Request any](about About, of func(*Local) (Store, error), view func(*Request) query.ViewIn[Store, Request],
	prepare func(*Local, *Request)) *Endpoint[Request] {
	return &Endpoint[Request]{About: about, Prepare: prepare, empty: func(r *Request) any { return view(r).New() },
		answer: func(ctx context.Context, l *Local, r *Request) (any, error) {
			st, err := of(l)
			if err != nil {
				return nil, err
			}
			return view(r).Answer(ctx, st, r)
		}}
}

func ofStore(l *Local) (store.Store, error) { return l.Store, nil }

func ofTraces(l *Local) (traceprof.Store, error) {
	if l.Traces == nil {
		return nil, ErrNoTraces
	}
	return l.Traces, nil
}

// one is an endpoint of a query with one result.
func one[Request, Result any](id, tag, path, summary string,
	answer func(context.Context, store.Store, *Request) (*Result, error)) *Endpoint[Request] {
	return viewed(about(id, tag, path, summary, *new(Result)), ofStore,
		func(*Request) query.View[Request] { return query.ViewOf(answer) }, nil)
}

// tree is an endpoint of a request that contains a TreeRequest.
func tree[Request any](id, path, summary string, part func(*Request) *trees.TreeRequest) *Endpoint[Request] {
	return &Endpoint[Request]{About: about(id, "queries", path, summary, Trees...),
		Prepare: func(l *Local, r *Request) {
			part(r).Limits, part(r).RowsOnly = l.Limits, part(r).RowsOnly || l.RowsOnly
		},
		empty: func(r *Request) any { return trees.TreeView(part(r)).New() },
		answer: func(ctx context.Context, l *Local, r *Request) (any, error) {
			return trees.TreeView(part(r)).Answer(ctx, l.Store, part(r))
		}}
}

func keepLink() *Endpoint[query.KeepLinkRequest] {
	e := change(one("keepLink", "changes", "/api/v1/links", "Store the address of a page, at most 8 KiB, under a short link: /s/ID shows it. The same address has the same link.", query.KeepLink))
	e.Prepare = func(l *Local, r *query.KeepLinkRequest) { r.Maximum = cmp.Or(l.Links, defaultLinks) }
	return e
}

func lines() *Endpoint[listing.Request] {
	e := one("lines", "queries", "/api/v1/lines", "The lines of functions by self and total, of runs whose original files are kept.", listing.List)
	e.Prepare = func(l *Local, r *listing.Request) { r.Limits = l.Limits }
	e.Complete = func(ctx context.Context, code Code, _ *listing.Request, result any) error {
		return code.AddSource(ctx, result.(*listing.Result))
	}
	return e
}

// reporting is an endpoint of a query that is answered with a report; located: with the code of
// its changes.
func reporting[Request any](id, path, summary string, answer func(context.Context, store.Store, *Request) (*report.Report, error),
	part func(*Request) *judge.ReportRequest, located func(*Request) bool) *Endpoint[Request] {
	e := one(id, "analyses", path, summary, answer)
	e.Form, e.Results, e.report = FormReport, nil, part
	e.Prepare = func(l *Local, r *Request) { part(r).Version, part(r).Page = l.Version, part(r).Page || l.Page }
	e.Complete = func(ctx context.Context, code Code, r *Request, result any) error {
		if !located(r) {
			return nil
		}
		return code.Locate(ctx, result.(*report.Report))
	}
	return e
}

func change[Request any](e *Endpoint[Request]) *Endpoint[Request] {
	e.Method, e.Tag, e.Changes = "POST", "changes", true
	return e
}

// traced is an endpoint of trace profiling.
func traced[Request, Result any](id, path, summary string,
	answer func(context.Context, traceprof.Store, *Request) (*Result, error)) *Endpoint[Request] {
	return viewed(about(id, "traces", path, summary, *new(Result)), ofTraces,
		func(*Request) query.ViewIn[traceprof.Store, Request] { return query.ViewOf(answer) }, nil)
}

func createTask() *Endpoint[tasks.CreateTaskRequest] {
	e := change(traced("createTask", "/api/v1/tasks", "Create a task of trace profiling; agents receive it with their next poll.", tasks.CreateTask))
	e.Created = func(result any) string { return "/api/v1/tasks/" + url.PathEscape(result.(*tasks.CreatedTask).ID) }
	return e
}

func taskSegments() *Endpoint[tasks.TaskSegmentsRequest] {
	return viewed(about("taskSegments", "traces", "/api/v1/tasks/{task}/segments", "List the segments that a task sampled, newest first, with their coverage, or with their spans.",
		tasks.TaskSegmentsResult{}, tasks.TaskSpansResult{}), ofTraces,
		func(r *tasks.TaskSegmentsRequest) query.ViewIn[traceprof.Store, tasks.TaskSegmentsRequest] {
			if r.Spans {
				return query.ViewOf(tasks.TaskSpans)
			}
			return query.ViewOf(tasks.TaskSegments)
		}, nil)
}

// PageRequest is a request with the format of the page.
type PageRequest[Request any] struct {
	Page    Request `prefix:""`
	Picture bool    `param:"picture" help:"an SVG picture of the flame graph or stack chart" group:"Output"`
}

// file is an endpoint that answers with a file.
func file[Request any](id, tag, path, summary string, answer func(context.Context, *Local, *Request) (*File, error),
	prepare func(*Local, *Request), types ...string) *Endpoint[Request] {
	return &Endpoint[Request]{About: About{ID: id, Tag: tag, Method: "GET", Path: path, Summary: summary, Form: FormFile, Types: types},
		Prepare: prepare, answer: func(ctx context.Context, l *Local, r *Request) (any, error) { return answer(ctx, l, r) }}
}

// page is an endpoint that answers with an offline page, or with a picture of it.
func page[Request any](id, path, summary string, answer func(context.Context, store.Store, *Request) (*web.Report, error),
	draw func(context.Context, store.Store, *Request) (*flame.Graph, error),
	prepare func(*Local, *PageRequest[Request])) *Endpoint[PageRequest[Request]] {
	return file(id, "queries", path, summary, func(ctx context.Context, l *Local, r *PageRequest[Request]) (*File, error) {
		st, of, err := query.Over(ctx, l.Store, &r.Page)
		if err != nil {
			return nil, err
		}
		if r.Picture && draw != nil {
			g, err := draw(ctx, st, of)
			if err != nil {
				return nil, err
			}
			return Picture(g), nil
		}
		p, err := answer(ctx, st, of)
		if err != nil {
			return nil, err
		}
		return &File{Name: "dendro.html", Type: "text/html; charset=utf-8", Write: p.Write}, nil
	}, prepare, pageTypes...)
}

// pictureBoxes is the maximum number of boxes in a picture.
const pictureBoxes = 20_000

// Picture returns a flame graph as a file.
func Picture(g *flame.Graph) *File {
	if n := g.Limit(pictureBoxes); n > 0 {
		g.Notes = append(g.Notes, words.Count(n)+" narrowest boxes omitted")
	}
	return &File{Name: "dendro.svg", Type: "image/svg+xml", Write: g.SVG}
}

// ExportRequest is a query.ExportRequest with the format of the file.
type ExportRequest struct {
	trees.ExportRequest
	FileFormat
}

// FileFormat is the format of an answer that is a file.
type FileFormat struct {
	Format string `param:"format" arg:"name" default:"pprof" help:"format of the file: pprof, folded, firefox, speedscope, …" group:"Output"`
	Plain  bool   `param:"plain" help:"do not compress the file" group:"Output"`
}

func export(ctx context.Context, l *Local, r *ExportRequest) (*File, error) {
	f, err := r.encoding("dendro")
	if err != nil {
		return nil, err
	}
	p, table, notes, err := trees.Export(ctx, l.Store, &r.ExportRequest)
	if err != nil {
		return nil, err
	}
	file := f.of(p, table)
	file.Notes = notes
	return file, nil
}

// OriginalRequest selects one profile.
type OriginalRequest struct {
	query.Selection `group:"Selection"`
}

func original(ctx context.Context, l *Local, r *OriginalRequest) (*File, error) {
	data, err := query.Original(ctx, l.Store, &r.Selection)
	return &File{Name: "original", Type: "application/octet-stream", Write: func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	}}, err
}

// encoding is how a profile is written.
type encoding struct {
	name   string
	format *format.Format
	packed format.Compression
}

// encoding returns how a profile is written; stem begins the file's name.
func (r *FileFormat) encoding(stem string) (encoding, error) {
	f, err := format.Lookup(r.Format)
	if err != nil {
		return encoding{}, param.Errorf("%w", err)
	}
	if f.Encode == nil {
		return encoding{}, param.Errorf("format %s can only be read", f.Title)
	}
	stem += f.Extensions[0]
	_, packed, err := format.Target(stem, r.Format)
	if r.Plain {
		packed = format.None
	}
	return encoding{stem, f, packed}, err
}

// of returns a table of a profile as a file, or all of them.
func (e encoding) of(p *profile.Profile, table int) *File {
	return &File{Name: e.name, Type: "application/octet-stream", Write: func(w io.Writer) error {
		return format.Write(w, p, table, e.format, e.packed)
	}}
}

func traceArchive(ctx context.Context, l *Local, r *tasks.TraceArchiveRequest) (*File, error) {
	traces, err := ofTraces(l)
	if err != nil {
		return nil, err
	}
	a, err := tasks.ArchiveTrace(ctx, traces, r)
	if err != nil {
		return nil, err
	}
	return &File{Name: a.Name, Type: "application/gzip", Write: a.Write}, nil
}

// TraceProfileRequest is a tasks.SnapshotProfileRequest with the format of the file.
type TraceProfileRequest struct {
	tasks.SnapshotProfileRequest
	Format string `param:"format" arg:"format" default:"firefox" help:"format of the file: firefox, pprof, folded, …"`
}

func traceProfile(ctx context.Context, l *Local, r *TraceProfileRequest) (*File, error) {
	traces, err := ofTraces(l)
	if err != nil {
		return nil, err
	}
	f, err := (&FileFormat{Format: r.Format}).encoding("trace")
	if err != nil {
		return nil, err
	}
	p, _, err := tasks.SnapshotProfile(ctx, traces, &r.SnapshotProfileRequest)
	if err != nil {
		return nil, err
	}
	return f.of(p, -1), nil
}
