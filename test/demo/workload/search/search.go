package search

import (
	"encoding/json"
	"fmt"
	"html"
	"slices"
	"strings"

	"github.com/dendroprof/dendro/test/demo/workload/catalog"
	"github.com/dendroprof/dendro/test/demo/workload/wire"
)

// Result is one product in an answer.
type Result struct {
	SKU     string  `json:"sku"`
	Name    string  `json:"name"`
	Where   string  `json:"where"`
	Score   float64 `json:"score"`
	Snippet string  `json:"snippet"`
}

// Answer is what a query found.
type Answer struct {
	Query   string         `json:"query"`
	Found   int            `json:"found"`
	Results []Result       `json:"results"`
	Facets  map[string]int `json:"facets"`
}

// Search answers a query with at most limit results, packed as JSON.
func (ix *Index) Search(query string, limit int) (*wire.Response, error) {
	tree, err := parse(query)
	if err != nil {
		return nil, err
	}
	found := tree.eval(ix)
	answer := Answer{Query: query, Found: len(found), Facets: ix.facets(found)}
	words := tokens(query)
	for _, h := range top(found, limit) {
		p := ix.docs[h.doc]
		answer.Results = append(answer.Results, Result{
			SKU:     p.SKU,
			Name:    p.Name,
			Where:   p.Category.Breadcrumb(),
			Score:   h.score,
			Snippet: snippet(p.Text, words),
		})
	}
	body, err := json.Marshal(answer)
	if err != nil {
		return nil, fmt.Errorf("query %q: %w", query, err)
	}
	return wire.Pack(body)
}

// facets counts the documents found at and below every category.
func (ix *Index) facets(found scores) map[string]int {
	facets := make(map[string]int)
	for doc := range found {
		countUp(facets, ix.docs[doc].Category)
	}
	return facets
}

func countUp(facets map[string]int, c *catalog.Category) {
	if c == nil {
		return
	}
	facets[c.Name]++
	countUp(facets, c.Parent)
}

// snippet returns the text with the words of the query marked.
func snippet(text string, words []string) string {
	var b strings.Builder
	for i, w := range strings.Fields(text) {
		if i > 0 {
			b.WriteByte(' ')
		}
		if slices.Contains(words, stem(w)) {
			b.WriteString("<b>" + html.EscapeString(w) + "</b>")
			continue
		}
		b.WriteString(html.EscapeString(w))
	}
	return b.String()
}
