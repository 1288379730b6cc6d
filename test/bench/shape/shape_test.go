package shape_test

import (
	"math"
	"strings"
	"testing"

	"github.com/dendroprof/dendro/test/bench/shape"
)

// Three runs by hand. Names end in a digit that changes from run to run.
var runs = []string{
	"a;b1 2\na;b1;c 1\n",
	"a;b2 5\na;d 1\n",
	"a;b2 1\na;d 1\nx 1\n",
}

func TestFigures(t *testing.T) {
	m := shape.Meter{Names: func(s string) string { return strings.TrimRight(s, "12") }}
	for _, text := range runs {
		if err := m.Add([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	f := m.Figures()
	for _, tc := range []struct {
		what      string
		got, want float64
	}{
		{"profiles", float64(f.Profiles), 3},
		{"lines", f.Lines, 7. / 3},
		{"samples", f.Samples, 12. / 3},
		{"bytes", f.Bytes, float64(len(runs[0])+len(runs[1])+len(runs[2])) / 3},
		{"depth", f.Depth, 14. / 7},
		{"max depth", float64(f.MaxDepth), 3},
		{"nodes", f.Raw.Nodes, (3. + 3 + 4) / 3},
		{"raw paths: a, b1, c, b2, d, x", float64(f.Raw.Distinct), 6},
		{"paths: a, b, c, d, x", float64(f.Norm.Distinct), 5},
		{"functions", float64(f.Norm.DistinctFuncs), 5},
		{"functions per profile", f.Norm.Functions, (3. + 3 + 4) / 3},
		{"self", f.Norm.Self, 7. / 10},
		{"raw second: a of a, b2, d", f.Raw.Second, 1. / 3},
		{"second: a, b of a, b, d", f.Norm.Second, 2. / 3},
		{"last: second, and a, b, d of a, b, d, x", f.Norm.Last, (2./3 + 3./4) / 2},
		{"nodes per path", f.Norm.NodesPerDistinct, 10. / 5},
	} {
		if math.Abs(tc.got-tc.want) > 1e-9 {
			t.Errorf("%s: %v, want %v", tc.what, tc.got, tc.want)
		}
	}
	if row := f.Row("three"); strings.Count(row, "|") != strings.Count(strings.Split(shape.Header, "\n")[0], "|") {
		t.Errorf("row and header have other columns: %s", row)
	}
}

func TestBadLines(t *testing.T) {
	for _, text := range []string{"a;b\n", "a;b x\n"} {
		var m shape.Meter
		if err := m.Add([]byte(text)); err == nil {
			t.Errorf("%q was measured", text)
		}
	}
}
