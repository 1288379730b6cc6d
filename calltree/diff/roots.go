package diff

import (
	"cmp"
	"slices"
	"strings"
)

// root is a directory of each side below which files have the same paths: two checkouts of
// one repository, two versions of one library.
type root struct {
	dir   [2]string // with the last separator
	votes float64   // pairs of functions of one name whose files it makes equal
}

// Bounds of the search for roots.
const (
	mostRoots      = 32 // those with most votes
	rootCandidates = 64 // pairs of files of one name that are looked at; of more, none is
)

// rootsOf returns the source roots of both sides. The paths of two functions of one name end
// with the same elements; the directories before them are a pair of roots. Each name has one
// vote, which its pairs of files share.
func (m *matcher) rootsOf(groups [][2][]int32) []root {
	votes := map[[2]string]float64{}
	for _, g := range groups {
		if len(g[0])*len(g[1]) > rootCandidates {
			continue
		}
		vote := 1 / float64(len(g[0])*len(g[1]))
		for _, i := range g[0] {
			for _, j := range g[1] {
				x, y := slashed(m.a.functions[i].File), slashed(m.b.functions[j].File)
				if n := commonEnd(x, y); n > 0 && m.a.module[i] == m.b.module[j] {
					votes[[2]string{x[:len(x)-n], y[:len(y)-n]}] += vote
				}
			}
		}
	}
	roots := make([]root, 0, len(votes))
	for dir, n := range votes {
		roots = append(roots, root{dir, n})
	}
	slices.SortFunc(roots, func(a, b root) int {
		return cmp.Or(cmp.Compare(b.votes, a.votes), cmp.Compare(len(a.dir[0])+len(a.dir[1]), len(b.dir[0])+len(b.dir[1])),
			strings.Compare(a.dir[0]+a.dir[1], b.dir[0]+b.dir[1]))
	})
	return roots[:min(len(roots), mostRoots)]
}

// samePath pairs functions of one name whose files have the same path below a root, and
// returns those left over. If several files fit, the root with most votes decides, then the
// longest path; two that are as good are both refused.
func (m *matcher) samePath(x, y []int32, roots []root) (restA, restB []int32) {
	if len(roots) == 0 {
		return x, y
	}
	fx, fy := m.a.files(x), m.b.files(y)
	at := make(map[[2]string]int, len(fy))
	for j, f := range fy {
		at[[2]string{f.module, f.path}] = j
	}
	bestX, bestY := make([]fit, len(fx)), make([]fit, len(fy))
	for i, f := range fx {
		for r := range roots {
			rest, below := strings.CutPrefix(f.path, roots[r].dir[0])
			if !below {
				continue
			}
			if j, ok := at[[2]string{f.module, roots[r].dir[1] + rest}]; ok {
				bestX[i].offer(j, roots[r].votes, len(rest))
				bestY[j].offer(i, roots[r].votes, len(rest))
			}
		}
	}
	for i, f := range fx {
		j := bestX[i].with
		if bestX[i].votes == 0 || bestX[i].tie || bestY[j].tie || bestY[j].with != i {
			restA = append(restA, f.functions...)
			continue
		}
		a, b := m.byLine(f.functions, fy[j].functions)
		restA, restB = append(restA, a...), append(restB, b...)
		fy[j].functions = nil
	}
	for _, f := range fy {
		restB = append(restB, f.functions...)
	}
	return restA, restB
}

// fit is the best partner of a file so far.
type fit struct {
	with  int
	votes float64
	path  int
	tie   bool // with another file
}

func (f *fit) offer(with int, votes float64, path int) {
	switch c := cmp.Or(cmp.Compare(votes, f.votes), cmp.Compare(path, f.path)); {
	case c > 0:
		*f = fit{with, votes, path, false}
	case c == 0 && with != f.with:
		f.tie = true
	}
}

// sourceFile is the functions of one name in one file.
type sourceFile struct {
	module, path string
	functions    []int32
}

// files divides functions of one name, in their order, by file.
func (s *matchSide) files(list []int32) (files []sourceFile) {
	for len(list) > 0 {
		n := s.sameFile(list)
		files = append(files, sourceFile{s.module[list[0]], slashed(s.functions[list[0]].File), list[:n]})
		list = list[n:]
	}
	return files
}

func slashed(path string) string { return strings.ReplaceAll(path, `\`, "/") }

// commonEnd returns the length of the whole elements that two paths end with.
func commonEnd(x, y string) (n int) {
	for k := 0; ; k++ {
		endX, endY := k == len(x), k == len(y)
		if (endX || x[len(x)-1-k] == '/') && (endY || y[len(y)-1-k] == '/') {
			n = k
		}
		if endX || endY || x[len(x)-1-k] != y[len(y)-1-k] {
			return n
		}
	}
}
