// Package baseline stores call trees as the per-node model does: one row per
// call node per profile, as in the graph model that benchmark analysis on
// databases started from ("A" in the storage study).
//
// A node has its profile, its parent, its function, its depth, self and total
// samples, and the recursion edge: the nearest ancestor of the same function
// and the distance to it. Shares are omitted; they follow from the samples.
//
// Two engines hold the same rows. DuckDB is a generous stand-in: columns, whole
// numbers for functions, the edge as a column, a tuned parser, rows appended in
// chunks, batches instead of single profiles, and no index. SQLite is what a
// competent engineer writes first on a row store: prepared inserts, one
// transaction per profile, indexes on what queries look up, a parser of
// strings.Split and maps.
//
// The model knows no path across profiles. A merged tree has to fetch the rows
// and build the tree again, and subtree potentials are computed node by node as
// the thesis does it. That is the point of the comparison and not to be tuned
// away here; what does not belong to the model (reading text, writing rows) is
// as fast as it can reasonably be.
//
// Not modelled: graph servers, several value types, updates, deletion.
package baseline

import "github.com/dendroprof/dendro/test/bench"

// Specs returns the baselines in the order of a table's columns.
func Specs() []bench.Spec {
	return []bench.Spec{
		{
			Name:  "A DuckDB",
			Model: "one row per call node per profile in DuckDB, chunk appender, bulk transactions",
			Open:  func(o bench.Options) (bench.Engine, error) { return OpenDuckDB(o) },
			Part:  1,
		},
		{
			Name:  "A SQLite",
			Model: "the same rows in SQLite (WAL, NORMAL, three indexes), a transaction per profile, plain parser",
			Open:  func(o bench.Options) (bench.Engine, error) { return OpenSQLite(o) },
			Part:  10, Rounds: 2,
		},
	}
}
