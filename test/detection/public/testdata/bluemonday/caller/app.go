package app

import (
	"fmt"
	"strings"

	"github.com/microcosm-cc/bluemonday"
)

var policy = bluemonday.UGCPolicy()

func Comments() string {
	var b strings.Builder
	for i := range 60 {
		fmt.Fprintf(&b, "<p>Some <b>bold</b> text, <a href='https://example.com/%d' onclick=x>a link</a><script>alert(1)</script> <img src='/a.png' alt=x></p>\n", i)
	}
	return b.String()
}

// Safe removes what a comment must not have.
func Safe(comments string) string { return policy.Sanitize(comments) }
