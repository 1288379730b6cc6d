package stores

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/dendroprof/dendro/app/internal/cli/command"
	"github.com/dendroprof/dendro/internal/words"
	"github.com/dendroprof/dendro/query"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/store/engines"
	"github.com/dendroprof/dendro/store/iceberg"
)

// publishOptions are the flags of `dendro publish`.
type publishOptions struct {
	query.Selection `group:"Selection"`
	to              string
	warehouse       string
	output          command.Format
}

func newPublish(e *command.Env) *cobra.Command {
	var o publishOptions
	c := &cobra.Command{
		Use:   "publish --to LAKE [flags]",
		Short: "Add profiles to a lake, which Spark and many machines share",
		Long: `Add the selected profiles of a store to a lake: Apache Iceberg tables that Spark, pyiceberg
and DuckDB read, and dendro with --store lake:LAKE. A LAKE is a directory, or the URL of
its catalog in PostgreSQL, which several machines share: postgres://USER@HOST/DATABASE.
A lake that does not exist is created. --warehouse sets where its files are (default: in
the directory): s3://BUCKET/PREFIX (gs://, azblob://), or a directory that the machines
share. The environment variable PGPASSWORD or the file ~/.pgpass has the password of
PostgreSQL. docs/lake.md describes the tables.

Profiles that the lake already has are skipped. Repeat the command to continue an
interrupted publication, or to publish new profiles. A profile that the lake has with
other content stays as it is and is counted. Several machines may publish at once; each
commit adds whole profiles to all tables.`,
		Example: `  dendro publish --to lake
  dendro publish --to lake --since 30d --branch main
  dendro publish --to 'postgres://ci@db.example.com/lake?sslmode=verify-full' --warehouse s3://profiles/lake`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return o.run(c.Context(), e) },
	}
	command.AddRequest(c, &o)
	c.Flags().StringVar(&o.to, "to", "", "`lake` to add to: a directory, or postgres://USER@HOST/DATABASE")
	c.Flags().StringVar(&o.warehouse, "warehouse", "", "where the files of a new lake are: s3://BUCKET/PREFIX or a `directory` (default: in the lake's directory)")
	o.output.AddFlag(c, "text", "json")
	return c
}

// publishMemory is what the heap of a publication may come to, as heapMemory.
const publishMemory = 90 << 20

func (o *publishOptions) run(ctx context.Context, e *command.Env) error {
	to := strings.TrimPrefix(o.to, engines.LakeScheme)
	if to == "" {
		return command.Usagef("where to? give --to LAKE")
	}
	began := time.Now()
	defer command.SpendMemory(publishMemory)()
	return e.Whole(ctx, &o.Selection, query.NamesAny(&o.Selection), func(st store.Store) error {
		list, err := query.Listed(ctx, st, &o.Selection)
		if err != nil {
			return err
		}
		l, err := iceberg.Open(ctx, to, iceberg.Options{Create: true, Warehouse: o.warehouse})
		if err != nil {
			return err
		}
		defer l.Close()
		if was := l.Moved(); was != "" {
			fmt.Fprintf(e.Talk(), "note: the lake was moved, and other programs look for its files in %s (dendro store relocate)\n", was)
		}
		p := command.NewCopyProgress(e, "auto")
		done, err := l.Publish(ctx, st, list, func(done int) { p.Copied(store.Copied{Done: done, All: len(list)}) })
		p.End()
		if err != nil {
			return fmt.Errorf("%d of %d profiles are in the lake, the same command adds the others: %w", done.New+done.Known+done.Changed, len(list), err)
		}
		if o.output == "json" {
			return e.WriteJSON(map[string]any{"profiles": done.New, "unchanged": done.Known, "changed": done.Changed,
				"elapsedNanos": time.Since(began)})
		}
		fmt.Fprintf(e.Out, "%d %s published (%d unchanged) in %s\n", done.New, words.Plural(done.New, "profile"), done.Known,
			command.Rounded(time.Since(began)))
		if done.Changed > 0 {
			fmt.Fprintf(e.Talk(), "note: the lake has %d %s with other content, which did not change\n", done.Changed, words.Plural(done.Changed, "profile"))
		}
		return nil
	})
}
