package views

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/store/duckdb/internal/driver"
)

// TestKinds compares the names of kinds in the view functions with those of package
// profile.
func TestKinds(t *testing.T) {
	i := slices.IndexFunc(Profiles, func(v driver.View) bool { return v.Name == "functions" })
	var want []string
	for k := profile.KindJava; !strings.HasPrefix(k.String(), "kind-"); k++ {
		want = append(want, fmt.Sprintf("'%s'", k))
	}
	_, list, _ := strings.Cut(Profiles[i].SQL, "[")
	list, _, _ = strings.Cut(list, "]")
	if got := strings.FieldsFunc(list, func(r rune) bool { return strings.ContainsRune(", \n\t", r) }); !slices.Equal(got, want) {
		t.Errorf("the view names %v, the kinds are %v", got, want)
	}
}
