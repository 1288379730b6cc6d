package api

import (
	"bytes"
	"context"
	"net/http"

	"github.com/dendroprof/dendro/app/internal/server"
	"github.com/dendroprof/dendro/query"
	"github.com/dendroprof/dendro/report"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/web"
)

// endpoint is an address whose description is made of its request and results.
type endpoint struct {
	method, path     string
	id, tag, summary string
	request          any   // a pointer; its parameters are those of the address
	form             any   // a pointer: the parameters of its form
	results          []any // the possible results; none: a file
	needs            server.Needs
	upload           bool // the body is a file
	handler          func(http.ResponseWriter, *http.Request) error
}

// ask makes an endpoint of a query over the store.
func ask[Request, Result any](a *api, id, tag, path, summary string, answer func(context.Context, store.Store, *Request) (Result, error), results ...any) endpoint {
	return endpoint{method: "GET", path: path, id: id, tag: tag, summary: summary, request: new(Request), form: new(resultForm), results: results, needs: server.Reading,
		handler: func(w http.ResponseWriter, r *http.Request) error {
			var request Request
			f, err := read(r, &request)
			if err != nil {
				return err
			}
			result, err := answer(r.Context(), a.Store, &request)
			if err != nil {
				return err
			}
			return respond(w, f, result)
		}}
}

// posted is the endpoint with POST, for clients that send facts in the body.
func posted(e endpoint) endpoint {
	e.method, e.id = "POST", e.id+"WithFacts"
	e.summary += " The body has what only the client knows: acknowledged changes, and commits of its repository."
	return e
}

// change is an endpoint that changes the store.
func change(e endpoint) endpoint {
	e.method, e.needs = "POST", server.All
	return e
}

// flameRequest is a TreeRequest for a flame graph.
type flameRequest struct {
	query.TreeRequest `default:"view=flame"`
}

// queries lists the queries that every surface has.
func (a *api) queries() []endpoint {
	tree := func(ctx context.Context, st store.Store, r *query.TreeRequest) (any, error) {
		r.Limits = a.Limits
		return query.TreeView(r).Answer(ctx, st, r)
	}
	diffs := []any{query.DiffResult{}, query.DiffFunctionsResult{}, query.DiffFlameResult{}, query.DiffChartResult{}, query.DiffNodeResult{}, query.BandResult{}, query.TreeResult{}, query.FunctionsResult{}, query.FlameResult{}, query.NodeResult{}}
	trees := []any{query.TreeResult{}, query.FunctionsResult{}, query.FlameResult{}, query.StackChartResult{}, query.MarkersResult{}, query.NodeResult{}, query.GrowthResult{}}
	regressions := ask(a, "regressions", "analyses", "/api/v1/regressions", "What became slower, where, since when, by how much.", func(ctx context.Context, st store.Store, r *query.MethodRequest) (any, error) {
		return query.MethodView(r).Answer(ctx, st, r)
	}, query.RegressionsResult{}, query.ScoresResult{}, query.CorrelationsResult{}, query.HotellingResult{})
	documents := reports(a, "report", "/api/v1/report", "What changed and the evidence for it, as a document.", func(ctx context.Context, r *query.ReportRequest, page bool) (*report.Report, query.Detail, error) {
		r.Version, r.Page = a.Version, page
		doc, err := query.Report(ctx, a.Store, r)
		return doc, r.Detail, err
	})
	check := reports(a, "check", "/api/v1/check", "A report with the verdict of a gate.", func(ctx context.Context, r *query.CheckRequest, page bool) (*report.Report, query.Detail, error) {
		r.Version, r.Page = a.Version, page
		doc, err := query.Check(ctx, a.Store, r)
		return doc, r.Detail, err
	})
	return []endpoint{
		ask(a, "runs", "store", "/api/v1/runs", "Test runs of the selection, oldest first.", query.Runs, query.RunsResult{}),
		ask(a, "profiles", "store", "/api/v1/profiles", "Profiles of the selection.", query.Profiles, query.ProfilesResult{}),
		ask(a, "overview", "store", "/api/v1/overview", "Benchmarks with their newest run and metric, and the services that send traces.", query.Overview, query.OverviewResult{}),
		ask(a, "history", "queries", "/api/v1/history", "A metric, or the share of a function, over the runs of each benchmark, with lasting changes.", query.History, query.HistoryResult{}),
		ask(a, "functionNames", "store", "/api/v1/function-names", "Functions of the store, by name.", query.FunctionNames, query.FunctionNamesResult{}),
		ask(a, "functions", "queries", "/api/v1/functions", "Functions of the selection by self and total; with last=n now and before.", func(ctx context.Context, st store.Store, r *query.TopRequest) (any, error) {
			return tree(ctx, st, &r.TreeRequest)
		}, trees...),
		ask(a, "tree", "queries", "/api/v1/tree", "The merged call tree of the selection.", tree, trees...),
		ask(a, "flame", "queries", "/api/v1/flame", "The flame graph of the selection.", func(ctx context.Context, st store.Store, r *flameRequest) (any, error) {
			return tree(ctx, st, &r.TreeRequest)
		}, trees...),
		ask(a, "diff", "queries", "/api/v1/diff", "How two parts of the store differ: base-… and new-…, or last=n against the runs before.", func(ctx context.Context, st store.Store, r *query.DiffRequest) (any, error) {
			r.Limits = a.Limits
			return query.DiffView(r).Answer(ctx, st, r)
		}, diffs...),
		ask(a, "find", "queries", "/api/v1/find", "Where a function or call path occurs, and how much time it uses.", func(ctx context.Context, st store.Store, r *query.FindRequest) (any, error) {
			return query.FindView(r).Answer(ctx, st, r)
		}, query.FindResult{}, query.FindSumsResult{}),
		ask(a, "lines", "queries", "/api/v1/lines", "The lines of functions by self and total, of runs whose original files are kept.", func(ctx context.Context, st store.Store, r *query.LinesRequest) (*query.LinesResult, error) {
			r.Limits = a.Limits
			return query.Lines(ctx, st, r)
		}, query.LinesResult{}),
		ask(a, "bottlenecks", "analyses", "/api/v1/bottlenecks", "Functions by how much could be gained from them.", query.Bottlenecks, query.BottlenecksResult{}),
		regressions, posted(regressions), documents, posted(documents), check, posted(check),
		a.exportEndpoint(), a.viewEndpoint(trees), a.viewDiffEndpoint(diffs),
		page(a, "treePage", "/api/v1/page/tree", "The call tree of the selection as an offline page.", func(ctx context.Context, st store.Store, r *query.TreeRequest) (*web.Report, error) {
			r.Limits = a.Limits
			return query.TreePage(ctx, st, r)
		}),
		page(a, "diffPage", "/api/v1/page/diff", "How two parts of the store differ, as an offline page.", func(ctx context.Context, st store.Store, r *query.DiffRequest) (*web.Report, error) {
			r.Limits = a.Limits
			return query.DiffPage(ctx, st, r)
		}),
		page(a, "bottlenecksPage", "/api/v1/page/bottlenecks", "Functions by how much could be gained from them, with plots, as an offline page.", query.BottlenecksPage),
		change(ask(a, "prune", "changes", "/api/v1/prune", "Remove old profiles.", query.Prune, query.PruneResult{})),
		change(ask(a, "compact", "changes", "/api/v1/compact", "Reclaim space and optimise the store.", func(ctx context.Context, st store.Store, _ *struct{}) (*query.CompactResult, error) {
			return query.Compact(ctx, st)
		}, query.CompactResult{})),
	}
}

// reportFormat is how a report is encoded.
type reportFormat struct {
	Format string `param:"format" arg:"name" choices:"json,md,html,text,sarif,junit" help:"json, md, html, text, sarif or junit" group:"Output"`
}

// mediaTypes of report formats.
var mediaTypes = map[string]string{"json": "application/json", "md": "text/markdown; charset=utf-8", "html": "text/html; charset=utf-8", "text": "text/plain; charset=utf-8",
	"sarif": "application/sarif+json", "junit": "application/xml"}

// reports makes the endpoint of a query that is answered with a report.
func reports[Request any](a *api, id, path, summary string, answer func(context.Context, *Request, bool) (*report.Report, query.Detail, error)) endpoint {
	return endpoint{method: "GET", path: path, id: id, tag: "analyses", summary: summary, request: new(Request), form: new(reportFormat), needs: server.Reading,
		handler: func(w http.ResponseWriter, r *http.Request) error {
			var request Request
			var f reportFormat
			if err := readWith(r, &request, &f); err != nil {
				return err
			}
			doc, detail, err := answer(r.Context(), &request, f.Format == "html")
			if err != nil {
				return err
			}
			var b bytes.Buffer // it is small, and may fail
			if err := query.WriteReport(&b, doc, f.Format, detail); err != nil {
				return err
			}
			if w.Header().Set("Content-Type", mediaTypes[f.Format]); f.Format == "html" {
				attach(w, mediaTypes["html"], "report.html") // opened here, the policy of this server would forbid its script
			}
			_, _ = w.Write(b.Bytes())
			return nil
		}}
}

// pageForm is the form of an offline page: there is one.
type pageForm struct{}

// page makes an endpoint that answers with an offline page.
func page[Request any](a *api, id, path, summary string, answer func(context.Context, store.Store, *Request) (*web.Report, error)) endpoint {
	return endpoint{method: "GET", path: path, id: id, tag: "queries", summary: summary, request: new(Request), form: new(pageForm), needs: server.Reading,
		handler: func(w http.ResponseWriter, r *http.Request) error {
			var request Request
			if err := readWith(r, &request, &pageForm{}); err != nil {
				return err
			}
			page, err := answer(r.Context(), a.Store, &request)
			return respondPage(w, page, err)
		}}
}

// respondPage writes an offline page as a file.
func respondPage(w http.ResponseWriter, page *web.Report, err error) error {
	if err != nil {
		return err
	}
	attach(w, mediaTypes["html"], "dendro.html")
	abortOn(page.Write(w))
	return nil
}

// fileFormat is the format of an answer that is a file.
type fileFormat struct {
	Format string `param:"format" arg:"name" default:"pprof" help:"format of the file: pprof, folded, firefox, speedscope, …" group:"Output"`
}

// exportEndpoint answers with a file that other tools read.
func (a *api) exportEndpoint() endpoint {
	return endpoint{method: "GET", path: "/api/v1/export", id: "export", tag: "queries", summary: "The sum of the selection as a file that other tools read.",
		request: new(query.ExportRequest), form: new(fileFormat), needs: server.Reading,
		handler: func(w http.ResponseWriter, r *http.Request) error {
			request := query.ExportRequest{Limits: a.Limits}
			var f fileFormat
			if err := readWith(r, &request, &f); err != nil {
				return err
			}
			file, err := fileOf("dendro", f.Format)
			if err != nil {
				return mistake(err)
			}
			p, table, _, err := query.Export(r.Context(), a.Store, &request)
			if err != nil {
				return err
			}
			file.write(w, p, table)
			return nil
		}}
}
