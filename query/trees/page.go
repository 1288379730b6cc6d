package trees

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"github.com/dendroprof/dendro/analysis/average"
	"github.com/dendroprof/dendro/internal/words"
	"github.com/dendroprof/dendro/query"
	"github.com/dendroprof/dendro/query/document"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/web"
)

// TreePage answers a TreeRequest with an offline page: the profile in every view, first
// the view that is asked for.
func TreePage(ctx context.Context, st store.Store, r *TreeRequest) (*web.Report, error) {
	address := PageAddress(&r.Selection, pageView(r.View, r.Invert))
	for i := range r.Inputs {
		address.Add("run", filepath.Base(r.Inputs[i].name))
	}
	start := "/profile?" + address.Encode()
	page := &web.Report{}
	upright := *r
	upright.Invert = false // the page inverts by itself
	s, err := newScope(ctx, st, &upright, r.chartOr(viewTree))
	if err != nil {
		return nil, err
	}
	page.Title, page.Start, page.Nav = s.title, start, []web.Link{{Title: "Profile", Address: start}}
	if r.View == viewStackChart {
		boxes, err := s.stackChart()
		if err != nil {
			return nil, err
		}
		if err := chartAnswers(page, "tree", boxes, chartThreads(boxes.Threads), func(thread string) (*StackChartResult, error) {
			one := *r
			one.Threads = []string{thread}
			return StackChart(ctx, st, &one)
		}); err != nil {
			return nil, err
		}
	}
	rows, err := s.rows()
	if err != nil {
		return nil, err
	}
	return page, answer(page, "tree", "", rows)
}

// pageThreads bounds the threads of which a page has a stack chart of their own.
const pageThreads = 32

// chartThreads returns what selects each thread of a stack chart, those with most samples first.
func chartThreads(list []ThreadRow) (names []string) {
	slices.SortStableFunc(list, func(a, b ThreadRow) int { return b.Samples - a.Samples })
	for _, t := range list {
		names = append(names, cmp.Or(t.ID, t.Name))
	}
	return names
}

// chartAnswers adds a stack chart to a page, and those of its threads before it: the first
// answer that fits is shown.
func chartAnswers[R any](page *web.Report, path string, all R, threads []string, of func(thread string) (R, error)) error {
	if len(threads) > 1 {
		for _, name := range words.First(threads, pageThreads) {
			chart, err := of(name)
			if err != nil {
				return err
			}
			if err := answer(page, path, url.Values{"view": {"stack-chart"}, "thread": {name}}.Encode(), chart); err != nil {
				return err
			}
		}
	}
	return answer(page, path, "view=stack-chart", all)
}

// DiffPage answers a DiffRequest with an offline page.
func DiffPage(ctx context.Context, st store.Store, r *DiffRequest) (*web.Report, error) {
	upright := *r
	address := PageAddress(&r.Selection, pageView(r.View, r.Invert))
	for i, side := range []*Side{&r.Base, &r.Head} {
		for name, list := range map[string][]string{"run": side.Runs, "commit": side.Commits, "branch": side.Branches} {
			if len(list) > 0 {
				address[sideName(i)+"-"+name] = list
			}
		}
		for k := range r.Inputs[i] {
			address.Add(sideName(i)+"-run", r.Inputs[i][k].name)
		}
	}
	upright.Invert = false
	if r.Against != "" {
		address.Set("against", r.Against)
		b, err := Band(ctx, st, &upright)
		if err != nil {
			return nil, err
		}
		page := diffPage(address)
		page.Title = fmt.Sprintf("%s against the average of %s, %s … %s", strings.Join(b.Runs, ", "), words.Counted(b.History, "run"),
			b.HistoryFrom, b.HistoryTo)
		return page, answer(page, "diff", "", b)
	}
	if r.Net {
		tree, err := NetTree(ctx, st, &upright)
		if err != nil {
			return nil, err
		}
		page := &web.Report{Title: netTitle, Start: "/profile?view=icicle"}
		return page, answer(page, "tree", "", tree)
	}
	d, err := newComparison(ctx, st, &upright)
	if err != nil {
		return nil, err
	}
	page := diffPage(address)
	page.Title = d.title()
	if r.View == viewStackChart {
		chart, err := DiffChart(ctx, st, r)
		if err != nil {
			return nil, err
		}
		if err := chartAnswers(page, "diff", chart, chart.threadsOfBoth(), func(thread string) (*DiffChartResult, error) {
			one := *r
			one.Threads = []string{thread}
			return DiffChart(ctx, st, &one)
		}); err != nil {
			return nil, err
		}
	}
	rows, err := d.rows()
	if err != nil {
		return nil, err
	}
	return page, answer(page, "diff", "", rows)
}

// diffPage returns a page that begins with a diff.
func diffPage(address url.Values) *web.Report {
	start := "/diff?" + address.Encode()
	return &web.Report{Start: start, Nav: []web.Link{{Title: "Diff", Address: start}}}
}

// PageAddress returns the parameters of an address that name what a page shows.
func PageAddress(s *query.Selection, view string) url.Values {
	address := url.Values{"view": {view}}
	for name, list := range map[string][]string{"group": s.Groups, "benchmark": s.Benchmarks, "run": s.Runs, "commit": s.Commits,
		"branch": s.Branches, "type": s.Types} {
		if len(list) > 0 {
			address[name] = list
		}
	}
	return address
}

// pageView names a view as the pages do.
func pageView(view string, inverted bool) string {
	switch {
	case view == viewFunctions || view == viewStackChart:
		return view
	case inverted:
		return "inverted"
	}
	return "icicle"
}

// answer adds a result to a page, in columns.
func answer(page *web.Report, path, query string, result any) error {
	body, err := document.Bytes(result, document.Form{Columns: true, Compact: true})
	page.Answers = append(page.Answers, web.Answer{Path: path, Query: query, Body: body})
	return err
}

// DiffOfRuns compares profiles of one benchmark: the second side with the average and the band
// of the first if it is the history, as --against history does; else as a diff of both sides does.
func DiffOfRuns(ctx context.Context, runs store.Reader, ids [2][]store.ProfileID, history bool) (any, error) {
	if history {
		c, err := average.Compare(ctx, runs, store.Query{Profiles: ids[1]}, store.Query{Profiles: ids[0]}, "")
		if err != nil {
			return nil, err
		}
		return bandResult(c, average.Mean, c.Warnings), nil
	}
	var diff DiffRequest
	for side := range ids {
		tree, profiles, err := store.MergeTrees(ctx, runs, store.Query{Profiles: ids[side]})
		if err != nil {
			return nil, err
		}
		in := Input{tree: tree, profiles: len(profiles)}
		in.measure(profiles)
		diff.Inputs[side] = []Input{in}
	}
	c, err := newComparison(ctx, nil, &diff)
	if err != nil {
		return nil, err
	}
	return c.rows()
}
