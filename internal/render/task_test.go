package render

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/dendroprof/dendro/internal/query/tasks"
)

func TestTailOf(t *testing.T) {
	for _, tt := range []struct {
		text  string
		width int
		want  string
	}{{"a.b.C.d:1", 20, "a.b.C.d:1"}, {"/very/long/path/shop.py.load: 12", 20, "…/shop.py.load: 12"}, {"äöüäöüäöüäöü", 9, "…öüäöüäöü"}, {"abcdefghijklmnop", 2, "…ijklmnop"}} {
		got := tailOf(tt.text, tt.width)
		if utf8.RuneCountInString(got) > max(tt.width, 9) || !strings.HasSuffix(tt.text, strings.TrimPrefix(got, "…")) || tt.text == tt.want && got != tt.want {
			t.Errorf("%q in %d: %q", tt.text, tt.width, got)
		}
	}
}

// TestSpanNames wants names unchanged for programs, and harmless ones for people.
func TestSpanNames(t *testing.T) {
	result := &tasks.TaskSegmentsResult[tasks.TaskSpan]{Rows: []tasks.TaskSpan{{Segment: "s", Depth: 1, Operation: "a\x1bb"}}}
	for format, want := range map[string]string{"csv": ",a\x1bb", "text": `    a\x1bb`, "tsv": `a\x1bb`, "md": `a\x1bb`} {
		var out strings.Builder
		if err := TaskSpans(&Output{W: &out, Err: &out, Format: format}, result); err != nil || !strings.Contains(out.String(), want) {
			t.Errorf("%s: %q, %v", format, &out, err)
		}
	}
}
