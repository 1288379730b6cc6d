package profiles

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/store/duckdb/internal/driver"
)

// The columns that are written have the names and the order of the table's.
func TestProfileColumns(t *testing.T) {
	var want, got []string
	err := open(t).file.With(func(c *driver.Conn) error {
		return c.Query(t.Context(), "SELECT column_name FROM duckdb_columns() WHERE table_name = 'profile' ORDER BY column_index", nil, func(ch driver.Chunk) error {
			want = append(want, ch.Texts(0)...)
			return nil
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, column := range profileColumns {
		got = append(got, column.name)
	}
	if !slices.Equal(got, want) {
		t.Errorf("written as %v, the table has %v", got, want)
	}
}

// TestKinds compares the names of kinds in the view functions with those of package
// profile.
func TestKinds(t *testing.T) {
	i := slices.IndexFunc(Views, func(v driver.View) bool { return v.Name == "functions" })
	var want []string
	for k := profile.KindJava; !strings.HasPrefix(k.String(), "kind-"); k++ {
		want = append(want, fmt.Sprintf("'%s'", k))
	}
	_, list, _ := strings.Cut(Views[i].SQL, "[")
	list, _, _ = strings.Cut(list, "]")
	if got := strings.FieldsFunc(list, func(r rune) bool { return strings.ContainsRune(", \n\t", r) }); !slices.Equal(got, want) {
		t.Errorf("the view names %v, the kinds are %v", got, want)
	}
}
