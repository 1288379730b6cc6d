package neo4j

import "github.com/dendroprof/dendro/store/neo4j/internal/bolt"

// model is how trees lie in the graph. All else is the same in both models.
type model interface {
	name() Model

	// schema lists the statements that make the model's constraints and indexes.
	schema() []string

	// functions is the label of the distinct functions.
	functions() string

	// memory is about how many bytes of the server's memory one transaction takes
	// that writes a profile of so many nodes.
	memory(nodes int) int64

	// properties are the lists on the node of a profile: paths and selfs, of all
	// touched paths depth first, and what else the model has there.
	properties(c *content) bolt.Props

	// write stores a profile whose functions are there, with its tree. The statement
	// create makes the profile's node as p; a model continues it, and adds to its
	// params. What the database then has besides goes into l.
	write(t *bolt.Tx, c *content, create string, params map[string]any, l *learned) error

	// bulk writes what write does into CSV files.
	bulk(b *Bulk, c *content) error

	// erase removes what write made for a profile of so many nodes. The profile's
	// node and its relationships are removed afterwards.
	erase(t *bolt.Tx, key string, nodes int64) error

	// structure calls f with what the paths of values are, as far as need says that
	// it is not known, and perhaps with more and again: ids, with those of the paths'
	// parents (rootPath for a root) and functions.
	structure(t *bolt.Tx, values []sparse, need func(path int64) bool, f func(ids, parents, functions []int64)) error

	// rows calls f for each of the profiles with its function rows, if it has any:
	// of all functions (nil), or of those with the ids.
	rows(t *bolt.Tx, keys []string, wanted []int64, f func(key string, functions, selfs, totals []int64) error) error

	// sums returns lists: the ids of the functions that the profiles have, in how
	// many of them, the sums of self and total, and of their shares of samples.
	sums(t *bolt.Tx, keys []string, samples map[string]int64) (bolt.Row, error)

	// garbage lists what Compact removes, in order: first of all what unused raw
	// names and functions are told by.
	garbage() []garbage

	// paths counts the distinct paths.
	paths(t *bolt.Tx) (int64, error)
}

var models = map[Model]model{Shared: shared{}, Thesis: thesis{}}
