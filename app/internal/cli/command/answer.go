package command

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/dendroprof/dendro/app/internal/endpoint"
	"github.com/dendroprof/dendro/app/internal/render"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/query"
	"github.com/dendroprof/dendro/query/document"
	"github.com/dendroprof/dendro/query/facts"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/store/engines"
	"github.com/dendroprof/dendro/table"
)

// With calls f with the open store.
func (e *Env) With(ctx context.Context, access engines.Access, f func(st store.Store) error) error {
	defer SpendMemory(HeapMemory)()
	st, err := e.Open(ctx, access)
	if err != nil {
		return err
	}
	return errors.Join(f(st), st.Close())
}

// Asking calls f with what answers questions: the open store, or the server.
func (e *Env) Asking(ctx context.Context, access engines.Access, limits profile.Limits, f func(a endpoint.Asker) error) error {
	where, err := e.Location()
	if err != nil {
		return err
	}
	if engines.IsServer(where) {
		defer SpendMemory(HeapMemory)()
		c, err := e.Dial(ctx, where)
		if err != nil {
			return err
		}
		return errors.Join(f(endpoint.Remote{Client: c}), c.Close())
	}
	return e.With(ctx, access, func(st store.Store) error { return f(Local(st, limits)) })
}

// Local is what answers from an open store; nil: questions about files.
func Local(st store.Store, limits profile.Limits) *endpoint.Local {
	l := &endpoint.Local{Limits: limits}
	if st != nil {
		l = endpoint.NewLocal(st, limits)
	}
	l.Version, _ = Version()
	return l
}

// Whole calls f with a store that has the selected profiles: the open one or, of a server, a
// store of their own that is gone afterwards. That there are none is an error if some are
// required.
func (e *Env) Whole(ctx context.Context, s *query.Selection, required bool, f func(st store.Store) error) error {
	where, err := e.Location()
	if err != nil {
		return err
	}
	if !engines.IsServer(where) {
		return e.With(ctx, engines.Read, f)
	}
	c, err := e.Dial(ctx, where)
	if err != nil {
		return err
	}
	defer c.Close()
	if required {
		if _, err := (endpoint.Remote{Client: c}).Ask(ctx,
			endpoint.Profiles.Of(&query.ProfilesRequest{Selection: *s, Order: "run", Required: true})); err != nil {
			return err
		}
	}
	dir, err := os.MkdirTemp("", "dendro-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	st, err := engines.Open(ctx, filepath.Join(dir, "copy.duckdb"), engines.Write)
	if err != nil {
		return err
	}
	err = store.CopyFrom(ctx, st, c, store.CopyOptions{Query: *s})
	if err == nil {
		err = f(st)
	}
	return errors.Join(err, st.Close())
}

// Query makes a command of one query: its flags are the parameters of the request, but
// for those named in args, which are arguments; the answer to the question is printed.
func (e *Env) Query(c *cobra.Command, request any, args []string, question func(args []string) endpoint.Question,
	formats ...string) *cobra.Command {
	flags := AddRequest(c, request, args...)
	var out Destination
	out.AddFlag(c, formats...)
	c.RunE = func(c *cobra.Command, args []string) error {
		flags.Use(out.Format)
		q := question(args)
		if known := facts.Of(q.Request); known != nil {
			if err := Learn(known); err != nil {
				return err
			}
		}
		access := engines.Read
		if q.Changes {
			access = engines.Write
		}
		return e.Asking(c.Context(), access, profile.Limits{}, func(a endpoint.Asker) error {
			return out.Answer(c.Context(), e, a, q, nil)
		})
	}
	return c
}

// Learn reads the acknowledged changes and the patterns of own code from the working directory.
func Learn(f *facts.Facts) (err error) {
	if f.Acknowledged, err = facts.ReadAcknowledgements(AcknowledgedFile); err != nil {
		return err
	}
	f.Own, err = OwnCode()
	return err
}

// Answer asks a question and writes the answer: as JSON the document, else as show renders
// it; nil: as package render does.
func (d *Destination) Answer(ctx context.Context, e *Env, a endpoint.Asker, q endpoint.Question,
	show func(o *table.Output, result any) error) error {
	if d.Format.Json() {
		return d.Stream(e, func(e *Env) error { return a.Document(ctx, q, d.Format == "json-columns", e.Out) })
	}
	if show == nil && (d.Format == "tsv" || d.Format == "csv") {
		f, err := a.Sheet(ctx, q, string(d.Format))
		if err != nil {
			return err
		}
		for _, message := range f.Notes {
			fmt.Fprintln(e.Err, "dendro: "+message)
		}
		return d.Stream(e, func(e *Env) error { return f.Write(e.Out) })
	}
	result, err := a.Ask(ctx, q)
	if err != nil {
		return err
	}
	if show == nil {
		show = render.Result
	}
	return d.Write(e, func(e *Env) error { return show(e.Rendering(d.Format), result) })
}

// Fetch asks a question whose answer is a file, and writes it.
func (d *Destination) Fetch(ctx context.Context, e *Env, a endpoint.Asker, q endpoint.Question) error {
	f, err := a.File(ctx, q)
	if err != nil {
		return err
	}
	return d.Write(e, func(e *Env) error { return f.Write(e.Out) })
}

// Rendering returns where results are rendered to.
func (e *Env) Rendering(format Format) *table.Output {
	return &table.Output{W: e.Out, Err: e.Talk(), Format: string(format), Colour: e.colour(), Width: e.Width()}
}

// Notes prints what a reader of the numbers has to know.
func (e *Env) Notes(list []string) { e.Rendering("text").Notes(list) }

// Print writes a result to the destination, in its format.
func (d *Destination) Print(e *Env, result any) error {
	return d.Write(e, func(e *Env) error { return e.Print(d.Format, result) })
}

// Print writes a result to stdout.
func (e *Env) Print(format Format, result any) error {
	if format.Json() {
		return document.Write(e.Out, result, document.Form{Columns: format == "json-columns"})
	}
	return render.Result(e.Rendering(format), result)
}
