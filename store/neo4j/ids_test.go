package neo4j

import (
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/store/neo4j/internal/bolt"
	"github.com/dendroprof/dendro/store/neo4j/internal/identity"
	"github.com/dendroprof/dendro/testrun"
)

// TestVectors holds the ids to those that the documentation of the schema shows.
func TestVectors(t *testing.T) {
	page, err := os.ReadFile("FORMAT.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := regexp.MustCompile("(?m)^\\| (function|path) \\| `([^`]+)` \\| (\\d+) \\|$").FindAllStringSubmatch(string(page), -1)
	if len(rows) < 6 {
		t.Fatalf("the page shows %d vectors", len(rows))
	}
	for _, row := range rows {
		names, err := calltree.ParsePath(row[2])
		if err != nil {
			t.Fatal(err)
		}
		id := store.FunctionID(row[2])
		if row[1] == "path" {
			id = identity.Root
			for _, name := range names {
				id = identity.Path(id, store.FunctionID(name))
			}
		}
		if got := strconv.FormatInt(id, 10); got != row[3] {
			t.Errorf("the id of the %s %s is %s, the page says %s", row[1], row[2], got, row[3])
		}
	}
}

func TestIDsArePositive(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.String().Draw(t, "name")
		if id := store.FunctionID(name); id < 0 || identity.Path(id, id) < 0 || bolt.TextsID(name) < 0 {
			t.Errorf("an id of %q is negative", name)
		}
	})
}

// TestStoredName cuts long names so that they stay apart and valid.
func TestStoredName(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		unit := rapid.SampledFrom([]string{"x", "é", "日", "🌲"}).Draw(t, "unit")
		n := rapid.IntRange(bolt.MaxName-8, bolt.MaxName+8).Draw(t, "bytes") / len(unit)
		name := strings.Repeat(unit, n)
		got := bolt.StoredName(name)
		if len(got) > bolt.MaxName || !utf8.ValidString(got) || len(name) <= bolt.MaxName && got != name {
			t.Errorf("%d bytes of %s become %d", len(name), unit, len(got))
		}
		if other := bolt.StoredName(name + "!"); other == got {
			t.Errorf("two names become one")
		}
	})
}

// TestBenchmarkKeys expects no key for two benchmarks.
func TestBenchmarkKeys(t *testing.T) {
	text := rapid.StringOfN(rapid.SampledFrom([]rune(`a/\`)), 0, 5, -1)
	rapid.Check(t, func(t *rapid.T) {
		a := testrun.Benchmark{Group: text.Draw(t, "group"), Name: text.Draw(t, "name")}
		b := testrun.Benchmark{Group: text.Draw(t, "other group"), Name: text.Draw(t, "other name")}
		if (identity.Benchmark(a) == identity.Benchmark(b)) != (a == b) {
			t.Errorf("%+v and %+v: %q and %q", a, b, identity.Benchmark(a), identity.Benchmark(b))
		}
	})
	if key := identity.Benchmark(testrun.Benchmark{Group: "accesscontrol", Name: "029_(jdk,17)"}); key != "accesscontrol/029_(jdk,17)" {
		t.Errorf("a plain key is %q", key)
	}
}

// TestThesisChunks lays trees out in chunks of any size: every node must find
// its parent and the recursion's ancestor by place.
func TestThesisChunks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := drawnContent(t)
		recursion := c.recursion()
		size := rapid.IntRange(1, 8).Draw(t, "chunk")
		for start := 0; start < c.cut.Len(); start += size {
			end := min(start+size, c.cut.Len())
			ch := newThesisChunk(c, recursion, start, end)
			nodes := append(append([]string{}, ch.params["ancestors"].([]string)...), ch.params["keys"].([]string)...)
			parents := ch.params["parent"].([]int64)
			for i, at := range parents {
				if want := nodeKey(c.key, int(c.cut.Parent[start+i])); nodes[at] != want {
					t.Fatalf("the parent of node %d is %s, want %s", start+i, nodes[at], want)
				}
			}
			again, _ := ch.params["again"].([]int64)
			from, _ := ch.params["from"].([]int64)
			for k, i := range again {
				if want := nodeKey(c.key, int(recursion[start+int(i)])); nodes[from[k]] != want {
					t.Fatalf("node %d recurs from %s, want %s", start+int(i), nodes[from[k]], want)
				}
			}
			if len(from) != ch.recursions || len(nodes) != ch.ancestors+end-start {
				t.Fatalf("%d recursions and %d nodes, the statement expects %d and %d", len(from), len(nodes), ch.recursions, ch.ancestors+end-start)
			}
		}
	})
}

// TestRecursion compares with the definition.
func TestRecursion(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := drawnContent(t)
		for n, got := range c.recursion() {
			up := c.cut.Parent[n]
			for up != calltree.NoNode && c.cut.Func[up] != c.cut.Func[n] {
				up = c.cut.Parent[up]
			}
			if got != up {
				t.Fatalf("node %d recurs from %d, want %d", n, got, up)
			}
		}
	})
}
