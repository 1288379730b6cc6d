package history

import (
	"strings"

	"github.com/dendroprof/dendro/store"
)

// SideAttribute is the attribute of runs that were recorded in turns with those of another commit:
// the name of the pair, and "-base" or "-head".
const SideAttribute = "side"

// PairOf returns the pair that a run was recorded in, and whether it is of its head; empty: none.
func PairOf(p *store.Profile) (pair string, head bool) {
	side := p.Run.Attributes[SideAttribute]
	if pair, head = strings.CutSuffix(side, "-head"); head && pair != "" {
		return pair, true
	}
	if pair, base := strings.CutSuffix(side, "-base"); base {
		return pair, false
	}
	return "", false
}
