package normalize

import (
	"regexp"
	"strings"
)

// ThreadName returns a name that threads of different runs and workers of one pool share:
// ids are dropped and every run of digits becomes `*`, so `[pool-2-thread-17 tid=4711]` is
// `pool-*-thread-*`. A hexadecimal number after `0x` is one run. The result is empty if
// there is only an id.
func ThreadName(raw string) string {
	return threadNumber.ReplaceAllLiteralString(dropThreadID(strings.TrimSpace(raw)), "*")
}

var (
	threadNumber = regexp.MustCompile(`0x[\da-fA-F]+|\d+`)
	// threadIDs are the notations of py-spy (`thread (7): name`), async-profiler (`name tid=7`)
	// and perf (`comm-7/8`).
	threadIDs = []*regexp.Regexp{
		regexp.MustCompile(`(?s)^thread \(\d+\)(?:: )?(.*)$`),
		regexp.MustCompile(`(?s)^(?:(.*[^ ]) +| *)tid=\d+$`),
		regexp.MustCompile(`(?s)^(.+)-\d+/\d+$`),
	}
)

// dropThreadID drops the id of a thread, and brackets around both.
func dropThreadID(name string) string {
	if inner, ok := strings.CutPrefix(name, "["); ok && strings.HasSuffix(inner, "]") {
		name = inner[:len(inner)-1]
	}
	for _, form := range threadIDs {
		if m := form.FindStringSubmatch(name); m != nil {
			return m[1]
		}
	}
	return name
}
