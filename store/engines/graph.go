package engines

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/store/neo4j"
)

// InitOptions defines how a store is made ready.
type InitOptions struct {
	Model  string // of a graph database: shared or thesis; empty: shared, or what it has
	Force  bool   // let a store live in a graph database beside what that holds
	Secret Secret

	// Potentials is the highest degree of the subtree potentials that nodes of the
	// model thesis get as arrays; 0: none, or what the database has.
	Potentials int
}

// Models are the names that InitOptions.Model may have.
var Models = []string{string(neo4j.Shared), string(neo4j.Thesis)}

// Init makes the place ready to be a store, with nothing in it. A store that is
// there already and fits the options is left as it is.
func Init(ctx context.Context, where string, opts InitOptions) error {
	if neo4j.IsURL(where) {
		return neo4j.Init(ctx, where, neo4j.InitOptions{
			Model: neo4j.Model(opts.Model), Potentials: opts.Potentials, Consent: opts.Force,
			Options: neo4j.Options{PasswordFile: opts.Secret.File, Password: opts.Secret.Ask},
		})
	}
	if opts.Model != "" || opts.Force || opts.Potentials != 0 {
		return fmt.Errorf("%s is no graph database: it has no model to choose, and nothing beside the store", where)
	}
	if strings.Contains(where, "://") {
		return fmt.Errorf("store init: %s is a server: initialise its store on its own machine", where)
	}
	st, err := Open(ctx, where, Write)
	if err != nil {
		return err
	}
	return st.Close()
}

// ModelOf returns the model of a store in a graph database, empty for others.
func ModelOf(st store.Store) string {
	if s, ok := st.(*neo4j.Store); ok {
		return string(s.Model())
	}
	return ""
}

// ExpandOptions define what Expand stores for a profile.
type ExpandOptions = neo4j.ExpandOptions

// Expand gives selected profiles of a graph database relationships of their own to
// their call nodes, or removes them. It returns the number of profiles that changed.
func Expand(ctx context.Context, st store.Store, q store.Query, opts ExpandOptions) (int, error) {
	s, ok := st.(*neo4j.Store)
	if !ok {
		return 0, errors.New("store expand: this store is no graph database: give one with --store neo4j://…")
	}
	return s.Expand(ctx, q, opts)
}

// GraphScript is the file in an exported directory that makes the database.
const GraphScript = neo4j.BulkScript

// ExportGraph writes what opts selects of a store into a new directory, as CSV
// files that Neo4j's own tool makes a database of. If that fails, the
// directory is incomplete and has no GraphScript. Potentials is the highest degree of the
// arrays p and c; 0: none.
func ExportGraph(ctx context.Context, src store.Reader, dir, model string, potentials int, opts store.CopyOptions) error {
	bulk, err := neo4j.NewBulk(dir, neo4j.Model(model), potentials)
	if err != nil {
		return err
	}
	if err = store.Copy(ctx, bulk, src, opts); err == nil {
		err = bulk.Finish()
	} else {
		err = errors.Join(err, bulk.Close())
	}
	if err != nil {
		return fmt.Errorf("the files in %s are not whole: %w", dir, err)
	}
	return nil
}
