package calltree

import (
	"strings"

	"github.com/dendroprof/dendro/calltree/internal/ranges"
	"github.com/dendroprof/dendro/profile"
)

// searchWords splits a search at commas into lower-case words without surrounding
// blanks; it skips empty ones.
func searchWords(search string) []string {
	var words []string
	for w := range strings.SplitSeq(search, ",") {
		if w = strings.TrimSpace(w); w != "" {
			words = append(words, strings.ToLower(w))
		}
	}
	return words
}

// matching returns, of every function, a bit for each of up to eight lower-case words: whether it
// is part of the name, file or module, ignoring case.
func matching(functions []profile.Function, words []string) []uint8 {
	mask := make([]uint8, len(functions))
	for i := range functions {
		f := &functions[i]
		for _, text := range [...]string{f.Name, f.File, f.Module} {
			text = strings.ToLower(text)
			for w, word := range words {
				if strings.Contains(text, word) {
					mask[i] |= 1 << w
				}
			}
		}
	}
	return mask
}

// search returns the functions that match any word, and the nodes on whose path from
// the root every word matches some frame. Both are nil without words.
//
// It searches nodes, because only names matter, there are fewer nodes than stacks, and
// their order makes it fast.
func (t *Table) search(words []string) (functions functionSet, found []bool) {
	for ; len(words) > 0; words = words[min(8, len(words)):] {
		some := words[:min(8, len(words))]
		if functions == nil {
			functions = make(functionSet, len(t.Functions))
		}
		mask := matching(t.Functions, some)
		for fn, of := range mask {
			functions[fn] = functions[fn] || of != 0
		}
		found = t.withAll(mask, 1<<len(some)-1, found)
	}
	return functions, found
}

// withAll returns which nodes have every bit of all on their path from the root. It
// skips nodes that are not among the given ones (nil: all).
func (t *Table) withAll(mask []uint8, all uint8, among []bool) []bool {
	has := make([]uint8, t.Len())
	found := make([]bool, t.Len())
	ranges.Each(ranges.Parts(t.Len()), func(_ int, p ranges.Part) {
		if p.Lo == p.Hi {
			return
		}
		lo := int32(p.Lo)
		above := t.ancestors(lo) // callers outside of the part
		bits := make([]uint8, len(above)+1)
		for d, n := range above {
			bits[d+1] = bits[d] | mask[t.Func[n]]
		}
		for n := lo; n < int32(p.Hi); n++ {
			b := mask[t.Func[n]]
			if up := t.Parent[n]; up >= lo {
				b |= has[up]
			} else {
				b |= bits[t.Depth[n]]
			}
			has[n] = b
			found[n] = b == all && (among == nil || among[n])
		}
	})
	return found
}

// containing returns which stacks have one of the functions in some frame.
func (s *stacks) containing(functions functionSet) []bool {
	found := make([]bool, s.len())
	for st, p := range s.parent {
		if p != gone {
			found[st] = functions[s.fn(st)] || p >= 0 && found[p]
		}
	}
	return found
}
