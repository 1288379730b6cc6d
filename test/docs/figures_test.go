package docs

import (
	"regexp"
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
