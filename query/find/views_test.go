package find_test

import (
	"testing"

	"github.com/dendroprof/dendro/query/find"
	"github.com/dendroprof/dendro/test/viewtest"
)

// TestViews: where patterns are found, as tables.
func TestViews(t *testing.T) {
	viewtest.Run(t, "testdata/find.txt", viewtest.Print, map[string]viewtest.Question{"find": viewtest.View(find.View)})
}
