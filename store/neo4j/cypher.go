package neo4j

import (
	"context"

	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/store/neo4j/internal/cypher"
)

var _ store.CypherSpeaker = (*Store)(nil)

// Cypher implements store.CypherSpeaker.
func (s *Store) Cypher(ctx context.Context, query string, params map[string]any) (*store.CypherAnswer, error) {
	return cypher.Run(ctx, s.db, query, params)
}
