package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/dendroprof/dendro/internal/engines"
	"github.com/dendroprof/dendro/internal/words"
	"github.com/dendroprof/dendro/store"
)

// pruneOptions are the flags of `dendro prune`.
type pruneOptions struct {
	selection
	keep      int
	olderThan string
	dryRun    bool
	output    outputFormat
}

func newPrune(e *env) *cobra.Command {
	var o pruneOptions
	c := &cobra.Command{
		Use:   "prune [flags]",
		Short: "Remove old profiles",
		Long: `Prune removes profiles: those older than an age, those beyond the newest n runs of
their benchmark, or with both those to which both apply. The selection flags
narrow it to a part of the store. Space is given back by ` + "`dendro compact`" + `.`,
		Example: `  dendro prune --keep 100
  dendro prune --older-than 90d --keep 10 --group nightly
  dendro prune --run broken-run --older-than 0d --dry-run`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if !c.Flags().Changed("keep") && o.olderThan == "" {
				return usagef("say what to remove: --keep n, --older-than age, or both")
			}
			return o.run(c.Context(), e)
		},
	}
	o.addFlags(c)
	c.Flags().IntVar(&o.keep, "keep", 0, "keep the newest `n` runs of each benchmark")
	c.Flags().StringVar(&o.olderThan, "older-than", "", "remove runs older than this `age` (90d, 12h) or before this date")
	c.Flags().BoolVar(&o.dryRun, "dry-run", false, "say what would be removed")
	o.output.addFlag(c, "text", "json")
	return c
}

func (o *pruneOptions) run(ctx context.Context, e *env) error {
	if o.keep < 0 {
		return usagef("--keep is %d; it must not be negative", o.keep)
	}
	before, err := dateFlag("--older-than", o.olderThan)
	if err != nil {
		return err
	}
	return o.ask(ctx, e, engines.Write, func(st store.Store, q store.Query) error {
		list, err := st.Profiles(ctx, q)
		if err != nil {
			return err
		}
		ids := store.Old(list, o.keep, before)
		removed := len(ids)
		if !o.dryRun {
			if removed, err = st.Delete(ctx, ids); err != nil {
				return err
			}
		}
		if o.output == "json" {
			return e.writeJSON(map[string]any{"removed": removed, "kept": len(list) - removed, "dryRun": o.dryRun})
		}
		verb := "removed"
		if o.dryRun {
			verb = "would remove"
		}
		_, err = fmt.Fprintf(e.out, "%s %d of %d %s\n", verb, removed, len(list), words.Plural(len(list), "profile"))
		return err
	})
}

func newCompact(e *env) *cobra.Command {
	return &cobra.Command{
		Use:   "compact",
		Short: "Give back space and put the store into its best order",
		Long: `Compact drops the paths and functions that no profile uses any more and rewrites the store in the order that questions like best. It changes no answer.

A file that an older version of dendro wrote is brought up to date first.`,
		Example: `  dendro prune --keep 100 && dendro compact`,
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			began := time.Now()
			st, err := e.open(c.Context(), engines.Write)
			if err != nil {
				return err
			}
			defer st.Close()
			before, err := st.Info(c.Context())
			if err != nil {
				return err
			}
			if err := st.Compact(c.Context()); err != nil {
				return err
			}
			after, err := st.Info(c.Context())
			if err != nil {
				return err
			}
			fmt.Fprintf(e.out, "%s → %s, %s → %s paths, in %s\n", amount(before.Bytes, "bytes", 0), amount(after.Bytes, "bytes", 0),
				grouped(before.Paths), grouped(after.Paths), rounded(time.Since(began)))
			return nil
		},
	}
}
