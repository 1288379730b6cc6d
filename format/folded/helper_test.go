package folded

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/dendroprof/dendro/profile"
)

// sortedLines returns the lines of a text in byte order.
func sortedLines(text string) string {
	lines := strings.SplitAfter(text, "\n")
	slices.Sort(lines)
	return strings.Join(lines, "")
}

// addedLines adds the whole counts of lines with equal stacks, in byte order.
// Recordings have such lines: stacks that differ in what text does not show.
func addedLines(t testing.TB, text string) string {
	t.Helper()
	counts := map[string]int64{}
	for line := range strings.Lines(text) {
		i := strings.LastIndexByte(line, ' ')
		n, err := strconv.ParseInt(strings.TrimSpace(line[i+1:]), 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		counts[line[:i]] += n
	}
	var b strings.Builder
	for _, stack := range slices.Sorted(maps.Keys(counts)) {
		fmt.Fprintf(&b, "%s %d\n", stack, counts[stack])
	}
	return b.String()
}

// added returns a profile in which samples of equal thread and stack are one,
// zeros are gone and the scale is as small as can be: what remains of p after
// writing and reading.
func added(p *profile.Profile) *profile.Profile {
	type place struct {
		thread profile.ThreadID
		stack  profile.StackID
	}
	sum := *p
	sum.Tables = nil
	shrinks := true
	for i := range p.Tables {
		t := &p.Tables[i]
		rows := map[place]int64{}
		var order []place
		for n, v := range t.Value {
			at := place{stack: t.Stack[n]}
			if t.Thread != nil {
				at.thread = t.Thread[n]
			}
			if _, ok := rows[at]; !ok {
				order = append(order, at)
			}
			rows[at] += v
		}
		s := profile.Samples{Type: t.Type}
		for _, at := range order {
			s.Add(at.stack, rows[at])
			s.Thread = append(s.Thread, at.thread)
		}
		sum.Tables = append(sum.Tables, s)
	}
	for shrinks && sum.Tables[0].Type.Scale > 0 {
		for i := range sum.Tables {
			for _, v := range sum.Tables[i].Value {
				shrinks = shrinks && v%10 == 0
			}
		}
		for i := range sum.Tables {
			if shrinks {
				sum.Tables[i].Type.Scale--
				for n := range sum.Tables[i].Value {
					sum.Tables[i].Value[n] /= 10
				}
			}
		}
	}
	return &sum
}

// hashes returns the hash of each table.
func hashes(p *profile.Profile) []profile.Hash {
	var h []profile.Hash
	for i := range p.Tables {
		h = append(h, p.Hash(i))
	}
	return h
}
