package trees

import (
	"slices"
	"strings"
	"testing"

	"github.com/dendroprof/dendro/profile"
)

// TestLabelIn matches labels: exact, globs, any value, and numbers with and without their unit.
func TestLabelIn(t *testing.T) {
	set := []profile.Label{{Key: "handler", Text: "/b"}, {Key: "handler", Text: "/a"}, {Key: "bytes", Num: 1024, Unit: "bytes"}, {Key: "n"}}
	for text, want := range map[string]bool{
		"handler=/a": true, "handler=/*": true, "handler": true, "handler=/c": false, "handler=/a,/b": false,
		"bytes=1024 bytes": true, "bytes=1024": true, "bytes=102": false, "n=0": true, "tenant": false,
	} {
		if l := parseLabel(text); l.in(set) != want {
			t.Errorf("%s: %v", text, !want)
		}
	}
}

// TestFilterIsBounded: what makes a view walk through its tree once more has a maximum.
func TestFilterIsBounded(t *testing.T) {
	words := strings.Repeat("a,", maxWords)
	for want, f := range map[string]Filter{
		"101 transforms; the maximum is 100": {Transforms: slices.Repeat([]string{"merge-function:a"}, maxTransforms+1)},
		"101 words; the maximum is 100":      {SampleFilter: SampleFilter{Search: words}},
		"102 words; the maximum is 100":      {Transforms: []string{"filter:marker-search:" + words}},
		"":                                   {Transforms: slices.Repeat([]string{"merge-function:a,b"}, maxTransforms)},
	} {
		if err := f.Validate(); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
