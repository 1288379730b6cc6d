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
