// Package cypher runs the Cypher of users, who may read the graph and reach nothing beyond it.
//
// The server rejects writes; clauses and procedures that read files, change settings or end
// the connections of others are rejected here, by the plan of the server. Values become
// those of store.CypherAnswer.
// It knows no label of Dendro's.
package cypher

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	driver "github.com/neo4j/neo4j-go-driver/v6/neo4j"
	"github.com/neo4j/neo4j-go-driver/v6/neo4j/dbtype"
	"github.com/neo4j/neo4j-go-driver/v6/neo4j/notifications"

	"github.com/dendroprof/dendro/internal/column"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/store/neo4j/internal/bolt"
)

// Run answers a query in a read session. The server rejects writes to the graph; this
// function rejects what reaches beyond the graph. Rows stream: the server computes only the
// rows that the caller reads, as far as the query allows.
func Run(ctx context.Context, db *bolt.DB, query string, params map[string]any) (*store.CypherAnswer, error) {
	ctx, cancel := bolt.Interruptible(ctx)
	session := db.Remarking(ctx, driver.AccessModeRead)
	end := func() {
		session.Close(context.WithoutCancel(ctx))
		cancel()
	}
	fail := func(err error) (*store.CypherAnswer, error) {
		err = refused(db, store.Ended(ctx, err)) // before end ends the context
		end()
		return nil, err
	}
	if err := checkReach(ctx, session, query, params); err != nil {
		return fail(err)
	}
	result, err := session.Run(ctx, query, params)
	if err != nil {
		return fail(err)
	}
	columns, err := result.Keys()
	if err != nil {
		return fail(err)
	}
	var notes []string
	rows := func(yield func([]any, error) bool) {
		defer end()
		for result.Next(ctx) {
			row := result.Record().Values
			for i := range row {
				row[i] = plain(row[i])
			}
			if !yield(row, nil) {
				return
			}
		}
		summary, err := result.Consume(ctx)
		if err = cmp.Or(result.Err(), err); err != nil {
			yield(nil, refused(db, store.Ended(ctx, err)))
			return
		}
		notes = unknownNames(summary.GqlStatusObjects())
	}
	return &store.CypherAnswer{Columns: columns, Rows: rows, Notes: func() []string { return notes }}, nil
}

// unknownNames returns what the server remarks about labels, types of relationships and
// properties that the graph does not have: a query of such names finds nothing.
func unknownNames(list []driver.GqlStatusObject) (notes []string) {
	for _, o := range list {
		if !o.IsNotification() || o.Classification() != notifications.Unrecognized {
			continue
		}
		notes = append(notes, strings.TrimPrefix(o.StatusDescription(), "warn: "))
	}
	return notes
}

// refused explains errors of writes. It keeps the server's text for errors in a query,
// which shows the position.
func refused(db *bolt.DB, err error) error {
	var server *driver.Neo4jError
	switch {
	case bolt.HasCode(err, bolt.CodeAccessMode):
		return fmt.Errorf("%w with users' Cypher: %s", store.ErrReadOnly, bolt.Message(err))
	case errors.As(err, &server) && strings.HasPrefix(server.Code, "Neo.ClientError.Statement."):
		return errors.New(strings.TrimSpace(server.Msg))
	}
	return db.Explain(err)
}

// checkReach rejects what reaches beyond the graph: LOAD CSV, which reads files and
// addresses; procedures, some of which do the same, change settings or end connections
// of others; and TERMINATE TRANSACTIONS. Only the server can tell a clause from the
// same words in a text, a comment or a name: if the query contains such a word,
// perhaps as an escape (\u0063), this function requests its plan.
func checkReach(ctx context.Context, session driver.Session, query string, params map[string]any) error {
	lower := strings.ToLower(query)
	if !slices.ContainsFunc([]string{"csv", "call", "terminate", `\u`}, func(word string) bool { return strings.Contains(lower, word) }) {
		return nil
	}
	result, err := session.Run(ctx, "EXPLAIN "+query, params)
	if err != nil {
		return err
	}
	summary, err := result.Consume(ctx)
	if err != nil || summary.Plan() == nil {
		return err
	}
	return checkPlan(summary.Plan())
}

// procedures are the prefixes of the calls that users may make: to procedures that
// describe the graph or search in it.
var procedures = []string{"db.labels(", "db.relationshipTypes(", "db.propertyKeys(", "db.schema.", "db.info(", "db.ping(",
	"db.index.fulltext.query", "db.index.vector.query", "dbms.components("}

// checkPlan is checkReach for an operator of a plan and those below it. The database's
// name follows the name of an operator.
func checkPlan(p driver.Plan) error {
	details, _ := p.Arguments()["Details"].(string)
	switch operator, _, _ := strings.Cut(p.Operator(), "@"); {
	case operator == "LoadCSV":
		return errors.New("LOAD CSV is refused: it reads files and addresses that the server can see")
	case operator == "TerminateTransactions":
		return errors.New("TERMINATE TRANSACTIONS is refused: queries only read the graph")
	case operator == "ProcedureCall" && !slices.ContainsFunc(procedures, func(begin string) bool { return strings.HasPrefix(details, begin) }):
		name, _, _ := strings.Cut(details, "(")
		return fmt.Errorf("the procedure %s is refused: queries only read the graph", name)
	}
	for _, below := range p.Children() {
		if err := checkPlan(below); err != nil {
			return err
		}
	}
	return nil
}

// plain converts a value of the driver to a type of store.CypherAnswer.
func plain(v any) any {
	switch v := v.(type) {
	case nil, bool, int64, float64, string, []byte, time.Time:
		return v
	case []any:
		for i := range v {
			v[i] = plain(v[i])
		}
		return v
	case map[string]any:
		for k := range v {
			v[k] = plain(v[k])
		}
		return v
	case dbtype.Node:
		labels := column.Of(v.Labels, func(l string) any { return l })
		return map[string]any{"labels": labels, "properties": plain(v.Props)}
	case dbtype.Relationship:
		return map[string]any{"type": v.Type, "properties": plain(v.Props)}
	case dbtype.Path:
		var steps []any
		for i, n := range v.Nodes {
			if i > 0 {
				steps = append(steps, plain(v.Relationships[i-1]))
			}
			steps = append(steps, plain(n))
		}
		return steps
	}
	return fmt.Sprint(v)
}
