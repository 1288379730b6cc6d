package neo4j

import (
	"context"
	"fmt"
	"time"

	"github.com/neo4j/neo4j-go-driver/v5/neo4j/dbtype"

	"github.com/dendroprof/dendro/store"
)

var _ store.CypherSpeaker = (*Store)(nil)

// Cypher implements store.CypherSpeaker: it is Query with values that are plain.
func (s *Store) Cypher(ctx context.Context, query string, params map[string]any) (*store.CypherAnswer, error) {
	answer, err := s.Query(ctx, query, params)
	if err != nil {
		return nil, err
	}
	rows := func(yield func([]any, error) bool) {
		for row, err := range answer.Rows {
			for i := range row {
				row[i] = plain(row[i])
			}
			if !yield(row, err) {
				return
			}
		}
	}
	return &store.CypherAnswer{Columns: answer.Columns, Rows: rows}, nil
}

// plain turns a value of the driver's types into one of those of
// store.CypherAnswer.
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
		labels := make([]any, len(v.Labels))
		for i, l := range v.Labels {
			labels[i] = l
		}
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
