package calltree

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dendroprof/dendro/profile"
)

// Namesakes on two sides are noted if one of them has that part of its side.
const notedShare = 0.01

// mostApart is how many namesakes a note names.
const mostApart = 3

// noteApart notes functions that share a name with one of the other side, and are compared
// apart because their files or modules differ. Pairs are positions in Functions.
func (d *Diff) noteApart(pairs [][2]int32) {
	if len(pairs) == 0 {
		return
	}
	root, largest := d.RootTotal(), make([]bool, len(d.Functions))
	for n, fn := range d.Func {
		p := d.Total(int32(n))
		largest[fn] = largest[fn] || float64(abs(p.Base)) >= notedShare*float64(max(root.Base, 1)) || float64(abs(p.New)) >= notedShare*float64(max(root.New, 1))
	}
	pairs = slices.DeleteFunc(pairs, func(p [2]int32) bool { return !largest[p[0]] && !largest[p[1]] })
	if len(pairs) == 0 {
		return
	}
	var names []string
	for _, p := range pairs[:min(len(pairs), mostApart)] {
		x, y := &d.Functions[p[0]], &d.Functions[p[1]]
		name, _, _ := strings.Cut(x.Name, " ("+x.File+")")
		names = append(names, fmt.Sprintf("%s (%s and %s)", name, placeOf(x, y), placeOf(y, x)))
	}
	if more := len(pairs) - len(names); more > 0 {
		names = append(names, fmt.Sprintf("%d more", more))
	}
	d.Notes = append(d.Notes, "functions of one name in different files or modules of the two sides are compared apart: "+strings.Join(names, ", "))
}

// placeOf returns what tells f from its namesake g: its file, or its module.
func placeOf(f, g *profile.Function) string {
	if f.File != "" && f.File != g.File {
		return f.File
	}
	if f.Module != "" {
		return moduleName(f.Module)
	}
	return "no file"
}
