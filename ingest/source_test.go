package ingest

import "testing"

// TestUnite lets a manifest and a directory name the same files.
func TestUnite(t *testing.T) {
	label := func(benchmark, group string) Label { return Label{Benchmark: benchmark, Group: group} }
	found := []Source{{Name: "d/a.folded", Label: label("", "side")}, {Name: "d/b.folded"}}
	listed := []Source{{Name: "d/./a.folded", Label: label("A", "")}, {Name: "e/c.folded", Label: label("C", ""), Named: true}}
	got := Unite(found, listed)
	if len(got) != 3 || got[0].Name != "d/a.folded" || got[0].Label.Benchmark != "A" || got[0].Label.Group != "side" || !got[0].Named ||
		got[1].Label.Benchmark != "" || got[1].Named || got[2].Label.Benchmark != "C" {
		t.Errorf("%+v", got)
	}
}
