package neo4j

import (
	"context"

	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/store/neo4j/internal/bolt"
)

// RawNames implements store.Reader.
func (s *Store) RawNames(ctx context.Context, group string, names []string) (found map[string]string, err error) {
	asked := map[string]string{} // by stored name
	stored := make([]string, len(names))
	for i, name := range names {
		stored[i] = bolt.StoredName(name)
		asked[stored[i]] = name
	}
	function := s.model.functions()
	err = s.db.Read(ctx, func(t *bolt.Tx) error {
		found = map[string]string{}
		// As byID: the server must not read the index once for each name.
		return t.Each(`UNWIND $names AS name MATCH (f:`+function+` {name: name})-[:WAS]->(n:RawName) USING INDEX SEEK f:`+function+`(name)
			WITH name, n ORDER BY n.group <> $group, n.name
			WITH name, collect(n.name)[0] AS raw WHERE raw IS NOT NULL
			RETURN collect(name), collect(raw)`, map[string]any{"names": stored, "group": group}, func(r bolt.Row) error {
			raw := r.Texts(1)
			for i, name := range r.Texts(0) {
				found[asked[name]] = raw[i]
			}
			return nil
		})
	})
	return found, err
}

var _ store.Reader = (*Store)(nil)
