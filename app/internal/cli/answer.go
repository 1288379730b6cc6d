package cli

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
)

// with calls f with the open store.
func (e *env) with(ctx context.Context, access engines.Access, f func(st store.Store) error) error {
	defer spendMemory(heapMemory)()
	st, err := e.open(ctx, access)
	if err != nil {
		return err
	}
	return errors.Join(f(st), st.Close())
}

// asking calls f with what answers questions: the open store, or the server.
func (e *env) asking(ctx context.Context, access engines.Access, limits profile.Limits, f func(a endpoint.Asker) error) error {
	where, err := e.location()
	if err != nil {
		return err
	}
	if engines.IsServer(where) {
		defer spendMemory(heapMemory)()
		c, err := e.dial(ctx, where)
		if err != nil {
			return err
		}
		return errors.Join(f(endpoint.Remote{Client: c}), c.Close())
	}
	return e.with(ctx, access, func(st store.Store) error { return f(local(st, limits)) })
}

// local is what answers from an open store; nil: questions about files.
func local(st store.Store, limits profile.Limits) *endpoint.Local {
	l := &endpoint.Local{Limits: limits}
	if st != nil {
		l = endpoint.NewLocal(st, limits)
	}
	l.Version, _ = versionOf()
	return l
}

// whole calls f with a store that has the selected profiles: the open one or, of a server, a
// store of their own that is gone afterwards. That there are none is an error if some are
// required.
func (e *env) whole(ctx context.Context, s *query.Selection, required bool, f func(st store.Store) error) error {
	where, err := e.location()
	if err != nil {
		return err
	}
	if !engines.IsServer(where) {
		return e.with(ctx, engines.Read, f)
	}
	c, err := e.dial(ctx, where)
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

// query makes a command of one query: its flags are the parameters of the request, but
// for those named in args, which are arguments; the answer to the question is printed.
func (e *env) query(c *cobra.Command, request any, args []string, question func(args []string) endpoint.Question,
	formats ...string) *cobra.Command {
	flags := addRequest(c, request, args...)
	var out destination
	out.addFlag(c, formats...)
	c.RunE = func(c *cobra.Command, args []string) error {
		flags.use(out.format)
		q := question(args)
		if known := facts.Of(q.Request); known != nil {
			if err := learn(known); err != nil {
				return err
			}
		}
		access := engines.Read
		if q.Changes {
			access = engines.Write
		}
		return e.asking(c.Context(), access, profile.Limits{}, func(a endpoint.Asker) error {
			return out.answer(c.Context(), e, a, q, nil)
		})
	}
	return c
}

// learn sets the facts of the working directory that decide what is a change and whose.
func learn(f *facts.Facts) (err error) {
	if f.Acknowledged, err = facts.ReadAcknowledgements(acknowledgedFile); err != nil {
		return err
	}
	f.Own, err = ownCode()
	return err
}

// answer asks a question and writes the answer: as JSON the document, else as show renders
// it; nil: as package render does.
func (d *destination) answer(ctx context.Context, e *env, a endpoint.Asker, q endpoint.Question,
	show func(o *render.Output, result any) error) error {
	if d.format.json() {
		return d.stream(e, func(e *env) error { return a.Document(ctx, q, d.format == "json-columns", e.out) })
	}
	if show == nil && (d.format == "tsv" || d.format == "csv") {
		f, err := a.Sheet(ctx, q, string(d.format))
		if err != nil {
			return err
		}
		for _, message := range f.Notes {
			fmt.Fprintln(e.err, "dendro: "+message)
		}
		return d.stream(e, func(e *env) error { return f.Write(e.out) })
	}
	result, err := a.Ask(ctx, q)
	if err != nil {
		return err
	}
	if show == nil {
		show = render.Result
	}
	return d.write(e, func(e *env) error { return show(e.rendering(d.format), result) })
}

// fetch asks a question whose answer is a file, and writes it.
func (d *destination) fetch(ctx context.Context, e *env, a endpoint.Asker, q endpoint.Question) error {
	f, err := a.File(ctx, q)
	if err != nil {
		return err
	}
	return d.write(e, func(e *env) error { return f.Write(e.out) })
}

// rendering returns where results are rendered to.
func (e *env) rendering(format outputFormat) *render.Output {
	return &render.Output{W: e.out, Err: e.talk(), Format: string(format), Colour: e.colour(), Width: e.width()}
}

// notes prints what a reader of the numbers has to know.
func (e *env) notes(list []string) { e.rendering("text").Notes(list) }

// print writes a result to the destination, in its format.
func (d *destination) print(e *env, result any) error {
	return d.write(e, func(e *env) error { return e.print(d.format, result) })
}

// print writes a result to stdout.
func (e *env) print(format outputFormat, result any) error {
	if format.json() {
		return document.Write(e.out, result, document.Form{Columns: format == "json-columns"})
	}
	return render.Result(e.rendering(format), result)
}
