package jobs

import (
	"fmt"
	"math/rand"
	"slices"
	"strings"
	"testing"
)

var words = strings.Fields("archive backup build clean deploy export import index lint mirror notify publish report restore scan sync")

// some returns n jobs without any order.
func some(n int) []Job {
	r := rand.New(rand.NewSource(1))
	list := make([]Job, n)
	for i := range list {
		list[i] = Job{Name: fmt.Sprintf("%s-%s-%04d", words[r.Intn(len(words))], words[r.Intn(len(words))], r.Intn(10000)), Priority: r.Intn(1000)}
		for k := range list[i].Payload {
			list[i].Payload[k] = r.Int63n(1e6)
		}
	}
	return list
}

// BenchmarkFill puts jobs into a heap by name.
func BenchmarkFill(b *testing.B) {
	list, h := some(2000), NewHeap(Less)
	for b.Loop() {
		h.Clear()
		h.Add(list)
	}
}

// BenchmarkMerge merges lists by name.
func BenchmarkMerge(b *testing.B) {
	lists := make([][]Job, 16)
	for i, j := range some(2000) {
		lists[i%len(lists)] = append(lists[i%len(lists)], j)
	}
	for _, list := range lists {
		slices.SortFunc(list, func(a, b Job) int { return strings.Compare(a.Name, b.Name) })
	}
	for b.Loop() {
		Merge(lists)
	}
}

// BenchmarkUrgent puts jobs into a heap by priority, and takes all.
func BenchmarkUrgent(b *testing.B) {
	list, h := some(2000), NewHeap(Urgent)
	for b.Loop() {
		h.Add(list)
		for h.Len() > 0 {
			h.Next()
		}
	}
}

// BenchmarkBacklog puts jobs into a heap that come in the order of their priority.
func BenchmarkBacklog(b *testing.B) {
	list, h := some(2000), NewHeap(Urgent)
	slices.SortFunc(list, func(a, b Job) int { return b.Priority - a.Priority })
	for b.Loop() {
		h.Clear()
		h.Add(list)
	}
}
