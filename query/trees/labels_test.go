package trees

import (
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
