package column_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/dendroprof/dendro/internal/column"
)

func TestColumn(t *testing.T) {
	names := []string{"main", "work", "idle"}
	if got := column.Of(names, strings.ToUpper); !slices.Equal(got, []string{"MAIN", "WORK", "IDLE"}) {
		t.Errorf("Of: %q", got)
	}
	if got := column.Of(nil, strings.ToUpper); got == nil || len(got) != 0 {
		t.Errorf("Of nothing: %#v", got)
	}
	if got := column.Pick(names, []int32{2, 0, 2}); !slices.Equal(got, []string{"idle", "main", "idle"}) {
		t.Errorf("Pick: %q", got)
	}
	if got := column.Places[int32](3); !slices.Equal(got, []int32{0, 1, 2}) {
		t.Errorf("Places: %d", got)
	}
}
