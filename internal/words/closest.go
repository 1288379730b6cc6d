package words

import (
	"cmp"
	"slices"
	"strings"
)

// Somebody writes a name of some length, and only so many characters wrong.
const (
	maxWritten = 500
	maxWrong   = 10
)

// Closest returns at most n of the candidates that somebody may have meant by a text, the
// best first: names that begin with it, that contain it, or whose last part is nearly it.
// Case is ignored.
func Closest(text string, candidates []string, n int) []string {
	type scored struct {
		name string
		cost int
	}
	wanted := strings.ToLower(text)
	limit := min(max(1, len(wanted)/3), maxWrong)
	if len(wanted) > maxWritten {
		return nil
	}
	var list []scored
	for _, name := range candidates {
		have := strings.ToLower(name)
		cost := distance(wanted, have, limit)
		if last := have[strings.LastIndexAny(have, "./:")+1:]; cost > limit && last != have {
			cost = distance(wanted, last, limit) + 1
		}
		switch {
		case len(wanted) >= 3 && strings.HasPrefix(have, wanted): // broken off
			cost = min(cost, 1)
		case cost <= limit:
		case len(wanted) >= 3 && strings.Contains(have, wanted):
			cost = limit + 2 + len(have) - len(wanted)
		default:
			continue
		}
		list = append(list, scored{name, cost})
	}
	slices.SortFunc(list, func(a, b scored) int { return cmp.Or(cmp.Compare(a.cost, b.cost), cmp.Compare(a.name, b.name)) })
	var names []string
	for _, s := range list {
		if len(names) < n && !slices.Contains(names, s.name) {
			names = append(names, s.name)
		}
	}
	return names
}

// distance returns the number of insertions, deletions, replacements and exchanges of
// neighbours that turn a into b, bytewise, or more than limit if it is more.
func distance(a, b string, limit int) int {
	if len(a)-len(b) > limit || len(b)-len(a) > limit {
		return limit + 1
	}
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before, last, row = last, row, before
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			row[j+1] = min(last[j]+cost, last[j+1]+1, row[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		if slices.Min(row) > limit+1 {
			return limit + 1
		}
	}
	return row[len(b)]
}

// DidYouMean ends a message about an unknown name; empty without a candidate that is close.
func DidYouMean(text string, candidates []string) string {
	names := CleanAll(Closest(text, candidates, 3))
	if len(names) == 0 {
		return ""
	}
	return "; did you mean " + strings.Join(names, ", ") + "?"
}
