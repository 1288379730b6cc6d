package search

import (
	"cmp"
	"container/heap"
	"math"
)

// hit is a matching document.
type hit struct {
	doc   int
	score float64
}

// score adds how well every document matches the term to found.
func (ix *Index) score(term string, found scores) {
	list := ix.postings[term]
	if len(list) == 0 {
		return
	}
	rarity := math.Log(1 + float64(len(ix.docs))/float64(len(list)))
	for _, p := range list {
		found[p.doc] += rarity * ix.weight(p)
	}
}

// weight returns how much of a document a term makes up; more occurrences count
// less and less.
func (ix *Index) weight(p posting) float64 {
	n := float64(p.count)
	return n / (n + 0.5 + math.Sqrt(float64(ix.lengths[p.doc]))/8)
}

func (ix *Index) scoreAll(terms []string) scores {
	found := make(scores)
	for _, t := range terms {
		ix.score(t, found)
	}
	return found
}

// hitHeap has the worst hit on top.
type hitHeap []hit

func (h hitHeap) Len() int           { return len(h) }
func (h hitHeap) Less(i, j int) bool { return compareHits(h[i], h[j]) > 0 }
func (h hitHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }

// Push is for package heap.
func (h *hitHeap) Push(x any) { *h = append(*h, x.(hit)) }

// Pop is for package heap.
func (h *hitHeap) Pop() any {
	old := *h
	last := old[len(old)-1]
	*h = old[:len(old)-1]
	return last
}

// compareHits orders better hits first.
func compareHits(a, b hit) int {
	return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.doc, b.doc))
}

// top returns the n best hits, best first.
func top(found scores, n int) []hit {
	h := make(hitHeap, 0, n+1)
	for doc, s := range found {
		heap.Push(&h, hit{doc, s})
		if len(h) > n {
			heap.Pop(&h)
		}
	}
	best := make([]hit, len(h))
	for i := len(best) - 1; i >= 0; i-- {
		best[i] = heap.Pop(&h).(hit)
	}
	return best
}
