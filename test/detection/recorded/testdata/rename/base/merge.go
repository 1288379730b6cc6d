package jobs

import "strconv"

// Merge writes the jobs of several lists, each in the order of their names, in that order.
// The priority of a job is then the number of its list.
func Merge(lists [][]Job) []byte {
	h := NewHeap(Less)
	at := make([]int, len(lists))
	add := func(list int) {
		if at[list] == len(lists[list]) {
			return
		}
		j := lists[list][at[list]]
		j.Priority = list
		at[list]++
		h.push(&j)
	}
	for i := range lists {
		add(i)
	}
	var text []byte
	for h.Len() > 0 {
		j := h.Next()
		text = write(text, &j)
		add(j.Priority)
	}
	return text
}

// write appends a line about a job.
func write(text []byte, j *Job) []byte {
	text = strconv.AppendQuote(text, j.Name)
	for _, n := range j.Payload {
		text = append(text, ' ')
		text = strconv.AppendInt(text, n, 10)
	}
	return append(text, '\n')
}
