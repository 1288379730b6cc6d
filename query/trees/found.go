package trees

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/internal/words"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/query"
	"github.com/dendroprof/dendro/store"
)

// checkFound refuses a filter that matches nothing in any of the views: a word of a search,
// a name in a transform, a kind.
func (v *viewer) checkFound(shown []*calltree.Shown) error {
	for name, n := range v.unknown {
		if n == len(shown) {
			return fmt.Errorf("%w: --transform: no function, module or category is named %s%s", store.ErrNothing, words.Clean(name), didYouMean(name, shown))
		}
	}
	if v.Search == "" && v.Kind == "" {
		return nil
	}
	nodes := 0
	for _, s := range shown {
		if !emptyTree(s.Tree) || s.EmptyRange { // which a note says
			return nil
		}
		nodes += s.Len()
	}
	switch {
	case nodes == 0 && (v.Kind == "" || len(v.Transforms) > 0): // nothing to search in, or dropped by a transform
		return nil
	case nodes == 0:
		return fmt.Errorf("%w: no frame is of kind %s", store.ErrNothing, v.Kind)
	}
	for word := range strings.SplitSeq(v.Search, ",") {
		if word = strings.TrimSpace(word); word != "" && !anyMatches(shown, strings.ToLower(word)) {
			return fmt.Errorf("%w: --search: no function, file or module contains %s%s", store.ErrNothing, words.Clean(word),
				didYouMean(word, shown))
		}
	}
	if v.Search == "" {
		return nil
	}
	return fmt.Errorf("%w: --search: no stack matches %s", store.ErrNothing, words.Clean(v.Search))
}

// emptyTree reports whether nothing is counted in a tree.
func emptyTree(t *calltree.Tree) bool {
	return !slices.ContainsFunc(t.Self, func(self int64) bool { return self != 0 })
}

// anyMatches reports whether a lower-case word is part of a function, file or module.
func anyMatches(shown []*calltree.Shown, word string) bool {
	for _, s := range shown {
		for i := range s.Functions {
			f := &s.Functions[i]
			for _, text := range []string{f.Name, f.File, f.Module} {
				if strings.Contains(strings.ToLower(text), word) {
					return true
				}
			}
		}
	}
	return false
}

// didYouMean lists the functions whose names are close to a text.
func didYouMean(text string, shown []*calltree.Shown) string {
	var all []profile.Function
	for _, s := range shown {
		all = append(all, s.Functions...)
	}
	return words.DidYouMean(text, query.WithShortNames(all))
}
