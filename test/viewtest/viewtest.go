// Package viewtest asks questions of a small store and compares the answers with what a file
// shows, so that a test of a view is a picture: profiles in, tables out.
//
// A file has sections, each with a store of its own in memory:
//
//	= Two runs of a benchmark
//	file a.folded {"run": "1", "benchmark": "app"} main;load 6, main;query 12
//	file b.txt {"run": "2", "benchmark": "app"}
//		lines of a file, which begin with a tab
//	push shop process_cpu:cpu:nanoseconds:cpu:nanoseconds 10:00 version=1 main;load 6
//
//	? functions run=1 sort=total
//	…
//
// A line that begins with "file" is an import, with a label as files beside profiles have it and
// the original kept, by default of 2026-03-01; "push" is a pushed profile of an hour of 2026-03-01. What follows "? NAME
// PARAMETER=VALUE …" is the answer as text, or in the form that stands before the name: "? json
// runs". A value with spaces stands in single quotes. Lines that begin with # are comments.
// The flag -update writes the answers.
//
// The package is for tests only; nothing outside of tests imports it. What a command prints and
// returns is tested by its scripts, what an analysis decides by the tests of its package.
package viewtest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/continuous"
	"github.com/dendroprof/dendro/ingest"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/query"
	"github.com/dendroprof/dendro/query/document"
	"github.com/dendroprof/dendro/query/param"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/store/mem"
	"github.com/dendroprof/dendro/table"
	"github.com/dendroprof/dendro/test/runtest"
)

var update = flag.Bool("update", false, "rewrite the answers")

// Question answers a request whose parameters set fills in.
type Question func(ctx context.Context, st store.Store, set func(request any) error) (any, error)

// View is the question of a view that the request chooses.
func View[Request any](view func(*Request) query.View[Request]) Question {
	return func(ctx context.Context, st store.Store, set func(any) error) (any, error) {
		r := new(Request)
		if err := set(r); err != nil {
			return nil, err
		}
		return view(r).Answer(ctx, st, r)
	}
}

// Query is the question of a query.
func Query[Request, Result any](answer func(context.Context, store.Store, *Request) (*Result, error)) Question {
	return View(func(*Request) query.View[Request] { return query.ViewOf(answer) })
}

// Print writes results that are tables, texts or, in the formats json and columns, anything.
func Print(o *table.Output, result any) error {
	switch o.Format {
	case "columns":
		return document.Write(o.W, result, document.Form{Columns: true})
	case "json":
		data, err := json.MarshalIndent(result, "", "  ")
		if err == nil {
			_, err = fmt.Fprintf(o.W, "%s\n", data)
		}
		return err
	}
	switch r := result.(type) {
	case query.Result:
		return r.Table(o.Exact()).Print(o)
	case fmt.Stringer:
		_, err := fmt.Fprintln(o.W, r)
		return err
	}
	return fmt.Errorf("%T is no table", result)
}

// Run asks the questions of a file, which have these names.
func Run(t *testing.T, file string, print func(*table.Output, any) error, questions map[string]Question) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder // the file with the answers of today
	var st store.Store
	asked := 0
	lines := strings.SplitAfter(string(data), "\n")
	for i := 0; i < len(lines); {
		line := strings.TrimSuffix(lines[i], "\n")
		end := i + 1
		for end < len(lines) && strings.HasPrefix(lines[end], "\t") {
			end++
		}
		kind, rest, _ := strings.Cut(line, " ")
		switch kind {
		case "=":
			st = mem.New()
		case "file":
			err = importFile(t.Context(), st, rest, lines[i+1:end])
		case "push":
			err = push(t, st, rest)
		case "?":
			for end = i + 1; end < len(lines) && !begins(lines[end]); {
				end++
			}
			for end > i+1 && strings.TrimSpace(lines[end-1]) == "" {
				end--
			}
			answer := ask(t.Context(), st, print, questions, rest)
			if want := strings.Join(lines[i+1:end], ""); strings.TrimSpace(want) != strings.TrimSpace(answer) && !*update {
				t.Errorf("%s:%d: %s\n%s\nwant\n%s", file, i+1, line, answer, want)
			}
			asked++
			out.WriteString(line + "\n" + answer)
			i = end
			continue
		default:
			if line != "" && !strings.HasPrefix(line, "#") {
				err = fmt.Errorf("a line begins with =, #, file, push or ?")
			}
		}
		if err != nil {
			t.Fatalf("%s:%d: %v", file, i+1, err)
		}
		out.WriteString(strings.Join(lines[i:end], ""))
		i = end
	}
	if asked == 0 {
		t.Fatalf("%s: no question", file)
	}
	if *update {
		if err := os.WriteFile(file, []byte(out.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// begins reports whether a line ends the answer before it.
func begins(line string) bool {
	return slices.ContainsFunc([]string{"? ", "= ", "# "}, func(s string) bool { return strings.HasPrefix(line, s) })
}

// words splits a line at spaces outside of single quotes.
var words = regexp.MustCompile(`(?:[^\s']|'[^']*')+`)

// ask returns the answer to a question, or its error.
func ask(ctx context.Context, st store.Store, print func(*table.Output, any) error, questions map[string]Question, line string) string {
	var b bytes.Buffer
	o := &table.Output{W: &b, Err: &b, Format: "text"}
	list := words.FindAllString(line, -1)
	if slices.Contains([]string{"tsv", "csv", "md", "json", "columns"}, list[0]) {
		o.Format, list = list[0], list[1:]
	}
	question := questions[list[0]]
	if question == nil {
		return fmt.Sprintf("error: no question is named %s\n", list[0])
	}
	result, err := question(ctx, st, func(request any) error {
		parameters := param.Of(request)
		for _, text := range list[1:] {
			name, value, _ := strings.Cut(text, "=")
			i := slices.IndexFunc(parameters, func(p *param.Parameter) bool { return p.Name == name })
			if i < 0 {
				return fmt.Errorf("no parameter is named %s", name)
			}
			if err := parameters[i].Set(strings.ReplaceAll(value, "'", "")); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil {
		err = print(o, result)
	}
	if err != nil {
		fmt.Fprintf(&b, "error: %v\n", err)
	}
	var text strings.Builder
	for line := range strings.Lines(b.String()) { // editors cut spaces at the ends of lines
		text.WriteString(strings.TrimRight(line, " \n") + "\n")
	}
	return strings.TrimRight(text.String(), "\n") + "\n"
}

// importFile imports `NAME LABEL STACKS`, or lines of its own.
func importFile(ctx context.Context, st store.Store, line string, content []string) error {
	name, rest, _ := strings.Cut(line, " ")
	end := strings.LastIndexByte(rest, '}') + 1
	label, err := ingest.ParseLabel(name, []byte(rest[:end]))
	if err != nil {
		return err
	}
	if label.Run.Date.IsZero() {
		label.Run.Date = time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC) // not that of the test
	}
	text := strings.ReplaceAll(strings.TrimSpace(rest[end:]), ", ", "\n")
	for _, line := range content {
		text += strings.TrimPrefix(line, "\t")
	}
	source := ingest.ReaderSource(name, strings.NewReader(text))
	source.Label, source.Named = label, true
	var failed error
	_, err = ingest.New(st, ingest.Options{KeepSource: true, Workers: 1}).Import(ctx, []ingest.Source{source},
		func(r ingest.Result) { failed = r.Err })
	return errors.Join(err, failed)
}

// push stores `SERVICE TYPE HH:MM LABELS STACKS`.
func push(t *testing.T, st store.Store, line string) error {
	part := strings.SplitN(line, " ", 5)
	typ, err := continuous.ParseType(part[1])
	if err != nil {
		return err
	}
	at, err := time.Parse(time.DateTime, "2026-03-01 "+part[2]+":00")
	if err != nil {
		return err
	}
	w := &continuous.Window{Series: continuous.Series{Service: part[0], Type: typ}, Start: at, Length: time.Minute,
		Type: profile.ValueType{Name: typ.SampleType, Unit: typ.SampleUnit}, Forest: &calltree.Forest{}}
	for pair := range strings.SplitSeq(part[3], ",") {
		name, value, _ := strings.Cut(pair, "=")
		w.Series.Labels = append(w.Series.Labels, continuous.Label{Name: name, Value: value})
	}
	w.Self = runtest.Vector(w.Forest, runtest.Counts(t, part[4]))
	copy(w.Hash[:], part[2]+part[3])
	_, err = st.(continuous.Store).PutWindows(t.Context(), []*continuous.Window{w})
	return err
}
