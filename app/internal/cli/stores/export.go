package stores

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/dendroprof/dendro/app/internal/cli/command"
	"github.com/dendroprof/dendro/app/internal/endpoint"
	"github.com/dendroprof/dendro/format"
	"github.com/dendroprof/dendro/internal/words"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/query"
	"github.com/dendroprof/dendro/query/param"
	"github.com/dendroprof/dendro/query/trees"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/store/engines"
	"github.com/dendroprof/dendro/store/iceberg"
)

// exportOptions are the flags of `dendro export`.
type exportOptions struct {
	r      trees.ExportRequest
	format string
	out    string
	source bool
	model  string // of neo4j-admin

	potentials int // of neo4j-admin
}

func newExport(e *command.Env) *cobra.Command {
	var o exportOptions
	c := &cobra.Command{
		Use:   "export [flags]",
		Short: "Write a selection as one profile, or as Parquet or CSV files",
		Long: `Write the merged call tree of the selected profiles in a format that other tools read.
The extension of -o, or --format, sets the format.

--format parquet writes the selected profiles as tables into a new directory. Spark,
pandas, polars, Trino and DuckDB read them without Dendro; docs/lake.md describes
the columns. All value types are written unless --type is given.

--format neo4j-admin writes the selected profiles as CSV files into a new directory,
with a script that creates a Neo4j database from them. This is the fastest way to fill
a new database.

--source writes the original file of one profile, if the import kept it (import
--keep-source).

--lines writes the sum of the original files, or of what services pushed, with lines. So
does -o default.pgo, which is a profile for Go's compiler.`,
		Example: `  dendro export --benchmark checkout --last 5 -o checkout.pb.gz
  dendro export --run run-018 --benchmark checkout --format folded | head
  dendro export --benchmark checkout --average median -o typical.pb.gz
  dendro export --benchmark checkout --against history -o checkout.diff.folded
  dendro export --format parquet --since 90d -o lake
  dendro export --format neo4j-admin -o bulk/`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return o.run(c, e) },
	}
	command.AddRequest(c, &o.r)
	command.AddLimits(c, &o.r.Limits)
	c.Flags().StringVar(&o.format, "format", "", "output format `name`: "+command.FormatNames()+", parquet, neo4j-admin (default: by the extension of -o, otherwise folded)")
	c.Flags().StringVarP(&o.out, "output", "o", "", "`file` (.gz and .zst compress), or directory for parquet and neo4j-admin (default: stdout)")
	c.Flags().IntVar(&o.potentials, "potentials", 0, "with --format neo4j-admin: also write the arrays p and c of the paper up to this `degree`, in the model shared on SAMPLED relationships as \"store expand\" makes them")
	c.Flags().Var(command.Choice(&o.model, engines.Models...), "model", "with --format neo4j-admin: `model` of the database: shared, thesis (default shared)")
	c.Flags().BoolVar(&o.source, "source", false, "write the original file of the selected profile")
	return c
}

func (o *exportOptions) run(c *cobra.Command, e *command.Env) error {
	ctx := c.Context()
	if o.format == "parquet" || o.format == neo4jAdmin {
		if err := onlySelection(c, o.format); err != nil {
			return err
		}
	}
	if o.forCompiler() && !o.source {
		o.r.Lines, o.format = true, cmp.Or(o.format, "pprof")
		if o.format != "pprof" {
			return command.Usagef("%s is for Go's compiler, which reads --format pprof", words.Clean(o.out))
		}
	}
	switch {
	case (o.model != "" || o.potentials != 0) && o.format != neo4jAdmin:
		return command.Usagef("--model and --potentials are of --format %s", neo4jAdmin)
	case o.format == neo4jAdmin:
		return o.graph(ctx, e)
	case o.format == "parquet":
		return o.parquet(ctx, e)
	case o.source:
		return o.fetch(ctx, e, endpoint.Original.Of(&endpoint.OriginalRequest{Selection: o.r.Selection}), format.None)
	}
	if o.r.Against != "" && o.format == "" && (o.out == "" || o.out == "-") {
		o.format = "folded-diff"
	}
	f, packed, err := format.Target(o.out, o.format)
	if err != nil {
		return command.Misuse(err)
	}
	q := endpoint.Export.Of(&endpoint.ExportRequest{ExportRequest: o.r, FileFormat: endpoint.FileFormat{Format: f.Name, Plain: true}})
	return o.fetch(ctx, e, q, packed)
}

// forCompiler reports whether the file is for Go's compiler.
func (o *exportOptions) forCompiler() bool {
	name, _ := strings.CutSuffix(o.out, ".gz")
	return strings.HasSuffix(name, ".pgo")
}

// checkLines refuses a profile for Go's compiler without the lines that it needs: it accepts one
// and does nothing with it.
func (o *exportOptions) checkLines(data []byte) error {
	for d, err := range format.NewReader(o.r.Limits).Read(o.out, bytes.NewReader(data)) {
		if err != nil {
			return err
		}
		s := d.Profile.Symbols
		if slices.ContainsFunc(s.Frames, func(f profile.Frame) bool { return f.Line > 0 && s.Functions[f.Function].StartLine > 0 }) {
			return nil
		}
	}
	return fmt.Errorf("%s is for Go's compiler, which needs the lines of calls and the first lines of functions: these profiles have none",
		words.Clean(o.out))
}

// fetch asks for a file, and writes it compressed.
func (o *exportOptions) fetch(ctx context.Context, e *command.Env, q endpoint.Question, packed format.Compression) error {
	return e.Asking(ctx, engines.Read, o.r.Limits, func(a endpoint.Asker) error {
		f, err := a.File(ctx, q)
		if err != nil {
			return err
		}
		e.Notes(f.Notes)
		if o.forCompiler() && !o.source {
			var b bytes.Buffer
			if err := f.Write(&b); err != nil {
				return err
			}
			if err := o.checkLines(b.Bytes()); err != nil {
				return err
			}
			f.Write = func(w io.Writer) error {
				_, err := w.Write(b.Bytes())
				return err
			}
		}
		write := func(w io.Writer) error { return format.Pack(w, packed, f.Write) }
		if o.out == "" || o.out == "-" {
			return write(e.Out)
		}
		return command.WriteFile(o.out, write)
	})
}

// onlySelection reports a parameter that has no effect on formats of several profiles:
// one that does not select.
func onlySelection(c *cobra.Command, format string) error {
	var selection []string
	for _, p := range param.Of(&query.Selection{}) {
		selection = append(selection, p.Name)
	}
	for _, p := range param.Of(&trees.ExportRequest{}) {
		if c.Flags().Changed(p.Name) && !slices.Contains(selection, p.Name) {
			return command.Usagef("--%s is for formats of one profile, not for %s", p.Name, format)
		}
	}
	return nil
}

// parquet writes the selection as the tables of a lake.
func (o *exportOptions) parquet(ctx context.Context, e *command.Env) error {
	if o.out == "" || o.out == "-" {
		return command.Usagef("parquet writes a new directory: give -o DIRECTORY")
	}
	return e.Whole(ctx, &o.r.Selection, true, func(st store.Store) error {
		list, err := query.Selected(ctx, st, &o.r.Selection)
		if err != nil {
			return err
		}
		p := command.NewCopyProgress(e, "auto")
		err = iceberg.Write(ctx, o.out, st, list, func(done int) { p.Copied(store.Copied{Done: done, All: len(list)}) })
		p.End()
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(e.Talk(), "wrote %s into %s\n", words.Counted(len(list), "profile"), words.Clean(o.out))
		return err
	})
}
