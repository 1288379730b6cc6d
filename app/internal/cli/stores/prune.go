package stores

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/dendroprof/dendro/app/internal/cli/command"
	"github.com/dendroprof/dendro/app/internal/endpoint"
	"github.com/dendroprof/dendro/internal/words"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/query"
	"github.com/dendroprof/dendro/store/engines"
)

func newPrune(e *command.Env) *cobra.Command {
	var r query.PruneRequest
	c := &cobra.Command{
		Use:   "prune [flags]",
		Short: "Delete old profiles",
		Long: `Delete profiles: those older than --older-than, or those beyond the newest --keep runs
of their benchmark; with both flags, those to which both apply. The selection flags
limit this to a part of the store. "dendro compact" then reclaims the disk space. To remove
more than half of the store, confirm it, or give --yes where there is no terminal.`,
		Example: `  dendro prune --keep 100
  dendro prune --older-than 90d --keep 10 --group shop
  dendro prune --run run-018 --older-than 0d --dry-run`,
		Args: cobra.NoArgs,
	}
	e.Query(c, &r, nil, func([]string) endpoint.Question { return endpoint.Prune.Of(&r) }, "text", "json")
	prune := c.RunE
	c.RunE = func(c *cobra.Command, args []string) error {
		if in, ok := e.In.(*os.File); ok && term.IsTerminal(int(in.Fd())) && !r.Yes && !r.DryRun {
			if err := confirmPrune(c.Context(), e, &r); err != nil {
				return err
			}
		}
		return prune(c, args)
	}
	return c
}

// confirmPrune asks the person at the terminal if more than half of the store would be removed.
func confirmPrune(ctx context.Context, e *command.Env, r *query.PruneRequest) error {
	return e.Asking(ctx, engines.Read, profile.Limits{}, func(a endpoint.Asker) error {
		dry := *r
		dry.DryRun = true
		result, err := endpoint.Answer[query.PruneResult](ctx, a, endpoint.Prune.Of(&dry))
		if err != nil || !result.Most() {
			return err
		}
		fmt.Fprintf(e.Err, "remove %s of the %s profiles in the store? [y/N] ", words.Count(result.Removed), words.Count(result.Stored))
		answer, err := bufio.NewReader(e.In).ReadString('\n')
		if answer = strings.ToLower(strings.TrimSpace(answer)); answer != "y" && answer != "yes" {
			return errors.Join(errors.New("nothing was removed"), err)
		}
		r.Yes = true
		return nil
	})
}

func newCompact(e *command.Env) *cobra.Command {
	return &cobra.Command{
		Use:   "compact",
		Short: "Reclaim disk space and optimise the store",
		Long: `Delete the call paths and functions that no profile uses, write the rows of functions that
follow from call trees, and rewrite the store in the order that queries read fastest.
Results do not change. A file of an older version of
Dendro is brought up to date first.`,
		Example: `  dendro prune --keep 100 && dendro compact`,
		Args:    cobra.NoArgs,
		RunE:    func(c *cobra.Command, _ []string) error { return Compact(c.Context(), e, e.Out) },
	}
}

// Compact compacts the store and reports to a writer.
func Compact(ctx context.Context, e *command.Env, out io.Writer) error {
	began := time.Now()
	return e.Asking(ctx, engines.Write, profile.Limits{}, func(a endpoint.Asker) error {
		r, err := endpoint.Answer[query.CompactResult](ctx, a, endpoint.Compact.Of(&struct{}{}))
		if err != nil {
			return err
		}
		size := func(bytes int64) string { text, _ := words.Amount(float64(bytes), "bytes"); return text }
		if r.Before.Bytes > 0 { // a graph does not know
			fmt.Fprintf(out, "%s → %s, ", size(r.Before.Bytes), size(r.After.Bytes))
		}
		_, err = fmt.Fprintf(out, "%s → %s paths, in %s\n", words.Count(r.Before.Paths), words.Count(r.After.Paths),
			command.Rounded(time.Since(began)))
		if r.Before.Bytes > 0 && r.After.Bytes > r.Before.Bytes {
			e.Notes([]string{"the store grew, because it now has the rows of functions that other programs read (view function_sample)"})
		}
		return err
	})
}
