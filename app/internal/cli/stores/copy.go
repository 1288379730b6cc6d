package stores

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/dendroprof/dendro/app/internal/cli/command"
	"github.com/dendroprof/dendro/ingest"
	"github.com/dendroprof/dendro/internal/words"
	"github.com/dendroprof/dendro/query"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/store/engines"
)

// copyOptions are the flags of `dendro copy`.
type copyOptions struct {
	query.Selection `group:"Selection"`
	from, to        string
	replace         bool
	renormalize     bool
	rules           string
	progress        string
	output          command.Format
}

func newCopy(e *command.Env) *cobra.Command {
	var o copyOptions
	c := &cobra.Command{
		Use:   "copy --from STORE --to STORE [flags]",
		Short: "Copy profiles from one store to another",
		Long: `Copy the selected profiles of one store to another, in import order, with all their
data. The target is created if it does not exist. If only one of --from and --to is
given, the other is --store.

Profiles that the target already has are skipped. Repeat the command to continue an
interrupted copy, or to copy new profiles later. A profile that exists with different
content is reported and skipped, or replaced with --replace. Without a selection,
metrics that have no profile yet are copied too. Windows of continuous profiles are
not copied. A new DuckDB file is compacted at the end, so that other programs find
the rows of functions.`,
		Example: `  dendro copy --from dendro.duckdb --to neo4j+s://neo4j@graph.example:7687
  dendro copy --to archive.duckdb --until 90d
  dendro copy --from neo4j://neo4j@localhost:7687 --to local.duckdb --benchmark checkout --last 20
  dendro copy --from old.duckdb --to new.duckdb --renormalize`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return o.run(c.Context(), e) },
	}
	command.AddRequest(c, &o)
	f := c.Flags()
	f.StringVar(&o.from, "from", "", "`store` to read (default: --store)")
	f.StringVar(&o.to, "to", "", "`store` to write (default: --store)")
	f.BoolVar(&o.replace, "replace", false, "replace profiles that exist with different content")
	f.BoolVar(&o.renormalize, "renormalize", false, "normalise names again by this version's rules (and --rules)")
	f.StringVar(&o.rules, "rules", "", "with --renormalize: `file` of additional rules that normalise names")
	command.AddProgressFlag(c, &o.progress)
	o.output.AddFlag(c, "text", "json")
	return c
}

// ends returns the two places, of which one may be the default store.
func (o *copyOptions) ends(e *command.Env) (from, to string, err error) {
	from, to = o.from, o.to
	if from == "" && to == "" {
		return "", "", command.Usagef("nothing to copy: give --from, --to or both")
	}
	for _, end := range []*string{&from, &to} {
		if *end == "" {
			if *end, err = e.Location(); err != nil {
				return "", "", err
			}
		}
	}
	if sameStore(from, to) {
		return "", "", command.Usagef("--from %s and --to %s are the same store", from, to)
	}
	return from, to, nil
}

// sameStore reports whether two names are of one place.
func sameStore(a, b string) bool {
	if a == b {
		return true
	}
	is, err := os.Stat(a)
	if err != nil {
		return false
	}
	other, err := os.Stat(b)
	return err == nil && os.SameFile(is, other)
}

func (o *copyOptions) run(ctx context.Context, e *command.Env) (err error) {
	from, to, err := o.ends(e)
	if err != nil {
		return err
	}
	opts := store.CopyOptions{Query: o.Selection}
	if o.rules != "" && !o.renormalize {
		return command.Usagef("--rules needs --renormalize")
	}
	if o.renormalize {
		n, err := command.ReadRules(o.rules)
		if err != nil {
			return err
		}
		opts.Rename, opts.Rules = n.Function, n.Version()
	}
	if o.replace {
		opts.Conflict = store.Replace
	}
	src, closeSrc, err := e.Origin(ctx, from)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeSrc()) }()
	if _, err := query.Listed(ctx, src, &o.Selection); err != nil {
		return err
	}
	dst, closeDst, err := e.DestinationAt(ctx, to, engines.Write)
	if err != nil {
		return err
	}
	if err := leftWindows(ctx, e, src, from); err != nil {
		return errors.Join(err, closeDst())
	}
	return errors.Join(o.copy(ctx, e, dst, src, opts, command.Unfinished(to)), closeDst())
}

// leftWindows says what a copy leaves: continuous profiles are no profiles of benchmarks.
func leftWindows(ctx context.Context, e *command.Env, src store.Origin, from string) error {
	info, err := src.Info(ctx)
	if err == nil && info.Windows > 0 {
		fmt.Fprintf(e.Talk(), "note: %s windows of continuous profiles (%s series) stay in %s: copy takes profiles of benchmarks only. To move the windows too, copy the file of the store while no process has it open\n", words.Count(info.Windows), words.Count(info.Series), words.Clean(from))
	}
	return err
}

// copy copies and reports; it returns errReported when conflicts were all that
// went wrong.
func (o *copyOptions) copy(ctx context.Context, e *command.Env, dst store.Destination, src store.Origin, opts store.CopyOptions,
	mark string) error {
	began := time.Now()
	p := command.NewCopyProgress(e, o.progress)
	stored, unchanged, failed := 0, 0, 0
	before, err := dst.Info(ctx)
	if err != nil {
		return err
	}
	opts.Report = func(c store.Copied) {
		if mark != "" && stored == 0 {
			_ = os.WriteFile(mark, nil, 0o600) // it is a help, and no condition of the copy
		}
		stored, unchanged = stored+c.Stored, unchanged+c.Unchanged
		r := ingest.Result{File: c.File, Profiles: c.Profiles, Run: c.Run, Group: c.Benchmark.Group, Bench: c.Benchmark.Name,
			Status: ingest.Stored}
		switch {
		case c.Err != nil:
			failed += len(c.Profiles)
			r.Status, r.Err, r.Error = ingest.Failed, c.Err, c.Err.Error()
		case c.Stored == 0:
			r.Status = ingest.Unchanged
		}
		p.Report(r)
		p.Copied(c)
	}
	err = store.CopyFrom(ctx, dst, src, opts)
	if st, ok := store.As[store.Writer](dst); ok && err == nil && mark != "" && before.Profiles == 0 {
		err = st.Compact(ctx) // a copy of a served store is often there for other programs, which read rows of functions
	}
	p.End()
	if err != nil && (failed == 0 || !errors.Is(err, store.ErrConflict)) {
		return err
	}
	_ = os.Remove(mark)
	elapsed := time.Since(began)
	switch {
	case o.output == "json":
		summary := map[string]any{"profiles": stored, "unchanged": unchanged, "failed": failed, "elapsedNanos": elapsed}
		if err := e.WriteJSON(map[string]any{"summary": summary, "failures": p.Failures}); err != nil {
			return err
		}
	case o.progress != "json":
		fmt.Fprintf(e.Out, "%d %s copied (%d unchanged, %d failed) in %s\n", stored, words.Plural(stored, "profile"), unchanged, failed,
			command.Rounded(elapsed))
	}
	if failed > 0 {
		return command.ErrReported
	}
	return nil
}
