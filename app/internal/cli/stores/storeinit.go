package stores

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/dendroprof/dendro/app/internal/cli/command"
	"github.com/dendroprof/dendro/internal/words"
	"github.com/dendroprof/dendro/query"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/store/engines"
	"github.com/dendroprof/dendro/store/iceberg"
)

func newStore(e *command.Env) *cobra.Command {
	c := &cobra.Command{
		Use:   "store",
		Short: "Initialise a store, or show what it contains",
		Long: `Initialise the store that --store names, show its kind and content, expand single
profiles of a graph database, or relocate a lake. An import initialises a store by
itself. Use init to choose the model of a graph database, or to use a database that has
other content.`,
		Args: cobra.NoArgs,
		RunE: command.Help,
	}
	c.AddCommand(newStoreInit(e), newStoreInfo(e), newStoreExpand(e), newStoreRelocate(e))
	return c
}

// storeInitOptions are the flags of `dendro store init`.
type storeInitOptions struct {
	model      string
	force      bool
	potentials int
}

func newStoreInit(e *command.Env) *cobra.Command {
	var o storeInitOptions
	c := &cobra.Command{
		Use:   "init [flags]",
		Short: "Initialise a store and choose the model of a graph database",
		Long: `Initialise the store that --store names. Repeating this changes nothing, also from
several processes at once.

A graph database has one of two models. shared (the default) stores each call path once
for all profiles; it is smaller and faster. thesis stores a tree of nodes for every
profile, so that the Cypher queries of the paper (docs/method/paper.md) run on it.
Dendro's commands give the same answers for both. The model cannot be changed later;
"dendro copy" copies the profiles into another database.

--potentials adds two arrays of the paper to each node of the model thesis: p, its
subtree potentials of degree 0 up to the given degree, and c, the part of them that
recursion counts twice. Both are shares of the profile.

A database with other content is refused. With --force Dendro uses it anyway, and does
not change the other content.`,
		Example: `  dendro store init --store neo4j://neo4j@localhost:7687
  dendro store init --store neo4j://neo4j@localhost:7687 --model thesis --potentials 5`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return o.run(c.Context(), e) },
	}
	c.Flags().Var(command.Choice(&o.model, engines.Models...), "model", "`model` of a graph database: shared, thesis (default: the model that it has, otherwise shared)")
	c.Flags().IntVar(&o.potentials, "potentials", 0, "model thesis: store the potentials up to this `degree` on each node (default: as the database has, otherwise none)")
	c.Flags().BoolVar(&o.force, "force", false, "use a graph database that has other content")
	return c
}

func (o *storeInitOptions) run(ctx context.Context, e *command.Env) error {
	where, err := e.Location()
	if err != nil {
		return err
	}
	secret, err := e.Credentials(where)
	if err != nil {
		return err
	}
	if err := engines.Init(ctx, where, engines.InitOptions{Model: o.model, Potentials: o.potentials, Force: o.force,
		Secret: secret}); err != nil {
		return err
	}
	return describeStore(ctx, e, "text")
}

func newStoreExpand(e *command.Env) *cobra.Command {
	var o engines.ExpandOptions
	c := &cobra.Command{
		Use:   "expand [flags] PROFILE...",
		Short: "Make the tree of a profile visible to plain Cypher patterns",
		Long: `Give profiles of a graph database of the model shared a relationship SAMPLED {self, total}
to each of their call paths, so that plain patterns and Neo4j Browser show their trees. A
PROFILE is an id, or its first digits, as "dendro runs --profiles" prints it. Dendro's
commands give the same results before and after. An expanded profile takes about as much
space as a tree of nodes; --undo removes the relationships.

--potentials adds the arrays p and c of the paper (docs/method/paper.md): to the
relationships, or in the model thesis to the nodes of the tree.`,
		Example: `  dendro store expand --store neo4j://neo4j@localhost:7687 75164c25
  dendro store expand --store neo4j://neo4j@localhost:7687 75164c25 --potentials 5
  dendro store expand --store neo4j://neo4j@localhost:7687 75164c25 --undo`,
		Args: command.Takes(1, command.Unlimited),
		RunE: func(c *cobra.Command, args []string) error {
			if o.Undo && o.Potentials != 0 {
				return command.Usagef("--undo removes the relationships with their potentials: give one of --undo and --potentials")
			}
			var r query.Selection
			r.Profiles = make([]store.ProfileID, len(args))
			for i, arg := range args {
				if err := r.Profiles[i].UnmarshalText([]byte(arg)); err != nil {
					return command.Usagef("%w", err)
				}
			}
			return e.With(c.Context(), engines.Write, func(st store.Store) error {
				if _, err := store.Select(c.Context(), st, r); errors.Is(err, store.ErrNothing) {
					return err
				}
				n, err := engines.Expand(c.Context(), st, r, o)
				if err != nil {
					return err
				}
				_, err = fmt.Fprintf(e.Out, "changed %s\n", words.Counted(n, "profile"))
				return err
			})
		},
	}
	c.Flags().IntVar(&o.Potentials, "potentials", 0, "store the potentials up to this `degree` too (default: none)")
	c.Flags().BoolVar(&o.Undo, "undo", false, "remove what expand has stored")
	return c
}

func newStoreRelocate(e *command.Env) *cobra.Command {
	return &cobra.Command{
		Use:   "relocate",
		Short: "Update the metadata of a lake whose directory was moved",
		Long: `Write the current directory of a lake into its metadata. Iceberg's metadata has absolute
paths. Dendro finds the files of a lake that was moved or copied by itself; Spark and other
programs need this command. It removes older states of the tables and changes no data file.
Meanwhile, do not publish to the old directory of the lake.`,
		Example: `  mv lake /mnt/shared/lake && dendro store relocate --store lake:/mnt/shared/lake`,
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) (err error) {
			where, err := e.Location()
			if err != nil {
				return err
			}
			address, ok := strings.CutPrefix(where, engines.LakeScheme)
			if !ok {
				return command.Usagef("store relocate: %s is not a lake: give --store lake:DIRECTORY", where)
			}
			l, err := iceberg.Open(c.Context(), address, iceberg.Options{})
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, l.Close()) }()
			if l.Moved() == "" {
				_, err = fmt.Fprintln(e.Out, "the metadata has the directory already")
				return err
			}
			if err := l.Relocate(c.Context()); err != nil {
				return err
			}
			_, err = fmt.Fprintf(e.Out, "the metadata has the directory %s now\n", l.Dir)
			return err
		},
	}
}

func newStoreInfo(e *command.Env) *cobra.Command {
	var output command.Format
	c := &cobra.Command{
		Use:     "info [flags]",
		Short:   "Show the kind and content of a store",
		Example: `  dendro store info --store neo4j://neo4j@localhost:7687 -o json`,
		Args:    cobra.NoArgs,
		RunE:    func(c *cobra.Command, _ []string) error { return describeStore(c.Context(), e, output) },
	}
	output.AddFlag(c, "text", "json")
	return c
}

// describeStore prints what the store says of itself.
func describeStore(ctx context.Context, e *command.Env, format command.Format) (err error) {
	where, err := e.Location()
	if err != nil {
		return err
	}
	st, closeStore, err := e.DestinationAt(ctx, where, engines.Read)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeStore()) }()
	info, err := st.Info(ctx)
	if err != nil {
		return err
	}
	about := struct {
		store.Info
		Model string `json:"model,omitempty"`
	}{Info: info}
	if here, ok := st.(store.Store); ok {
		about.Model = engines.ModelOf(here)
	}
	engine := info.Engine
	if about.Model != "" {
		engine += ", model " + about.Model
	}
	if format == "json" {
		return e.WriteJSON(about)
	}
	_, err = fmt.Fprintf(e.Out, "%s (%s, schema %d): %s profiles, %s runs, %s benchmarks; %s functions, %s paths%s%s\n", words.Clean(info.Location), words.Clean(engine), info.Schema,
		words.Count(info.Profiles), words.Count(info.Runs), words.Count(info.Benchmarks), words.Count(info.Functions), words.Count(info.Paths),
		windowsOf(&info), size(info.Bytes))
	if len(info.Slow) > 0 && err == nil {
		_, err = fmt.Fprintf(e.Out, "slow with this engine, which reads every row for them: %s\n", strings.Join(info.Slow, ", "))
	}
	return err
}

// windowsOf writes how many windows of continuous profiles a store has, if any.
func windowsOf(info *store.Info) string {
	if info.Windows == 0 {
		return ""
	}
	return fmt.Sprintf("; %s windows of %s series", words.Count(info.Windows), words.Count(info.Series))
}

// size writes the bytes of a store, if they are known.
func size(bytes int64) string {
	if bytes == 0 {
		return ""
	}
	text, _ := words.Amount(float64(bytes), "bytes")
	return "; " + text
}
