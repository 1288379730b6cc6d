package diff

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/dendroprof/dendro/profile"
)

// Namesakes on two sides are noted if one of them has that part of its side.
const notedShare = 0.01

// mostNamed is how many namesakes, or packages, a note names.
const mostNamed = 3

// noteApart notes functions that share a name with one of the other side, and are compared
// apart because their files or modules differ. Pairs are positions in Functions.
func (d *Diff) noteApart(pairs [][2]int32) {
	if len(pairs) == 0 {
		return
	}
	root, largest := d.RootTotal(), make([]bool, len(d.Functions))
	for n, fn := range d.Func {
		p := d.Total(int32(n))
		largest[fn] = largest[fn] || float64(abs(p.Base)) >= notedShare*float64(max(root.Base, 1)) ||
			float64(abs(p.Head)) >= notedShare*float64(max(root.Head, 1))
	}
	pairs = slices.DeleteFunc(pairs, func(p [2]int32) bool { return !largest[p[0]] && !largest[p[1]] })
	names := make([]string, len(pairs))
	for i, p := range pairs {
		x, y := &d.Functions[p[0]], &d.Functions[p[1]]
		name, _, _ := strings.Cut(x.Name, " ("+x.File+")")
		names[i] = fmt.Sprintf("%s (%s and %s)", name, placeOf(x, y), placeOf(y, x))
	}
	d.noteNames("functions of one name in different files or modules of the two sides are compared apart", names)
}

// noteNames notes the first of some names, and how many more there are.
func (d *Diff) noteNames(what string, names []string) {
	if more := len(names) - mostNamed; more > 0 {
		names = append(slices.Clone(names[:mostNamed]), fmt.Sprintf("%d more", more))
	}
	if len(names) > 0 {
		d.Notes = append(d.Notes, what+": "+strings.Join(names, ", "))
	}
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

// bumps returns the packages of matched functions whose version differs, those with most
// functions first. The version is part of a file of Go's module cache (`bar@v1.2.3/a.go`), or
// of the name of a JAR.
func (m *matcher) bumps() []string {
	count := map[string]int{}
	for i, j := range m.partner {
		if j < 0 {
			continue
		}
		f, g := &m.a.functions[i], &m.b.functions[j]
		if f.File == g.File && f.Module == g.Module {
			continue
		}
		name, base := packageVersion(f)
		other, head := packageVersion(g)
		if name != "" && name == other && base != head {
			count[name+" "+base+" → "+head]++
		}
	}
	return slices.SortedFunc(maps.Keys(count), func(a, b string) int {
		return cmp.Or(cmp.Compare(count[b], count[a]), strings.Compare(a, b))
	})
}

// packageVersion returns the package of a function and its version, if its file or module
// tells; a module of Go without the folder of the cache.
func packageVersion(f *profile.Function) (name, version string) {
	if at := strings.Index(f.File, "@v"); at > 0 {
		version, _, _ = strings.Cut(f.File[at+1:], "/")
		name = f.File[:at]
		if _, rest, ok := strings.Cut(name, "/pkg/mod/"); ok {
			name = rest
		}
		return name, version
	}
	name, version, _ = profile.JARVersion(moduleName(f.Module))
	return name, version
}

func abs(v int64) int64 { return max(v, -v) }
