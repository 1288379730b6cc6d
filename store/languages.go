package store

import (
	"context"
	"iter"
)

// SQLSpeaker is implemented by engines that answer users' own SQL. The query
// can read the documented views and nothing else: it changes nothing and
// reaches no file and no network.
type SQLSpeaker interface {
	SQL(ctx context.Context, query string) (*SQLAnswer, error)
	// SQLOf answers about runs that are not the engine's, such as sums of pushed profiles.
	SQLOf(ctx context.Context, runs Reader, query string) (*SQLAnswer, error)
}

// SQLAnswer is the answer to a query: its columns and a stream of rows, each
// valid on its own. Values are nil, bool, int64, float64, string, []byte or
// time.Time; other values are converted to text.
type SQLAnswer struct {
	Columns []string
	Types   []string // the engine's names of the columns' types
	Notes   []string // what a reader of the rows has to know
	Rows    iter.Seq2[[]any, error]
}

// CypherSpeaker is implemented by engines that answer users' own Cypher. The
// query can read the documented graph and nothing else: it changes nothing and
// reaches no file and no network.
type CypherSpeaker interface {
	// Cypher runs a query with its parameters, which are of the types that
	// answers have. The stream of rows ends the query when it is left.
	Cypher(ctx context.Context, query string, params map[string]any) (*CypherAnswer, error)
}

// CypherAnswer is the answer to a query: its columns and a stream of rows, each
// valid on its own. Values are nil, bool, int64, float64, string, []byte,
// time.Time, []any and map[string]any; other values are converted to text.
// A node is a map of labels and properties, a relationship one of type and
// properties, a path the list of its nodes and relationships.
type CypherAnswer struct {
	Columns []string
	Rows    iter.Seq2[[]any, error]
	// Notes returns what the engine remarks about the query, such as a label that the graph
	// does not have, after the last row; nil: the engine remarks nothing.
	Notes func() []string
}
