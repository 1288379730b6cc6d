package app

import "fmt"

func Words() []string {
	var list []string
	for i := 0; i < 4000; i++ {
		list = append(list, fmt.Sprint("word-", i%1700))
	}
	return list
}

// Count counts words and returns the most frequent.
func Count(words []string) string {
	counts := map[string]int{}
	for _, w := range words {
		counts[w]++
	}
	best := ""
	for w, n := range counts {
		if n > counts[best] || n == counts[best] && w < best {
			best = w
		}
	}
	return best
}
