package calltree

import (
	"strings"

	"github.com/dendroprof/dendro/profile"
)

// searchWords splits a search into its words: between commas, without the blanks
// around them, empty ones left out.
func searchWords(search string) []string {
	var words []string
	for _, w := range strings.Split(search, ",") {
		if w = strings.TrimSpace(w); w != "" {
			words = append(words, strings.ToLower(w))
		}
	}
	return words
}

// matching returns which functions a lower-case word matches: it is a part of
// their name, file or module, in upper or lower case.
func matching(functions []profile.Function, word string) []bool {
	match := make([]bool, len(functions))
	for i := range functions {
		f := &functions[i]
		match[i] = contains(f.Name, word) || contains(f.File, word) || contains(f.Module, word)
	}
	return match
}

func contains(text, word string) bool { return strings.Contains(strings.ToLower(text), word) }

// search finds words in functions and call nodes. The first result says which
// functions any word matches, the second which nodes every word matches in some
// frame from the root on. Both are nil when there are no words.
//
// Names are all that a search asks for, so it asks nodes, of which there are fewer
// than stacks and which lie in the order that makes this fast.
func (t *Table) search(words []string) (functions functionSet, found []bool) {
	for ; len(words) > 0; words = words[min(8, len(words)):] {
		some := words[:min(8, len(words))]
		if functions == nil {
			functions = make(functionSet, len(t.Functions))
		}
		mask := make([]uint8, len(t.Functions)) // a bit per word
		for w, word := range some {
			for fn, ok := range matching(t.Functions, word) {
				if ok {
					mask[fn] |= 1 << w
					functions[fn] = true
				}
			}
		}
		found = t.withAll(mask, 1<<len(some)-1, found)
	}
	return functions, found
}

// withAll returns which nodes have, from the root on, every bit of all. Of nodes
// that among leaves out nothing is said.
func (t *Table) withAll(mask []uint8, all uint8, among []bool) []bool {
	has := make([]uint8, t.Len())
	found := make([]bool, t.Len())
	each(parts(t.Len()), func(_ int, p part) {
		if p.lo == p.hi {
			return
		}
		lo := int32(p.lo)
		above := t.ancestors(lo) // of all nodes of the part whose parent is before it
		bits := make([]uint8, len(above)+1)
		for d, n := range above {
			bits[d+1] = bits[d] | mask[t.Func[n]]
		}
		for n := lo; n < int32(p.hi); n++ {
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
