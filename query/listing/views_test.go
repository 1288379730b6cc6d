package listing_test

import (
	"testing"

	"github.com/dendroprof/dendro/query/listing"
	"github.com/dendroprof/dendro/test/viewtest"
)

// TestViews: the lines of functions, as tables.
func TestViews(t *testing.T) {
	viewtest.Run(t, "testdata/lines.txt", viewtest.Print, map[string]viewtest.Question{"lines": viewtest.Query(listing.List)})
}
