package diff

import (
	"fmt"
	"math"
	"strings"
)

// Level says what a whole program did from base to head.
type Level string

// The levels, in the order of a headline.
const (
	Slower    Level = "slower"
	Faster    Level = "faster"
	Unchanged Level = "unchanged" // within sampling noise
	NotRun    Level = "not run"   // by the head
	NotBefore Level = "new"       // not run by the base
)

// LevelOf returns the level of a program that changed by delta, of which chance explains noise.
func LevelOf(inBase, inHead bool, delta, noise float64) Level {
	switch {
	case !inHead:
		return NotRun
	case !inBase:
		return NotBefore
	case math.Abs(delta) <= noise:
		return Unchanged
	case delta > 0:
		return Slower
	}
	return Faster
}

// CountLevels writes the number of programs of each level: "2 slower, 31 unchanged".
func CountLevels(of map[Level]int) string {
	var parts []string
	for _, level := range []Level{Slower, Faster, Unchanged, NotRun, NotBefore} {
		if n := of[level]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, level))
		}
	}
	return strings.Join(parts, ", ")
}
