package neo4j

import (
	"cmp"
	"context"

	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/store/neo4j/internal/bolt"
)

var _ store.Accepter = (*Store)(nil)

// Accept implements store.Accepter.
func (s *Store) Accept(ctx context.Context, list ...store.Acceptance) error {
	list, err := store.NormalAcceptances(list)
	if err != nil {
		return err
	}
	var rows []any
	for _, a := range list {
		n := bolt.Props{"at": a.At}
		n.SetText("finding", a.Finding)
		bolt.Set(n, "benchmark", a.Benchmark)
		bolt.Set(n, "by", a.By)
		bolt.Set(n, "upTo", a.UpTo)
		bolt.Set(n, "reason", a.Reason)
		if !a.Until.IsZero() {
			n["until"] = a.Until
		}
		rows = append(rows, map[string]any(n))
	}
	return s.changeAccepted(ctx, "UNWIND $rows AS row MERGE (n:Accepted {finding: row.finding}) SET n = row", map[string]any{"rows": rows})
}

// Withdraw implements store.Accepter.
func (s *Store) Withdraw(ctx context.Context, findings ...string) error {
	var names []any
	for _, finding := range findings {
		names = append(names, bolt.StoredName(finding))
	}
	return s.changeAccepted(ctx, "MATCH (n:Accepted) WHERE n.finding IN $findings DELETE n", map[string]any{"findings": names})
}

func (s *Store) changeAccepted(ctx context.Context, statement string, params map[string]any) error {
	if err := cmp.Or(ctx.Err(), s.writable()); err != nil {
		return err
	}
	return s.db.Explain(bolt.Again(ctx, func() error {
		return s.db.Write(ctx, "accepted changes", func(t *bolt.Tx) error { return t.Do(statement, params) })
	}))
}

// Accepted implements store.Accepter.
func (s *Store) Accepted(ctx context.Context) (list []store.Acceptance, err error) {
	err = s.db.Read(ctx, func(t *bolt.Tx) error {
		list = nil
		return t.Each("MATCH (n:Accepted) RETURN n {.*}", nil, func(r bolt.Row) error {
			n := r.Props(0)
			upTo, _ := n["upTo"].(float64)
			list = append(list, store.Acceptance{Finding: n.WholeText("finding"), Benchmark: n.Text("benchmark"), By: n.Text("by"),
				At: n.Time("at"), Until: n.Time("until"),
				UpTo: upTo, Reason: n.Text("reason")})
			return nil
		})
	})
	store.SortAcceptances(list)
	return list, err
}
