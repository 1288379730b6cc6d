package record

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/dendroprof/dendro/app/internal/cli/command"
	"github.com/dendroprof/dendro/app/internal/cli/stores"
	"github.com/dendroprof/dendro/app/internal/github"
	"github.com/dendroprof/dendro/app/internal/gitlog"
	"github.com/dendroprof/dendro/app/internal/render"
	"github.com/dendroprof/dendro/format"
	"github.com/dendroprof/dendro/ingest"
	"github.com/dendroprof/dendro/internal/words"
	"github.com/dendroprof/dendro/normalize"
	"github.com/dendroprof/dendro/query/judge"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/store/engines"
)

// importOptions are the flags of `dendro import`.
type importOptions struct {
	ingest.Request
	metricsFiles, manifests   []string
	rules, progress           string
	replace, add, renormalize bool
	compact                   bool
	workers                   int
	reading                   command.ReaderFlags
	output                    command.Format

	within string // directory that names of files are stored without
	// nil, or the files are Dendro's own recordings, whose labels are certain; those of files without it come from their names
	recorded map[string]ingest.Label
	results  *ingest.Metrics // beside those of metricsFiles

	environment *ingest.Environment // nil: that of this process
	each        func(ingest.Result) // is told of every file; may be nil
}

func newImport(e *command.Env) *cobra.Command {
	var o importOptions
	c := &cobra.Command{
		Use:   "import [flags] FILE|DIRECTORY|GLOB|ARCHIVE|https://…|s3://…|-...",
		Short: "Import profiles into the store",
		Long: `Read profiles into the store: files, directories, globs, archives, https addresses,
object storage and stdin, also compressed. The format is detected by content, not by
name:
` + formatList() + `

Addresses of object storage name one object, or all below a key as if it were a
directory: s3://BUCKET/KEY (credentials as for the aws program; AWS_ENDPOINT_URL for
other servers of its protocol), gs://BUCKET/KEY (Google's application default
credentials), azblob://CONTAINER/KEY (AZURE_STORAGE_ACCOUNT with AZURE_STORAGE_KEY,
AZURE_STORAGE_SAS_TOKEN or Azure's default credential).

The labels of a profile come from, in this order: flags, the manifest, a sidecar
(FILE.json beside FILE), --layout, and what import guesses and prints:
  benchmark  the Go benchmark in the stacks, or the folder of JMH; otherwise the
             file name, and the folder as group
  run        the build of GitHub Actions, GitLab CI or Jenkins; a folder or file
             named like a run (001, run-7, 2026-11-21); otherwise the recording time;
             thread dumps always use it, each is a run
  commit     of the CI build, otherwise of the git repository of the working directory,
             if the profile is newer than the commit; also branch and repository
--dry-run prints the labels of every file and stores nothing.

A file that cannot be read is reported with position and reason; the others are stored,
and the exit status is 1. A file that is reported as stored is on disk.`,
		Example: `  dendro import --run nightly-42 --group shop --commit $(git rev-parse HEAD) cpu.pb.gz
  dendro import --layout '{run}/{group}/{benchmark}.{ext}' history/
  dendro import --manifest results/manifest.json
  dendro import --layout '{run}/{group}/{benchmark}.{ext}' s3://profiles/nightly
  dendro import --run r1 --benchmark checkout --metric time=12.3ms - < stacks.folded
  go test -run '^$' -bench Sort -cpuprofile cpu.pb.gz > bench.txt; dendro import --metrics bench.txt cpu.pb.gz`,
		RunE: func(c *cobra.Command, args []string) error { return o.run(c.Context(), e, args) },
	}
	f := c.Flags()
	command.AddRequest(c, &o.Request)
	f.StringArrayVar(&o.metricsFiles, "metrics", nil, "`file` of results by benchmark name, such as JSON of JMH; Go benchmark text, CSV, or JSON of JMH, pytest-benchmark, Google Benchmark, criterion or BenchmarkDotNet; repeatable")
	f.StringArrayVar(&o.manifests, "manifest", nil, "JSON `file` that lists profiles with run, benchmark, metric, …; repeatable")
	f.BoolVar(&o.replace, "replace", false, "replace profiles that exist with different content")
	f.BoolVar(&o.add, "add", false, "if a profile exists with different content, add these samples to it (shards, forks)")
	f.StringVar(&o.rules, "rules", "", "`file` of additional rules that normalise names")
	f.BoolVar(&o.renormalize, "renormalize", false, "first normalise the names in the store by this version's rules (and --rules)")
	f.BoolVar(&o.compact, "compact", false, "then compact the store: other programs find rows of functions, and SQL reads them faster")
	f.IntVar(&o.workers, "workers", 0, "parallel `readers` (default: one per core)")
	o.reading.AddFlags(c)
	command.AddProgressFlag(c, &o.progress)
	o.output.AddFlag(c, "text", "json")
	c.MarkFlagsMutuallyExclusive("replace", "add")
	c.MarkFlagsMutuallyExclusive("compact", "dry-run")
	return c
}

// unmatched warns of metrics that no profile has got, and of profiles without.
func unmatched(e *command.Env, m *ingest.Metrics) {
	results, benchmarks := m.Unmatched()
	for _, part := range []struct {
		text  string
		names []string
	}{{"--metrics: results without a profile:", results}, {"--metrics: profiles without a result:", benchmarks}} {
		if n := len(part.names); n > 0 {
			more := ""
			if n > 5 {
				more = fmt.Sprintf(" and %d more", n-5)
			}
			fmt.Fprintf(e.Err, "dendro: warning: %s %s%s\n", part.text, strings.Join(words.CleanAll(words.First(part.names, 5)), ", "), more)
		}
	}
}

// formatList lists the formats that are read, in lines.
func formatList() string {
	var b strings.Builder
	line := " "
	for _, f := range format.All() {
		if f.NewDecoder == nil {
			continue
		}
		if len(line)+len(f.Title) > 84 {
			b.WriteString(line + "\n")
			line = " "
		}
		line += " " + f.Title + ";"
	}
	return b.String() + strings.TrimSuffix(line, ";")
}

func (o *importOptions) run(ctx context.Context, e *command.Env, args []string) error {
	if len(args) == 0 && len(o.manifests) == 0 && o.renormalize {
		opts, err := o.ingestOptions()
		if err != nil {
			return err
		}
		return renormalize(ctx, e, opts.Normalizer)
	}
	if len(args) == 0 && len(o.manifests) == 0 {
		return command.Usagef("nothing to import: name files, directories, - for stdin, or a --manifest")
	}
	opts, err := o.ingestOptions()
	if err != nil {
		return err
	}
	if o.environment != nil {
		opts.Environment = *o.environment
	} else {
		opts.Environment = environment(ctx, e)
	}
	sources, listErr := o.sources(ctx, e, args)
	if listErr != nil {
		fmt.Fprintln(e.Err, "dendro: "+command.EscapeLines(listErr.Error()))
	}
	if len(sources) == 0 {
		if listErr != nil {
			return command.ErrReported
		}
		return command.Usagef("nothing to import: no files in %s", strings.Join(words.CleanAll(args), ", "))
	}
	if o.renormalize {
		if err := renormalize(ctx, e, opts.Normalizer); err != nil {
			return err
		}
	}
	defer command.SpendMemory(command.HeapMemory)()
	if err := o.importInto(ctx, e, sources, opts, listErr != nil); err != nil || !o.compact {
		return err
	}
	return stores.Compact(ctx, e, e.Talk())
}

// destination opens the store to import into. A dry run reads it, and makes none.
func (o *importOptions) destination(ctx context.Context, e *command.Env) (store.Destination, func() error, error) {
	where, err := e.Location()
	if err != nil {
		return nil, nil, err
	}
	access := engines.Write
	if o.DryRun {
		access = engines.Read
		if _, err := os.Stat(where); errors.Is(err, fs.ErrNotExist) && !strings.Contains(where, ":") {
			where = "mem:"
		}
	}
	return e.DestinationAt(ctx, where, access)
}

// environment returns what the variables of a CI and the repository around the working
// directory know of the run.
func environment(ctx context.Context, e *command.Env) ingest.Environment {
	known := ingest.FromCI(os.Getenv)
	head, err := gitlog.ReadHead(ctx, ".")
	if flow, err := github.FromEnvironment(os.Getenv); err != nil {
		e.Notes([]string{err.Error()})
	} else if flow.Actions {
		known.Run.Commit, _ = flow.Commits(head.Commit)
		if known.Run.Commit != flow.Commit && known.Run.Commit != flow.HeadCommit { // the event says nothing of it
			known.Run.Branch, known.Run.Repository = head.Branch, head.Origin
		}
	}
	if err != nil && !errors.Is(err, gitlog.ErrNoRepository) && !errors.Is(err, gitlog.ErrNoCommit) && !errors.Is(err, gitlog.ErrNoGit) {
		e.Notes([]string{"labels from git are incomplete: " + err.Error()})
	}
	if head.Commit == "" {
		return known
	}
	known.Made = head.Date
	if known.From == "" {
		known.From = "git"
		known.Run.Commit, known.Run.Branch, known.Run.Repository = head.Commit, head.Branch, head.Origin
		if head.Dirty {
			known.Run.Attributes = map[string]string{"dirty": "true"}
		}
	}
	return known
}

// renormalize rewrites a store whose names were normalised by other rules.
func renormalize(ctx context.Context, e *command.Env, n *normalize.Normalizer) error {
	where, err := e.Location()
	if err != nil {
		return err
	}
	st, closeStore, err := e.DestinationAt(ctx, where, engines.Write)
	if err != nil {
		return err
	}
	info, err := st.Info(ctx)
	if err = errors.Join(err, closeStore()); err != nil || info.Rules == n.Version() {
		return err
	}
	if err := engines.Rewritable(where); err != nil {
		return fmt.Errorf("--renormalize: %w", err)
	}
	fmt.Fprintf(e.Talk(), "normalising the names of %d profiles again: rules %q → %q\n", info.Profiles, info.Rules, n.Version())
	return engines.Rewrite(ctx, where, func(from store.Reader, to store.Destination) error {
		return store.Copy(ctx, to, from, store.CopyOptions{Rename: n.Function, Rules: n.Version()})
	})
}

func (o *importOptions) ingestOptions() (ingest.Options, error) {
	opts, err := o.Request.Options()
	if err != nil {
		return opts, command.Misuse(err)
	}
	opts.Limits, opts.Workers, opts.Finish = o.reading.Limits, o.workers, o.reading.Finish()
	opts.Metrics = o.results
	for _, name := range o.metricsFiles {
		if opts.Metrics, err = readMetrics(name, opts.Metrics); err != nil {
			return opts, err
		}
	}
	if opts.Normalizer, err = command.ReadRules(o.rules); err != nil {
		return opts, err
	}
	switch {
	case o.replace:
		opts.Conflict = store.Replace
	case o.add:
		opts.Conflict = store.Add
	}
	return opts, nil
}

func readMetrics(name string, more *ingest.Metrics) (*ingest.Metrics, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	m, err := ingest.ReadMetrics(name, f)
	if err != nil {
		return nil, err
	}
	return m.Join(more), nil
}

func (o *importOptions) sources(ctx context.Context, e *command.Env, args []string) ([]ingest.Source, error) {
	objects, args, listErr := withBuckets(ctx, args)
	downloads, args, err := withDownloads(download(), args)
	if err != nil {
		return nil, err
	}
	sources, err := ingest.Expand(args, e.In)
	sources, err = slices.Concat(objects, downloads, sources), errors.Join(listErr, err)
	for _, name := range o.manifests {
		more, manifestErr := ingest.ReadManifest(name)
		sources = ingest.Unite(sources, more)
		err = errors.Join(err, manifestErr)
	}
	for i := range sources {
		s := &sources[i]
		s.Name = strings.TrimPrefix(s.Name, o.within)
		s.Label = o.recorded[s.Name].Or(s.Label)
	}
	return sources, err
}

// importInto opens the store, imports and closes it.
func (o *importOptions) importInto(ctx context.Context, e *command.Env, sources []ingest.Source, opts ingest.Options, failed bool) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	st := openWhile(func() (store.Destination, func() error, error) { return o.destination(ctx, e) }, stop)
	var touched []store.ProfileID
	each := o.each
	o.each = func(r ingest.Result) {
		if r.Status == ingest.Stored {
			touched = append(touched, r.Profiles...)
		}
		if each != nil {
			each(r)
		}
	}
	err := o.importAll(ctx, e, st, sources, opts, failed)
	<-st.done
	if local, ok := st.st.(store.Store); ok && len(touched) > 0 && !o.DryRun {
		follow(ctx, e, local, touched)
	}
	if closeErr := st.Close(); err == nil {
		err = closeErr
	}
	return err
}

// follow judges what an import touched, so that no query waits for it. The import has succeeded
// without.
func follow(ctx context.Context, e *command.Env, st store.Store, touched []store.ProfileID) {
	own, err := command.OwnCode()
	if err == nil {
		err = judge.Follow(ctx, st, touched, own)
	}
	if err != nil && ctx.Err() == nil {
		e.Notes([]string{"what became slower is not judged yet, the next query does it: " + err.Error()})
	}
}

// importAll imports and reports; it returns errReported when a file failed.
func (o *importOptions) importAll(ctx context.Context, e *command.Env, st store.Destination, sources []ingest.Source, opts ingest.Options,
	failed bool) error {
	p := command.NewProgress(e, o.progress, sources)
	p.DryRun, p.Certain = o.DryRun, o.recorded != nil
	differs := false
	sum, err := ingest.Run(ctx, st, sources, opts, func(r ingest.Result) {
		p.Report(r)
		differs = differs || errors.Is(r.Err, store.ErrConflict)
		if o.each != nil {
			o.each(r)
		}
	})
	p.End()
	if err != nil && sum.Files == 0 {
		return err
	}
	unmatched(e, opts.Metrics)
	key := ingest.FromCI(os.Getenv).Run.Key
	if differs && key != "" && o.Machine == "" && strings.HasPrefix(cmp.Or(o.Run, key), key) {
		e.Notes([]string{"the jobs of build " + key + " have one run: with --machine NAME each has a run and a history of its own"})
	}
	if o.output == "json" {
		doc := map[string]any{"summary": sum, "failures": p.Failures}
		if o.DryRun {
			doc["rows"] = p.Labels
		}
		if err := e.WriteJSON(doc); err != nil {
			return err
		}
	} else if o.DryRun && o.progress != "json" {
		if err := render.Labels(e.Rendering("text"), p.Labels); err != nil {
			return err
		}
	}
	if o.output != "json" && o.progress != "json" {
		verb := "stored"
		if o.DryRun {
			verb = "read"
		}
		fmt.Fprintf(e.Out, "%d %s of %d %s %s (%d unchanged, %d skipped, %d failed) in %s\n", sum.Profiles,
			words.Plural(sum.Profiles, "profile"), sum.Files, words.Plural(sum.Files, "file"), verb, sum.Unchanged, sum.Skipped, sum.Failed,
			command.Rounded(sum.Elapsed))
	}
	if err != nil {
		return err // behind the summary: what it counts is stored
	}
	if sum.Failed > 0 || failed {
		return command.ErrReported
	}
	return nil
}
