package docs

import (
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// measured lists the sections whose tables repeat rows of the record beside the tests, and the
// sentences that repeat one of its figures: so that a new measurement cannot leave a page behind.
var measured = []struct{ page, section, record string }{
	{"docs/method/regression.md", "## Measured", "test/detection/RESULTS.md"},
	{"docs/method/changes.md", "## 5. Measured", "test/detection/RESULTS.md"},
	{"docs/method/gate.md", "### Sure suspects", "test/detection/RESULTS.md"},
	{"docs/method/releases.md", "## 3. How small a change is found", "test/detection/RESULTS.md"},
}

// TestFigures compares them.
func TestFigures(t *testing.T) {
	for _, m := range measured {
		record := read(t, m.record)
		_, text, found := strings.Cut(read(t, m.page), "\n"+m.section+"\n")
		if !found {
			t.Errorf("%s has no section %s", m.page, m.section)
			continue
		}
		text, _, _ = strings.Cut(text, "\n## ")
		rows := regexp.MustCompile(`(?m)^\|.*\d.*\|$`).FindAllString(text, -1)
		if len(rows) == 0 {
			t.Errorf("%s, %s: no rows", m.page, m.section)
		}
		for _, row := range rows {
			if !strings.Contains(record, row+"\n") {
				t.Errorf("%s, %s: not in %s:\n%s", m.page, m.section, m.record, row)
			}
		}
	}
	gate := regexp.MustCompile(`all regressions \| (\d+%) of \d+ \| (\d+%) of`).FindStringSubmatch(read(t, "test/detection/RESULTS.md"))
	ci := regexp.MustCompile(`failed the check for (\d+%) of\s+the planted regressions of 5% to 40%, two runs for (\d+%)`).FindStringSubmatch(read(t, "docs/start/ci.md"))
	if gate == nil || ci == nil || gate[1] != ci[1] || gate[2] != ci[2] {
		t.Errorf("docs/start/ci.md says %q, the record %q", ci, gate)
	}
}

// TestFiguresOfReadme compares the table of README.md with the large suite of `make bench`, as it is
// recorded: the readme rounds, by 6% at most.
func TestFiguresOfReadme(t *testing.T) {
	_, readme, _ := strings.Cut(read(t, "README.md"), "\n## How fast\n")
	_, record, _ := strings.Cut(read(t, "test/bench/RESULTS.md"), "#### large: import of text in memory")
	for _, figure := range []struct{ row, recorded string }{
		{`import, million call nodes a second \| ([\d.]+) \| [\d.]+ \| ([\d.]+)`,
			`A DuckDB \| 1000 \|(?:[^|]*\|){4} ([\d.]+)(?s:.*?)Dendro \| 1000 \|(?:[^|]*\|){4} ([\d.]+)`},
		{`bytes on disk per call node \| ([\d.]+) \| [\d.]+ \| ([\d.]+)`,
			`A DuckDB \| 1000 \|(?:[^|]*\|){7} ([\d.]+)(?s:.*?)Dendro \| 1000 \|(?:[^|]*\|){7} ([\d.]+)`},
		{`merged tree of all profiles \| ([\d.]+ m?s) \| – \| ([\d.]+ m?s)`, `q3 merged tree, all \| \d+ \| ([\d.]+) [^|]*\| ([\d.]+)`},
		{`of every function \| ([\d.]+ m?s) \| – \| ([\d.]+ m?s)`, `q7 P0\.\.P5, all \| \d+ \| ([\d.]+) [^|]*\| ([\d.]+)`},
		{`use more than 1% \| ([\d.]+ m?s) \| – \| ([\d.]+ m?s)`, `q4 function above 1% \| \d+ \| ([\d.]+) [^|]*\| ([\d.]+)`},
	} {
		said := regexp.MustCompile(figure.row).FindStringSubmatch(readme)
		was := regexp.MustCompile(figure.recorded).FindStringSubmatch(record)
		if said == nil || was == nil {
			t.Errorf("%s: %q, recorded %q", figure.row, said, was)
			continue
		}
		for i := range 2 {
			number, unit, _ := strings.Cut(said[i+1], " ")
			x, err := strconv.ParseFloat(number, 64)
			y, err2 := strconv.ParseFloat(was[i+1], 64)
			if unit == "s" {
				x *= 1000
			}
			if err != nil || err2 != nil || math.Abs(x-y) > 0.06*y {
				t.Errorf("README.md says %s, the record has %s: %s", said[i+1], was[i+1], figure.row)
			}
		}
	}
}
