package neo4j

import "github.com/dendroprof/dendro/store/neo4j/internal/bolt"

// model is the representation of trees in the graph. All else is the same in both
// models.
type model interface {
	name() Model

	// schema lists the statements that create the model's constraints and indexes.
	schema() []string

	// functions is the label of the distinct functions.
	functions() string

	// memory estimates how many bytes of the server's memory a transaction takes that
	// writes a profile of so many nodes.
	memory(nodes int) int64

	// properties returns the lists on the node of a profile: paths and selfs, depth first.
	// Paths without a self value may be missing.
	properties(c *content) bolt.Props

	// write stores profiles whose functions are stored already, with their trees, and
	// records in the rows what it added to the database.
	write(t *bolt.Tx, rows []*profileRow) error

	// bulk writes the same into CSV files, which know the profile by its seq.
	bulk(b *Bulk, profile int64, c *content) error

	// erase removes what write created for a profile. The caller then removes the
	// profile's node and its relationships.
	erase(t *bolt.Tx, key string) error

	// expand expands a range of the paths of a profile, with the parameters of expandChunk,
	// and returns how many it was; collapse undoes a part of it, and the last part removes
	// the mark expanded.
	expand(t *bolt.Tx, key string, params map[string]any) (int64, error)
	collapse(t *bolt.Tx, key string) error

	// structure calls f with the paths of values for which need returns true and with
	// those that lead to them, perhaps with more and several times: ids, and the ids of
	// their parents (rootPath for a root) and functions.
	structure(t *bolt.Tx, values []sparse, need func(path int64) bool, f func(ids, parents, functions []int64)) error

	// rows calls f for each profile that has function rows: of all functions (nil), or of
	// those with the ids.
	rows(t *bolt.Tx, keys []string, wanted []int64, f func(key string, functions, selfs, totals []int64) error) error

	// sums returns lists: the ids of the functions of the profiles, in how many profiles
	// they are, the sums of self and total, and of their shares of samples.
	sums(t *bolt.Tx, keys []string, samples map[string]int64) (bolt.Row, error)

	// garbage lists what Compact removes, in order: first what identifies unused raw
	// names and functions.
	garbage() []garbage

	// paths counts the distinct paths.
	paths(t *bolt.Tx) (int64, error)
}

var models = map[Model]model{Shared: shared{}, Thesis: thesis{}}
