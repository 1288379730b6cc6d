package cli

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/dendroprof/dendro/format"
	"github.com/dendroprof/dendro/internal/engines"
	"github.com/dendroprof/dendro/internal/query"
	"github.com/dendroprof/dendro/store"
)

// exportOptions are the flags of `dendro export`.
type exportOptions struct {
	r      query.ExportRequest
	format string
	out    string
	source bool
	model  string // of neo4j-admin
}

func newExport(e *env) *cobra.Command {
	var o exportOptions
	c := &cobra.Command{
		Use:   "export [flags]",
		Short: "Write a selection as one profile, or the store as Parquet or CSV files",
		Long: `Write the merged call tree of the selected profiles in a format that other tools read.
The extension of -o, or --format, sets the format.

--format parquet writes the whole store into a directory. Any tool that reads Parquet
can query it, and "dendro import --parquet" reads it back.

--format neo4j-admin writes the selected profiles as CSV files into a new directory,
with a script that creates a Neo4j database from them. This is the fastest way to fill
a new database.

--source writes the original file of one profile, if the import kept it (import
--keep-source).`,
		Example: `  dendro export --benchmark checkout --last 5 -o checkout.pb.gz
  dendro export --run run-018 --benchmark checkout --format folded | head
  dendro export --benchmark checkout --average median -o typical.pb.gz
  dendro export --benchmark checkout --against history -o checkout.diff.folded
  dendro export --format parquet -o everything/
  dendro export --format neo4j-admin -o bulk/`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return o.run(c.Context(), e) },
	}
	addRequest(c, &o.r)
	addLimits(c, &o.r.Limits)
	c.Flags().StringVar(&o.format, "format", "", "output format `name`: "+formatNames()+", parquet, neo4j-admin (default: by the extension of -o, otherwise folded)")
	c.Flags().StringVarP(&o.out, "output", "o", "", "`file` (.gz and .zst compress), or directory for parquet and neo4j-admin (default: stdout)")
	c.Flags().Var(&choice{&o.model, engines.Models}, "model", "with --format neo4j-admin: `model` of the database: shared, thesis (default shared)")
	c.Flags().BoolVar(&o.source, "source", false, "write the original file of the selected profile")
	return c
}

func formatNames() string {
	names := ""
	for _, f := range format.All() {
		if f.Encode == nil {
			continue
		}
		if names != "" {
			names += ", "
		}
		names += f.Name
	}
	return names
}

func (o *exportOptions) run(ctx context.Context, e *env) error {
	switch {
	case o.model != "" && o.format != neo4jAdmin:
		return usagef("--model is of --format %s", neo4jAdmin)
	case o.format == neo4jAdmin:
		return o.graph(ctx, e)
	case o.format == "parquet":
		return o.parquet(ctx, e)
	case o.source:
		return o.original(ctx, e)
	}
	if o.r.Against != "" && o.format == "" && (o.out == "" || o.out == "-") {
		o.format = "folded-diff"
	}
	return e.with(ctx, engines.Read, func(st store.Store) error {
		p, table, notes, err := query.Export(ctx, st, &o.r)
		if err != nil {
			return err
		}
		e.notes(notes)
		return writeProfile(e, p, table, o.out, o.format)
	})
}

// original writes the original file of the one selected profile.
func (o *exportOptions) original(ctx context.Context, e *env) error {
	return e.with(ctx, engines.Read, func(st store.Store) error {
		data, err := query.Original(ctx, st, &o.r.Selection)
		if err != nil {
			return err
		}
		if o.out == "" || o.out == "-" {
			_, err = e.out.Write(data)
			return err
		}
		return os.WriteFile(o.out, data, 0o644)
	})
}

// parqueter is an engine that writes and reads everything it holds as Parquet.
type parqueter interface {
	ExportParquet(ctx context.Context, dir string) error
	ImportParquet(ctx context.Context, dir string) error
}

func (o *exportOptions) parquet(ctx context.Context, e *env) error {
	if o.out == "" {
		return usagef("parquet writes a directory: give -o DIRECTORY")
	}
	st, err := e.open(ctx, engines.Read)
	if err != nil {
		return err
	}
	defer st.Close()
	p, ok := st.(parqueter)
	if !ok {
		return fmt.Errorf("export: only a store in a file can be written as Parquet: use --store FILE, or dendro copy first")
	}
	if err := p.ExportParquet(ctx, o.out); err != nil {
		return err
	}
	fmt.Fprintf(e.err, "wrote %s\n", o.out)
	return nil
}
