package neo4j

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	driver "github.com/neo4j/neo4j-go-driver/v5/neo4j"

	"github.com/dendroprof/dendro/store"
)

// Answer is the answer to users' own Cypher: columns, and rows that are valid on
// their own. Values are nil, bool, int64, float64, string, []byte, time.Time,
// lists and maps of these, and the driver's types for nodes, relationships,
// paths and other kinds of time.
type Answer struct {
	Columns []string
	Rows    iter.Seq2[[]any, error] // to be read once; ends its transaction
	Close   func() error            // for an Answer whose rows are not read to their end
}

// Query runs users' own Cypher in a read session: the server refuses what
// writes, and LOAD CSV, by which it would read files and the network, is refused
// here. Rows stream: the server does not compute more than is asked for, as far
// as the query allows.
func (s *Store) Query(ctx context.Context, cypher string, params map[string]any) (*Answer, error) {
	ctx, cancel := interruptible(ctx)
	session := s.graph.session(ctx, driver.AccessModeRead)
	close := func() error {
		defer cancel()
		return session.Close(context.WithoutCancel(ctx))
	}
	fail := func(err error) (*Answer, error) {
		err = s.refused(ended(ctx, err)) // before close ends the context
		close()
		return nil, err
	}
	switch loads, err := loadsCSV(ctx, session, cypher, params); {
	case err != nil:
		return fail(err)
	case loads:
		return fail(errors.New("LOAD CSV is refused: it reads files and addresses that the server can see"))
	}
	result, err := session.Run(ctx, cypher, params)
	if err != nil {
		return fail(err)
	}
	columns, err := result.Keys()
	if err != nil {
		return fail(err)
	}
	rows := func(yield func([]any, error) bool) {
		defer close()
		for result.Next(ctx) {
			if !yield(result.Record().Values, nil) {
				return
			}
		}
		if err := result.Err(); err != nil {
			yield(nil, s.refused(ended(ctx, err)))
		}
	}
	return &Answer{Columns: columns, Rows: rows, Close: close}, nil
}

// refused says of writes why they fail, and leaves the server's words about a
// query as they are: they show the place.
func (s *Store) refused(err error) error {
	var server *driver.Neo4jError
	switch {
	case hasCode(err, codeAccessMode):
		return fmt.Errorf("%w with users' Cypher: %s", store.ErrReadOnly, message(err))
	case errors.As(err, &server) && strings.HasPrefix(server.Code, "Neo.ClientError.Statement."):
		return errors.New(strings.TrimSpace(server.Msg))
	}
	return s.graph.explain(err)
}

// loadsCSV reports whether a query has LOAD CSV in its plan. Only the server can
// tell the clause from the same words in a text, a comment or a name; it is asked
// when the query has them at all, perhaps as an escape (\u0063).
func loadsCSV(ctx context.Context, session driver.SessionWithContext, cypher string, params map[string]any) (bool, error) {
	if !strings.Contains(strings.ToLower(cypher), "csv") && !strings.Contains(cypher, `\u`) {
		return false, nil
	}
	result, err := session.Run(ctx, "EXPLAIN "+cypher, params)
	if err != nil {
		return false, err
	}
	summary, err := result.Consume(ctx)
	if err != nil || summary.Plan() == nil {
		return false, err
	}
	return hasOperator(summary.Plan(), "LoadCSV"), nil
}

func hasOperator(p driver.Plan, name string) bool {
	return strings.HasPrefix(p.Operator(), name) ||
		slices.ContainsFunc(p.Children(), func(c driver.Plan) bool { return hasOperator(c, name) })
}
