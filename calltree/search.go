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

// search finds words in functions and stacks. The first result says which
// functions any word matches, the second which stacks every word matches in some
// frame. Both are nil when there are no words.
func (s *stacks) search(words []string) (functions functionSet, found []bool) {
	for ; len(words) > 0; words = words[min(8, len(words)):] {
		some := words[:min(8, len(words))]
		if functions == nil {
			functions = make(functionSet, len(s.functions))
		}
		mask := make([]uint8, len(s.functions)) // a bit per word
		for w, word := range some {
			for fn, ok := range matching(s.functions, word) {
				if ok {
					mask[fn] |= 1 << w
					functions[fn] = true
				}
			}
		}
		found = s.withAll(mask, 1<<len(some)-1, found)
	}
	return functions, found
}

// withAll returns which stacks have, all frames together, every bit of all. Of
// stacks that among leaves out nothing is said.
func (s *stacks) withAll(mask []uint8, all uint8, among []bool) []bool {
	has := make([]uint8, s.len())
	found := make([]bool, s.len())
	for st, p := range s.parent {
		if p == gone {
			continue
		}
		bits := mask[s.fn(st)]
		if p >= 0 {
			bits |= has[p]
		}
		has[st] = bits
		found[st] = bits == all && (among == nil || among[st])
	}
	return found
}

// containing returns which stacks have one of the functions in some frame.
func (s *stacks) containing(functions functionSet) []bool {
	mask := make([]uint8, len(functions))
	for fn, in := range functions {
		if in {
			mask[fn] = 1
		}
	}
	return s.withAll(mask, 1, nil)
}
