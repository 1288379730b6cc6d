package search

import (
	"maps"
	"slices"
	"sort"
	"strings"

	"github.com/dendroprof/dendro/test/demo/workload/catalog"
)

// posting says how often a term occurs in a document.
type posting struct {
	doc   int
	count int
}

// Index is an inverted index over products.
type Index struct {
	docs     []*catalog.Product
	lengths  []int
	postings map[string][]posting
	terms    []string // sorted
}

// NewIndex indexes the products.
func NewIndex(products []*catalog.Product) *Index {
	ix := &Index{postings: make(map[string][]posting)}
	for _, p := range products {
		ix.add(p)
	}
	ix.terms = slices.Sorted(maps.Keys(ix.postings))
	return ix
}

func (ix *Index) add(p *catalog.Product) {
	counts := make(map[string]int)
	length := 0
	for _, field := range []string{p.Name, p.Text, strings.Join(p.Tags, " ")} {
		for _, t := range tokens(field) {
			counts[t]++
			length++
		}
	}
	doc := len(ix.docs)
	ix.docs = append(ix.docs, p)
	ix.lengths = append(ix.lengths, length)
	for t, n := range counts {
		ix.postings[t] = append(ix.postings[t], posting{doc: doc, count: n})
	}
}

// expand returns the indexed terms that begin with the prefix.
func (ix *Index) expand(prefix string) []string {
	from := sort.SearchStrings(ix.terms, prefix)
	to := from
	for to < len(ix.terms) && strings.HasPrefix(ix.terms[to], prefix) {
		to++
	}
	return ix.terms[from:to]
}

// similar returns the indexed terms within one edit of a term.
func (ix *Index) similar(term string) []string {
	var found []string
	for _, t := range ix.terms {
		if editDistance(t, term, 1) <= 1 {
			found = append(found, t)
		}
	}
	return found
}

// editDistance returns how many letters differ between two words; a distance
// above the limit is reported as some number above the limit.
func editDistance(a, b string, limit int) int {
	if abs(len(a)-len(b)) > limit {
		return limit + 1
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, diagonal+1)
		}
	}
	return row[len(b)]
}

func abs(n int) int { return max(n, -n) }
