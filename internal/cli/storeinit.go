package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/dendroprof/dendro/internal/engines"
	"github.com/dendroprof/dendro/internal/words"
	"github.com/dendroprof/dendro/store"
)

func newStore(e *env) *cobra.Command {
	c := &cobra.Command{
		Use:   "store",
		Short: "Make a store ready, or say what it holds",
		Long: `Store makes the place that --store names ready to be a store, and says what kind of
store it is and how much it holds. Importing makes a store ready by itself; init is
for choosing the model of a graph database, and for using one that holds other things.`,
		Args: cobra.NoArgs,
		RunE: help,
	}
	c.AddCommand(newStoreInit(e), newStoreInfo(e))
	return c
}

// storeInitOptions are the flags of `dendro store init`.
type storeInitOptions struct {
	model      string
	force      bool
	potentials int
}

func newStoreInit(e *env) *cobra.Command {
	var o storeInitOptions
	c := &cobra.Command{
		Use:   "init [flags]",
		Short: "Make a store ready and choose the model of a graph database",
		Long: `Init makes the place that --store names ready to be a store. Doing so again changes
nothing, also from several processes at once.

A graph database has one of two models. shared keeps each call path once for all
profiles; it is small and fast, and the default. thesis keeps a tree of nodes for
every profile, so that the Cypher of Lundberg and Rettig's thesis runs on it.
Through Dendro both answer the same. The model cannot be changed later, but copy
takes the content into another database.

With --potentials each node of the model thesis gets the arrays p and c of the
thesis's chapter 5.2: its subtree potentials of degree 0 up to the one named, and
what recursion would count twice of them, as shares of the profile.

A database that holds something else is left alone unless --force lets the store
live beside it; nothing of the rest is changed even then.`,
		Example: `  dendro store init --store neo4j://neo4j@localhost:7687
  dendro store init --store neo4j://neo4j@localhost:7687 --model thesis --potentials 5`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return o.run(c.Context(), e) },
	}
	c.Flags().Var(&choice{&o.model, engines.Models}, "model", "`model` of a graph database: shared, thesis (default: shared, or what it has)")
	c.Flags().IntVar(&o.potentials, "potentials", 0, "highest `degree` of the potentials on each node, model thesis only (default: none, or what it has)")
	c.Flags().BoolVar(&o.force, "force", false, "let the store live in a graph database that holds something else")
	return c
}

func (o *storeInitOptions) run(ctx context.Context, e *env) error {
	where, err := e.location()
	if err != nil {
		return err
	}
	if err := engines.Init(ctx, where, engines.InitOptions{Model: o.model, Potentials: o.potentials, Force: o.force, Password: e.password()}); err != nil {
		return err
	}
	return e.describeStore(ctx, "text")
}

func newStoreInfo(e *env) *cobra.Command {
	var output outputFormat
	c := &cobra.Command{
		Use:     "info [flags]",
		Short:   "Say what a store is and how much it holds",
		Example: `  dendro store info --store neo4j://neo4j@localhost:7687 -o json`,
		Args:    cobra.NoArgs,
		RunE:    func(c *cobra.Command, _ []string) error { return e.describeStore(c.Context(), output) },
	}
	output.addFlag(c, "text", "json")
	return c
}

// describeStore prints what the store says of itself.
func (e *env) describeStore(ctx context.Context, format outputFormat) (err error) {
	st, err := e.open(ctx, engines.Read)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	info, err := st.Info(ctx)
	if err != nil {
		return err
	}
	about := struct {
		store.Info
		Model string `json:"model,omitempty"`
	}{info, engines.ModelOf(st)}
	engine := info.Engine
	if about.Model != "" {
		engine += ", model " + about.Model
	}
	if format == "json" {
		return e.writeJSON(about)
	}
	_, err = fmt.Fprintf(e.out, "%s (%s, schema %d): %s profiles, %s runs, %s benchmarks; %s functions, %s paths%s\n", info.Location, engine, info.Schema,
		words.Count(info.Profiles), words.Count(info.Runs), words.Count(info.Benchmarks), words.Count(info.Functions), words.Count(info.Paths), size(info.Bytes))
	return err
}

// size writes the bytes of a store, if they are known.
func size(bytes int64) string {
	if bytes == 0 {
		return ""
	}
	text, _ := words.Amount(float64(bytes), "bytes")
	return "; " + text
}
