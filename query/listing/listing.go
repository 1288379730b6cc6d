// Package listing answers how much each line of a function uses, and from which line a function calls
// another one.
//
// It models functions with their lines, summed over profiles, and the source text beside them. It
// does not model where the text is: whoever has the repository gives it. Package trees reads the
// samples.
package listing

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/calltree/callpath"
	"github.com/dendroprof/dendro/internal/words"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/query"
	"github.com/dendroprof/dendro/query/document"
	"github.com/dendroprof/dendro/query/param"
	"github.com/dendroprof/dendro/query/trees"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/table"
)

// Request asks for the lines of functions. Stores keep no lines: what is asked of
// one is read from the original files.
type Request struct {
	query.Selection    `group:"Selection"`
	Function           string `param:"function" arg:"function" help:"function to list: a name, a glob or /a regular expression/" json:"function"`
	trees.SampleFilter `group:"View"`
	Rows               int `param:"rows" group:"Limit" arg:"n" min:"0" page:"10" help:"maximum number of functions (0: all)" json:"rows,omitempty"`

	Inputs []trees.Input  `json:"-"` // in place of the store, if there are any
	Limits profile.Limits `json:"-"` // of original files that are decoded
}

// Result is functions with their lines, the largest total first.
type Result struct {
	trees.Head
	// Commit is that of the newest selected run; empty: unknown, or of files.
	Commit string     `json:"commit,omitempty"`
	Rows   []Function `json:"rows"`
}

// Function is a function with its lines, by number. A total counts a sample once,
// however often recursion has the function or the line on its stack.
type Function struct {
	Function string          `json:"function"`
	File     string          `json:"file"`
	Module   string          `json:"module"`
	Total    document.Number `json:"total"`
	Self     document.Number `json:"self"`
	Lines    []Line          `json:"lines"`
	Link     string          `json:"link,omitempty"` // a web page of the file
}

// Line is a line: self of samples taken in it, total of these and of what it called.
// Line is 0 for samples whose line is unknown. With source text, the lines between and
// around those with samples are there too, with values 0.
type Line struct {
	Line   int32           `json:"line"`
	Total  document.Number `json:"total"`
	Self   document.Number `json:"self"`
	Source string          `json:"source,omitempty"`
}

// sourceContext is the number of lines of source text before and after those with samples.
const sourceContext = 3

// OfPushed makes the lines of the selected pushed profiles a run.
func (r *Request) OfPushed(ctx context.Context, st store.Store) (store.Store, error) {
	if len(r.Inputs) > 0 {
		return nil, trees.ErrOfFiles
	}
	return query.PushedLines(ctx, st, &r.Selection)
}

// List answers a Request.
func List(ctx context.Context, st store.Store, r *Request) (_ *Result, err error) {
	defer func() { err = query.Hinted(ctx, st, &r.Selection, err) }()
	pattern, err := callpath.Parse(r.Function)
	switch {
	case r.Function == "":
		return nil, param.Errorf("function is missing: the function to list")
	case err != nil:
		return nil, param.Errorf("function: %w", err)
	case !pattern.Single():
		return nil, param.Errorf("function: %q is a call path; give the name of one function", r.Function)
	}
	s, err := trees.ReadSamples(ctx, st, &trees.TreeRequest{Selection: r.Selection, Filter: trees.Filter{SampleFilter: r.SampleFilter},
		Inputs: r.Inputs, Limits: r.Limits})
	if err != nil {
		return nil, err
	}
	pattern.StopWhen(func() bool { return ctx.Err() != nil })
	sum := functionSum{}
	for _, shown := range s.Views {
		sum.add(shown.Lines(named(pattern, shown.Functions)))
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if len(sum) == 0 {
		return nil, query.UnknownFunction(r.Function, s.Sum.Functions)
	}
	out := &Result{Head: s.Head, Rows: []Function{}}
	found := sum.sorted()
	for i := range words.First(found, r.Rows) {
		out.Rows = append(out.Rows, r.row(&found[i], s.Sum.Type.Scale))
	}
	out.Omitted.Rows = len(found) - len(out.Rows)
	if len(r.Inputs) > 0 {
		return out, nil
	}
	return out, out.setCommit(ctx, st, r.Selection)
}

// OfCall returns the line of a function from which it calls another one in most samples of a
// profile, or without a callee its own line with most samples. Stores keep no lines: 0 if the
// original file was not kept, or has none.
func OfCall(ctx context.Context, st store.Store, p *store.Profile, function, calls string) (line int, err error) {
	if !p.HasSource {
		return 0, nil
	}
	of := query.Selection{Profiles: []store.ProfileID{p.ID}, Types: []string{p.Type.Name}}
	s, err := trees.ReadSamples(ctx, st, &trees.TreeRequest{Selection: of})
	if err != nil {
		return 0, err
	}
	most := int64(0)
	for _, shown := range s.Views {
		for _, l := range shown.CallLines(function, calls) {
			if l.Total > most {
				most, line = l.Total, int(l.Line)
			}
		}
	}
	return line, nil
}

// setCommit sets the commit whose text the lines are shown in.
func (r *Result) setCommit(ctx context.Context, st store.Store, q store.Query) error {
	list, err := st.Profiles(ctx, q)
	list = slices.DeleteFunc(slices.Clone(list), func(p store.Profile) bool { return !p.HasSource })
	if err != nil || len(list) == 0 {
		return err
	}
	r.Commit = list[len(list)-1].Run.Commit
	if n := len(query.Distinct(list, func(p *store.Profile) string { return p.Run.Commit })); n > 1 {
		r.Notes = append(r.Notes, fmt.Sprintf("the lines are of runs of %d commits, whose lines may differ", n))
	}
	return nil
}

// named returns whether a function's name matches a pattern of one piece: as a whole or, if none
// does, without the file that qualifies the names of scripts.
func named(pattern *callpath.Pattern, functions []profile.Function) func(*profile.Function) bool {
	names := make([]string, len(functions))
	short := make([]string, len(functions))
	for i := range functions {
		names[i] = functions[i].Name
		short[i] = query.Unqualified(names[i])
	}
	matches := map[string]bool{}
	for _, as := range [][]string{names, short} {
		for i, ok := range pattern.Functions(as)[0] {
			if ok {
				matches[names[i]] = true
			}
		}
		if len(matches) > 0 {
			break
		}
	}
	return func(f *profile.Function) bool { return matches[f.Name] }
}

// functionSum adds up the lines of functions of several profiles. Functions are the same
// if name, module and file are.
type functionSum map[[3]string]*calltree.FunctionLines

func (sum functionSum) add(list []calltree.FunctionLines) {
	for _, f := range list {
		key := [3]string{f.Function.Name, f.Function.Module, f.Function.File}
		have := sum[key]
		if have == nil {
			sum[key] = &f
			continue
		}
		have.Self += f.Self
		have.Total += f.Total
		for _, l := range f.Lines {
			at, ok := slices.BinarySearchFunc(have.Lines, l.Line, func(a calltree.LineAmount, line int32) int { return cmp.Compare(a.Line, line) })
			if !ok {
				have.Lines = slices.Insert(have.Lines, at, calltree.LineAmount{Line: l.Line})
			}
			have.Lines[at].Self += l.Self
			have.Lines[at].Total += l.Total
		}
	}
}

// sorted returns the functions, the largest total first.
func (sum functionSum) sorted() []calltree.FunctionLines {
	var list []calltree.FunctionLines
	for _, f := range sum {
		list = append(list, *f)
	}
	slices.SortFunc(list, func(a, b calltree.FunctionLines) int {
		return cmp.Or(cmp.Compare(max(b.Total, -b.Total), max(a.Total, -a.Total)), cmp.Compare(a.Function.Name, b.Function.Name),
			cmp.Compare(a.Function.File, b.Function.File), cmp.Compare(a.Function.Module, b.Function.Module))
	})
	return list
}

// row returns a function with its lines.
func (r *Request) row(f *calltree.FunctionLines, scale int) Function {
	out := Function{Function: f.Function.Name, File: f.Function.File, Module: f.Function.Module, Total: document.Whole(f.Total, scale),
		Self: document.Whole(f.Self, scale), Lines: nil, Link: ""}
	for _, l := range f.Lines {
		out.Lines = append(out.Lines, Line{l.Line, document.Whole(l.Total, scale), document.Whole(l.Self, scale), ""})
	}
	return out
}

// AddSource adds the source text of lines, and the lines around them. Text returns the lines
// of the file that a function is in, and a web page of it; nil and empty without one.
func (r *Result) AddSource(text func(*profile.Function) (lines []string, link string)) {
	for i := range r.Rows {
		f := &r.Rows[i]
		lines, link := text(&profile.Function{Name: f.Function, File: f.File, Module: f.Module})
		f.addSource(lines)
		f.Link = link
	}
}

func (f *Function) addSource(text []string) {
	known := f.Lines[len(f.Lines)-1].Line
	if known <= 0 || int(known) > len(text) {
		return
	}
	from := f.Lines[0].Line
	if from == 0 && len(f.Lines) > 1 {
		from = f.Lines[1].Line
	}
	rows := map[int32]Line{}
	for _, l := range f.Lines {
		rows[l.Line] = l
	}
	for line := max(1, from-sourceContext); line <= min(known+sourceContext, int32(len(text))); line++ {
		row, ok := rows[line]
		if !ok {
			row = Line{Line: line}
		}
		row.Source = text[line-1]
		rows[line] = row
	}
	f.Lines = slices.SortedFunc(maps.Values(rows), func(a, b Line) int { return cmp.Compare(a.Line, b.Line) })
}

// Table has a row per line.
func (r *Result) Table(bool) *table.Table {
	t := &table.Table{Notes: r.Notes, Omitted: r.Omitted.Rows,
		Columns: []table.Column{table.TextColumn("function"), table.TextColumn("file"), table.CountColumn("line"),
			query.AmountColumn("self", query.Noun(r.Type, r.Unit)), query.AmountColumn("total", query.Noun(r.Type, r.Unit)),
			table.ShareColumn("share"), table.TextColumn("source")}}
	for i := range r.Rows {
		f := &r.Rows[i]
		for _, l := range f.Lines {
			t.Add(f.Function, f.File, l.Line, l.Self, l.Total, l.Total.Of(r.RootTotal), l.Source)
		}
	}
	return t
}
