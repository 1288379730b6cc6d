package cli

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/dendroprof/dendro/app/internal/endpoint"
	"github.com/dendroprof/dendro/internal/words"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/query"
	"github.com/dendroprof/dendro/store/engines"
)

func newPrune(e *env) *cobra.Command {
	var r query.PruneRequest
	c := &cobra.Command{
		Use:   "prune [flags]",
		Short: "Delete old profiles",
		Long: `Delete profiles: those older than --older-than, or those beyond the newest --keep runs
of their benchmark; with both flags, those to which both apply. The selection flags
limit this to a part of the store. "dendro compact" then reclaims the disk space.`,
		Example: `  dendro prune --keep 100
  dendro prune --older-than 90d --keep 10 --group nightly
  dendro prune --run broken-run --older-than 0d --dry-run`,
		Args: cobra.NoArgs,
	}
	return e.query(c, &r, nil, func([]string) endpoint.Question { return endpoint.Prune.Of(&r) }, "text", "json")
}

func newCompact(e *env) *cobra.Command {
	return &cobra.Command{
		Use:   "compact",
		Short: "Reclaim disk space and optimise the store",
		Long: `Delete the call paths and functions that no profile uses, and rewrite the store in the
order that queries read fastest. Results do not change. A file of an older version of
Dendro is migrated first.`,
		Example: `  dendro prune --keep 100 && dendro compact`,
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			began := time.Now()
			return e.asking(c.Context(), engines.Write, profile.Limits{}, func(a endpoint.Asker) error {
				r, err := endpoint.Answer[query.CompactResult](c.Context(), a, endpoint.Compact.Of(&struct{}{}))
				if err != nil {
					return err
				}
				size := func(bytes int64) string { text, _ := words.Amount(float64(bytes), "bytes"); return text }
				if r.Before.Bytes > 0 { // a graph does not know
					fmt.Fprintf(e.out, "%s → %s, ", size(r.Before.Bytes), size(r.After.Bytes))
				}
				_, err = fmt.Fprintf(e.out, "%s → %s paths, in %s\n", words.Count(r.Before.Paths), words.Count(r.After.Paths), rounded(time.Since(began)))
				return err
			})
		},
	}
}
