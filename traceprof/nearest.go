package traceprof

import (
	"cmp"
	"slices"
	"strings"
)

// mostNames is the maximum number of suggestions for a name that was not found.
const mostNames = 5

// nearest returns the most similar names, best first: names that differ only in case,
// slashes, the method before the path, or placeholders, then names that begin and end
// alike.
func nearest(want string, names []string) []string {
	type near struct {
		name  string
		score float64
	}
	var list []near
	for _, name := range names {
		if s := similarity(want, name); s > 0 && name != want {
			list = append(list, near{name, s})
		}
	}
	slices.SortFunc(list, func(a, b near) int {
		return cmp.Or(cmp.Compare(b.score, a.score), strings.Compare(a.name, b.name))
	})
	var best []string
	for _, n := range list[:min(len(list), mostNames)] {
		best = append(best, n.name)
	}
	return best
}

// similarity returns 3 if two names are equal by plain, 2 if one is a pattern of the other,
// otherwise the share of equal bytes at the start and end, or 0 if that is below 0.6.
func similarity(a, b string) float64 {
	a, b = plain(a), plain(b)
	if a == b {
		return 3
	}
	if patternOf(a, b) || patternOf(b, a) {
		return 2
	}
	longest := max(len(a), len(b))
	prefix := 0
	for prefix < min(len(a), len(b)) && a[prefix] == b[prefix] {
		prefix++
	}
	a, b = a[prefix:], b[prefix:]
	suffix := 0
	for suffix < min(len(a), len(b)) && a[len(a)-1-suffix] == b[len(b)-1-suffix] {
		suffix++
	}
	if alike := float64(prefix+suffix) / float64(longest); alike >= 0.6 {
		return alike
	}
	return 0
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
