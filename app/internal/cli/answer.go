package cli

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/dendroprof/dendro/app/internal/render"
	"github.com/dendroprof/dendro/internal/words"
	"github.com/dendroprof/dendro/query"
	"github.com/dendroprof/dendro/report/flame"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/store/engines"
	"github.com/dendroprof/dendro/web"
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

// query makes a command of one query: its flags are the parameters of the request, but
// for those named in args, which are arguments; what f answers is printed.
func (e *env) query(c *cobra.Command, request any, args []string, f func(ctx context.Context, st store.Store, args []string) (any, error), formats ...string) *cobra.Command {
	flags := addRequest(c, request, args...)
	var out destination
	out.addFlag(c, formats...)
	c.RunE = func(c *cobra.Command, args []string) error {
		flags.use(out.format)
		return e.with(c.Context(), engines.Read, func(st store.Store) error {
			result, err := f(c.Context(), st, args)
			if err != nil {
				return err
			}
			return out.print(e, result)
		})
	}
	return c
}

// rendering returns where results are rendered to.
func (e *env) rendering(format outputFormat) *render.Output {
	return &render.Output{W: e.out, Err: e.err, Format: string(format), Colour: e.colour(), Width: e.width()}
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
		return query.WriteJSON(e.out, result, query.Form{Columns: format == "json-columns"})
	}
	return render.Result(e.rendering(format), result)
}

// svgBoxes is the maximum number of boxes in a picture.
const svgBoxes = 20_000

// draw writes a flame graph.
func (d *destination) draw(e *env, g *flame.Graph) error {
	if n := g.Limit(svgBoxes); n > 0 {
		g.Notes = append(g.Notes, words.Count(n)+" narrowest boxes omitted")
	}
	return d.write(e, func(e *env) error { return g.SVG(e.out) })
}

// page writes an offline page.
func (d *destination) page(e *env, p *web.Report, err error) error {
	if err != nil {
		return err
	}
	return d.write(e, func(e *env) error { return p.Write(e.out) })
}
