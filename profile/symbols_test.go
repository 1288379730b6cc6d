package profile

import (
	"encoding/json"
	"os"
	"testing"
)

// TestPackage has the names that the web pages are tested with too: both split them in the same way.
func TestPackage(t *testing.T) {
	data, err := os.ReadFile("../web/test/testdata/packages.json")
	if err != nil {
		t.Fatal(err)
	}
	var names [][3]string // name, kind, package
	if err := json.Unmarshal(data, &names); err != nil {
		t.Fatal(err)
	}
	for _, x := range names {
		kind, err := ParseKind(x[1])
		if err != nil {
			t.Fatal(err)
		}
		if got := (&Function{Name: x[0], Kind: kind}).Package(); got != x[2] {
			t.Errorf("%s: %q, want %q", x[0], got, x[2])
		}
	}
}
