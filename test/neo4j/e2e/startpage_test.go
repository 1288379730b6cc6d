package e2e

import (
	"strings"
	"testing"

	"github.com/dendroprof/dendro/test/neo4j/server"
	"github.com/dendroprof/dendro/test/session"
)

// TestStartPage runs the commands of the researcher's page, with those for Neo4j.
func TestStartPage(t *testing.T) {
	place(t, "")
	session.Run(t, "../../../docs/start/research.md", session.Options{
		Tags:    []string{"neo4j"},
		Replace: strings.NewReplacer("localhost:7687", graph.Address(), "choose-a-password", server.Password),
	})
}
