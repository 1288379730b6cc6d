package traceprof

import (
	"slices"
	"strings"

	"github.com/dendroprof/dendro/internal/words"
)

// mostNames is the maximum number of suggestions for a name that was not found.
const mostNames = 5

// nearest returns the most similar names, best first: names that differ only in case,
// slashes, the method before the path, or placeholders, then those of words.Closest.
func nearest(want string, names []string) []string {
	short := plain(want)
	var same, patterns, others []string
	named := map[string][]string{} // by what plain leaves of others
	for _, name := range names {
		switch have := plain(name); {
		case name == want:
		case have == short:
			same = append(same, name)
		case patternOf(have, short) || patternOf(short, have):
			patterns = append(patterns, name)
		default:
			others, named[have] = append(others, have), append(named[have], name)
		}
	}
	slices.Sort(same)
	slices.Sort(patterns)
	best := slices.Concat(same, patterns)
	for _, have := range words.Closest(short, others, mostNames) {
		best = append(best, slices.Sorted(slices.Values(named[have]))...)
	}
	return best[:min(len(best), mostNames)]
}

// plain normalises a name: lower case, without a method before a path (`GET:/x`,
// `{GET}/x`, `GET /x`), slashes and spaces at the end.
func plain(name string) string {
	name = strings.ToLower(strings.TrimSpace(name))
	if i := strings.IndexByte(name, '/'); i > 0 && i <= len("{options} ") {
		method := strings.Trim(name[:i], "{}: ")
		switch method {
		case "get", "post", "put", "delete", "patch", "head", "options", "trace", "connect":
			name = name[i:]
		}
	}
	if short := strings.TrimRight(name, "/"); short != "" {
		return short
	}
	return name
}

// patternOf reports whether a path matches a pattern with placeholders (`{id}`, `:id`,
// `*`) that has the same number of parts.
func patternOf(pattern, path string) bool {
	want, have := strings.Split(pattern, "/"), strings.Split(path, "/")
	if len(want) != len(have) {
		return false
	}
	any := false
	for i, part := range want {
		open := part == "*" || strings.HasPrefix(part, ":") || strings.HasPrefix(part, "{") && strings.HasSuffix(part, "}")
		if !open && part != have[i] {
			return false
		}
		any = any || open
	}
	return any
}
