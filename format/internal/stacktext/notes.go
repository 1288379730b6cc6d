package stacktext

import (
	"fmt"

	"github.com/dendroprof/dendro/profile"
)

// Notes counts what a reader noticed, by kind, so that a text full of oddities
// gives as many warnings as there are kinds. The zero value is empty.
type Notes struct {
	kinds []note
}

type note struct {
	one, many string
	first     int
	count     int
}

// Add counts one more of a kind, in line number line (0: nowhere). One is the
// warning for a single case; many, for several, begins behind their number.
func (n *Notes) Add(one, many string, line int) {
	for i := range n.kinds {
		if n.kinds[i].one == one {
			n.kinds[i].count++
			return
		}
	}
	n.kinds = append(n.kinds, note{one, many, line, 1})
}

// Warnings appends a warning per kind, at the place of the first of its cases.
func (n *Notes) Warnings(to []profile.Warning) []profile.Warning {
	for _, k := range n.kinds {
		w := profile.Warning{Line: k.first, Offset: -1, Message: k.one}
		if k.count > 1 {
			w.Message = fmt.Sprintf("%d %s; this is the first", k.count, k.many)
		}
		to = append(to, w)
	}
	return to
}
