package cli

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/dendroprof/dendro/format"
	"github.com/dendroprof/dendro/internal/engines"
	"github.com/dendroprof/dendro/store"
)

// exportOptions are the flags of `dendro export`.
type exportOptions struct {
	input
	format string
	out    string
	source bool
	before string // --against
	model  string // of neo4j-admin
}

func newExport(e *env) *cobra.Command {
	var o exportOptions
	c := &cobra.Command{
		Use:   "export [flags]",
		Short: "Write a selection as one profile, or the whole store as Parquet or for a graph database",
		Long: `Export writes the merged call tree of the selected profiles in a format that other
tools read; the format is told by -o's extension or by --format. With --format
parquet it writes everything in the store into a directory, which any tool that
reads Parquet can query and ` + "`dendro import --parquet`" + ` reads back. With --format
neo4j-admin it writes the selected profiles as CSV files into a new directory, beside
the script that makes a Neo4j database of them: the fastest way to fill a new one.
With --source it writes the original file of one profile, if it was kept.`,
		Example: `  dendro export --benchmark checkout --last 5 -o checkout.pb.gz
  dendro export --run run-018 --benchmark search --format folded | head
  dendro export --benchmark checkout --average median -o typical.pb.gz
  dendro export --benchmark checkout --against history -o checkout.diff.folded
  dendro export --format parquet -o everything/
  dendro export --format neo4j-admin -o bulk/`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return o.run(c.Context(), e) },
	}
	o.addFlags(c)
	c.Flags().StringVar(&o.format, "format", "", "`name`: "+formatNames()+", parquet, neo4j-admin (default: by the extension, else folded)")
	c.Flags().StringVarP(&o.out, "output", "o", "", "`file` (.gz and .zst compress), or directory for parquet and neo4j-admin (default: stdout)")
	c.Flags().Var(&choice{&o.before, []string{"history"}}, "against", "write two sides, base and new: the average of the runs before the newest of a benchmark, and that: `history` (differential formats)")
	c.Flags().Var(&choice{&o.model, engines.Models}, "model", "`model` of the database, with --format neo4j-admin: shared, thesis (default shared)")
	c.Flags().BoolVar(&o.source, "source", false, "the original file of the one profile selected")
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
	case o.before != "":
		return o.difference(ctx, e)
	}
	t, err := o.tree(ctx, e)
	if err != nil {
		return err
	}
	return writeProfile(e, t.Profile(), 0, o.out, o.format)
}

// difference writes the newest run and the average of those before as the two sides
// of a differential file.
func (o *exportOptions) difference(ctx context.Context, e *env) error {
	if o.format == "" && (o.out == "" || o.out == "-") {
		o.format = "folded-diff"
	}
	return o.ask(ctx, e, engines.Read, func(st store.Store, q store.Query) error {
		c, err := o.input.against(ctx, st, q)
		if err != nil {
			return err
		}
		e.notes(c.Warnings)
		return writeProfile(e, c.Profile(o.statistic()), -1, o.out, o.format)
	})
}

// original writes the source file of the one selected profile.
func (o *exportOptions) original(ctx context.Context, e *env) error {
	return o.ask(ctx, e, engines.Read, func(st store.Store, q store.Query) error {
		list, err := st.Profiles(ctx, q)
		if err != nil {
			return err
		}
		if len(list) != 1 {
			return usagef("--source writes the file of one profile, and %d are selected", len(list))
		}
		data, err := st.Source(ctx, list[0].ID)
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
		return usagef("parquet goes into a directory: -o DIRECTORY")
	}
	st, err := e.open(ctx, engines.Read)
	if err != nil {
		return err
	}
	defer st.Close()
	p, ok := st.(parqueter)
	if !ok {
		return fmt.Errorf("this engine does not write Parquet")
	}
	if err := p.ExportParquet(ctx, o.out); err != nil {
		return err
	}
	fmt.Fprintf(e.err, "wrote %s\n", o.out)
	return nil
}
