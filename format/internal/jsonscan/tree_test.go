package jsonscan

import (
	"strings"
	"testing"

	"github.com/dendroprof/dendro/profile"
)

// TestTree draws trees as they are left: a node with its parent and what was read.
func TestTree(t *testing.T) {
	type node struct{ name, parent string }
	for text, want := range map[string]string{
		`{"name":"a"}`: "/a",
		`{"name":"a","children":[{"name":"b","children":[{"name":"c"}]},{"name":"d"}],"x":[{}]}`: "b/c a/b a/d /a",
		`{"name":"a","children":null}`:                                                            "/a",
		`{"name":"a","children":[],"children":[{"children":[],"name":"b"}]}`:                      "a/b /a",
		`{"name":"a","children":[{"name":"b"},{"name":"c"},{"children":[{"name":"e"}]}],"y":1.5}`: "a/b a/c /e a/ /a",
		`null`: "",
	} {
		var s Scanner
		s.Reset(strings.NewReader(text), profile.Limits{})
		var left []string
		Tree(&s, func(parent *node) node {
			if parent == nil {
				return node{}
			}
			return node{parent: parent.name}
		}, func(n *node, key string) {
			if key == "name" {
				n.name = s.Text()
			}
		}, func(n *node) {
			left = append(left, n.parent+"/"+n.name)
		})
		if err := s.End(); err != nil || strings.Join(left, " ") != want {
			t.Errorf("%s: %q, %v, want %q", text, left, err, want)
		}
	}
}

// TestTreeDepth reads a tree far deeper than a program could recurse, and one that is
// cut, which ends with the error and does not leave what is open.
func TestTreeDepth(t *testing.T) {
	const depth = 100_000
	text := strings.Repeat(`{"children":[`, depth) + strings.Repeat(`]}`, depth)
	for cut, want := range map[int]int{0: depth, 1: depth - 1} {
		var s Scanner
		s.Reset(strings.NewReader(text[:len(text)-cut]), profile.Limits{})
		entered, left := 0, 0
		Tree(&s, func(*int) int { entered++; return 0 }, func(*int, string) {}, func(*int) { left++ })
		if err := s.End(); entered != depth || left != want || (err != nil) != (cut > 0) {
			t.Errorf("%d bytes cut: %d nodes entered, %d left, want %d; %v", cut, entered, left, want, err)
		}
	}
}
