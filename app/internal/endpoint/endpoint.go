// Package endpoint lists the requests of /api/v1, once for everybody who asks and answers:
//
//	endpoint.Tree.Of(&request) ──▶ Question ──▶ Asker ──▶ result, document or file
//	                                             ├ Local   an open store
//	                                             └ Remote  a server (package client)
//
// An Endpoint is an address, a request and the query that answers it. The server makes a
// route and a description of each; commands and the tools of assistants ask an Asker, which
// is a store of their own or a server: the same request, the same result type and, as JSON,
// the same bytes.
//
// The package parses no flags, prints nothing and computes nothing.
package endpoint

import (
	"context"
	"errors"
	"io"

	"github.com/dendroprof/dendro/continuous"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/query"
	"github.com/dendroprof/dendro/query/document"
	"github.com/dendroprof/dendro/query/judge"
	"github.com/dendroprof/dendro/query/listing"
	"github.com/dendroprof/dendro/query/param"
	"github.com/dendroprof/dendro/report"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/table"
	"github.com/dendroprof/dendro/traceprof"
)

// Form is what an endpoint answers with.
type Form string

// The forms of answers.
const (
	FormRows   Form = "rows"   // a result: a document, or a table of its rows
	FormReport Form = "report" // a report.Report, in one of several formats
	FormFile   Form = "file"
)

// About describes an endpoint.
type About struct {
	ID, Tag, Summary string
	Method, Path     string // "GET", "/api/v1/tasks/{task}"
	Changes          bool   // the store
	Form             Form
	Results          []any                   // possible results of FormRows
	Types            []string                // possible media types of FormFile
	Created          func(result any) string // the path of the new resource; nil if the endpoint creates none
}

// Endpoint is an address and the query that answers it.
type Endpoint[Request any] struct {
	About
	answer func(ctx context.Context, l *Local, r *Request) (any, error)
	empty  func(r *Request) any // a result to decode into; nil: the answer is a *File
	// Prepare completes a request before it is answered; nil: it is complete.
	Prepare func(l *Local, r *Request)
	// Complete adds to a result what the repository of the code has; nil: it has nothing.
	Complete func(ctx context.Context, code Code, r *Request, result any) error
	// report returns the request of the report; only for FormReport.
	report func(*Request) *judge.ReportRequest
}

// Code is a repository of the profiled code.
type Code interface {
	// Locate adds to the changes of a report the commits and lines that may be their causes.
	Locate(ctx context.Context, doc *report.Report) error
	// AddSource adds the text of lines.
	AddSource(ctx context.Context, lines *listing.Result) error
}

// Any is an Endpoint of any request.
type Any interface {
	Describe() *About
	// Blank returns a question whose request has its defaults to be set.
	Blank() Question
}

// Describe returns the description.
func (e *Endpoint[Request]) Describe() *About { return &e.About }

// Blank returns a question with an empty request.
func (e *Endpoint[Request]) Blank() Question { return e.Of(new(Request)) }

// Question is a request to be answered.
type Question struct {
	*About
	Request any                  // a pointer to a struct with parameters (package param)
	Report  *judge.ReportRequest // the part of the request that asks for a report; nil: none does

	answer func(ctx context.Context, l *Local) (any, error)
	empty  func() any
}

// Of returns a question.
func (e *Endpoint[Request]) Of(r *Request) Question {
	q := Question{About: &e.About, Request: r, empty: func() any { return e.empty(r) }}
	if e.report != nil {
		q.Report = e.report(r)
	}
	q.answer = func(ctx context.Context, l *Local) (any, error) {
		if e.Prepare != nil {
			e.Prepare(l, r)
		}
		result, err := e.answer(ctx, l, r)
		if err == nil && l.Code != nil && e.Complete != nil {
			err = e.Complete(ctx, l.Code, r, result)
		}
		return result, err
	}
	return q
}

// ErrNoTraces: the store keeps no trace profiling.
var ErrNoTraces = errors.New("this store keeps no trace profiling")

// File is an answer that is a file.
type File struct {
	Name, Type string   // media type
	Notes      []string // what a reader has to know
	Write      func(w io.Writer) error
}

// Asker answers questions: Local or Remote.
type Asker interface {
	// Ask returns a result of a type of About.Results.
	Ask(ctx context.Context, q Question) (any, error)
	// Document writes a result as JSON.
	Document(ctx context.Context, q Question, columns bool, w io.Writer) error
	// Sheet returns a result as a table for programs: tsv or csv. The notes are what is said
	// beside it.
	Sheet(ctx context.Context, q Question, format string) (*File, error)
	// File returns an answer that is a file. Its Write is called once, or not.
	File(ctx context.Context, q Question) (*File, error)
}

// Local is an open store, or none for questions about files.
type Local struct {
	Store   store.Store
	Traces  traceprof.Store  // nil: the store keeps none
	Windows continuous.Store // nil: the store keeps none
	Limits  profile.Limits   // of original files that are decoded
	Links   int              // maximum number of short links in the store; 0: 10,000
	Version string           // of the program, for documents
	Code    Code             // the repository of the profiled program; nil if unknown

	RowsOnly bool // results are read by their rows, not in columns, which know more
	Page     bool // reports are written as pages, which have diffs
}

// defaultLinks is the maximum number of short links.
const defaultLinks = 10_000

// NewLocal returns an open store with its traces and windows.
func NewLocal(st store.Store, limits profile.Limits) *Local {
	traces, _ := store.As[traceprof.Store](st)
	windows, _ := store.As[continuous.Store](st)
	return &Local{Store: st, Traces: traces, Windows: windows, Limits: limits}
}

// Ask answers from the store.
func (l *Local) Ask(ctx context.Context, q Question) (any, error) { return q.answer(ctx, l) }

// Document answers from the store.
func (l *Local) Document(ctx context.Context, q Question, columns bool, w io.Writer) error {
	result, err := l.Ask(ctx, q)
	if err != nil {
		return err
	}
	return document.Write(w, result, document.Form{Columns: columns})
}

// Sheet answers from the store.
func (l *Local) Sheet(ctx context.Context, q Question, format string) (*File, error) {
	if _, ok := q.empty().(query.Result); !ok { // before the question changes anything
		return nil, param.Errorf("%s has no form %s", q.ID, format)
	}
	result, err := l.Ask(ctx, q)
	if err != nil {
		return nil, err
	}
	return SheetOf(q.ID, result.(query.Result), format), nil
}

// SheetOf returns a result as a file of this name, with the extension of the format.
func SheetOf(name string, result query.Result, format string) *File {
	t := result.Table(true)
	types := map[string]string{"tsv": "text/tab-separated-values; charset=utf-8", "csv": "text/csv; charset=utf-8"}
	return &File{Name: name + "." + format, Type: types[format], Notes: t.Messages(), Write: func(w io.Writer) error {
		return t.Print(&table.Output{W: w, Err: io.Discard, Format: format})
	}}
}

// File answers from the store.
func (l *Local) File(ctx context.Context, q Question) (*File, error) { return Answer[File](ctx, l, q) }

// Answer asks for a result of a known type.
func Answer[Result any](ctx context.Context, a Asker, q Question) (*Result, error) {
	result, err := a.Ask(ctx, q)
	if err != nil {
		return nil, err
	}
	return result.(*Result), nil
}
