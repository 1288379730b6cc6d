package flame

import (
	"bytes"
	"encoding/xml"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/dendroprof/dendro/profile"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// hostile are names that would be markup, or worse, if they were not data.
var hostile = []string{
	`</script><img src=x onerror=alert(1)>`, `<!--<script>`, `"><svg onload=alert(1)>`, `' onclick='alert(1)`, "a&b<c>d", `{{data}}{{script}}`,
	"line\u2028sep\x1b[31m\x00", "\u202Egnp.exe", "\xff\xfe", `]]>`, `\u003c/script>`,
}

// sample is a small diff: what is the same, new, vanished, and within the noise.
func sample(names ...string) *Graph {
	g := &Graph{Title: "a.folded → b.folded", Unit: "count", Diff: true, Root: Value{300, 400}, Notes: []string{"2 boxes are left out"}}
	for i, name := range append([]string{"main.main", "com.shop.Cart.total", "std::sort", "idle"}, names...) {
		g.Functions = append(g.Functions, profile.Function{Name: name, Module: "app", File: "a.x"})
		depth, start, end := int32(1), float64(i-1)*0.1, float64(i)*0.1
		if i == 0 {
			depth, start, end = 0, 0, 1
		}
		total := []Value{{300, 400}, {0, 100}, {80, 0}, {100, 101}}[min(i, 3)]
		g.Boxes = append(g.Boxes, Box{Func: int32(i), Depth: depth, Start: start, End: end, Total: total, Self: total, Noise: 30})
	}
	return g
}

func render(t *testing.T, write func(io.Writer) error) string {
	t.Helper()
	var b bytes.Buffer
	if err := write(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestSVG(t *testing.T) {
	got := render(t, sample().SVG)
	name := filepath.Join("testdata", "diff.svg")
	if *update {
		if err := os.WriteFile(name, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(name)
	if err != nil || got != string(want) {
		t.Errorf("%s (%v): got\n%s", name, err, got)
	}
}

func TestHostileNamesAreInert(t *testing.T) {
	g := sample(hostile...)
	g.Title = strings.Join(hostile, " ")
	d := xml.NewDecoder(strings.NewReader(render(t, g.SVG)))
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("the picture is not well-formed: %v", err)
		}
		if e, ok := token.(xml.StartElement); ok {
			if !strings.Contains(" svg title style rect text g ", " "+e.Name.Local+" ") {
				t.Errorf("element %s", e.Name.Local)
			}
			for _, a := range e.Attr {
				if strings.HasPrefix(a.Name.Local, "on") {
					t.Errorf("attribute %s", a.Name.Local)
				}
			}
		}
	}
}

func TestEmptyGraph(t *testing.T) {
	g := &Graph{Title: "nothing", Unit: "count"}
	render(t, g.SVG)
	g.Time = true
	render(t, g.SVG)
}

func TestLimitKeepsParents(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := &Graph{}
		parent := []int{-1}
		g.Boxes = append(g.Boxes, Box{Start: 0, End: 64})
		for range rapid.IntRange(0, 40).Draw(t, "boxes") {
			p := rapid.IntRange(0, len(g.Boxes)-1).Draw(t, "parent")
			width := (g.Boxes[p].End - g.Boxes[p].Start) / float64(rapid.IntRange(1, 4).Draw(t, "part"))
			g.Boxes = append(g.Boxes, Box{Func: int32(len(g.Boxes)), Depth: g.Boxes[p].Depth + 1, Start: g.Boxes[p].Start,
				End: g.Boxes[p].Start + width})
			parent = append(parent, p)
		}
		all, n := len(g.Boxes), rapid.IntRange(1, 40).Draw(t, "n")
		left := g.Limit(n)
		if len(g.Boxes) != min(n, all) || len(g.Boxes)+left != all {
			t.Fatalf("%d boxes are kept and %d left out of %d; at most %d wanted", len(g.Boxes), left, all, n)
		}
		kept := map[int]bool{-1: true}
		for _, b := range g.Boxes {
			kept[int(b.Func)] = true
			if !kept[parent[b.Func]] {
				t.Fatalf("box %d is kept, its parent is not", b.Func)
			}
		}
	})
}

func TestChange(t *testing.T) {
	for _, x := range []struct {
		v           Value
		noise, want float64
	}{
		{Value{0, 10}, 0, 1}, {Value{10, 0}, 0, -1}, {Value{10, 10}, 0, 0}, {Value{10, 20}, 0, 0.5}, {Value{10, 20}, 10, 0}, {Value{0, 0}, 0, 0},
		{Value{-10, -20}, 0, -0.5},
	} {
		if got := change(x.v, x.noise); got != x.want {
			t.Errorf("%v ± %v: %v, want %v", x.v, x.noise, got, x.want)
		}
	}
}

func TestFit(t *testing.T) {
	f := &profile.Function{Name: "github.com/acme/cart.(*Service).Total"}
	for _, x := range []struct {
		room int
		want string
	}{{40, f.Name}, {25, "cart.(*Service).Total"}, {16, "(*Service).Total"}, {8, "(*Servi…"}, {1, "…"}} {
		if got := fit(f, x.room); got != x.want {
			t.Errorf("room for %d: %q, want %q", x.room, got, x.want)
		}
	}
}
