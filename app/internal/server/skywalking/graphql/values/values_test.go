package values

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/parser"
	"pgregory.net/rapid"
)

func TestNumbers(t *testing.T) {
	for _, tt := range []struct {
		in        any
		i         int64
		n         int64
		int, long bool // it is one
	}{
		{int64(7), 7, 7, true, true},
		{json.Number("-7"), -7, -7, true, true},
		{"7", 7, 7, true, true},
		{7.0, 7, 0, true, false},
		{7.5, 0, 0, false, false},
		{int64(1 << 31), 0, 1 << 31, false, true},
		{int64(-1 << 31), -1 << 31, -1 << 31, true, true},
		{"99999999999999999999", 0, 0, false, false},
		{1e300, 0, 0, false, false},
		{"", 0, 0, false, false},
		{true, 0, 0, false, false},
		{[]any{}, 0, 0, false, false},
	} {
		var input *InputError
		i, err := ReadInt(tt.in)
		if (err == nil) != tt.int || tt.int && i != tt.i || err != nil && !errors.As(err, &input) {
			t.Errorf("Int %v: %d, %v", tt.in, i, err)
		}
		n, err := ReadLong(tt.in)
		if (err == nil) != tt.long || tt.long && n != tt.n || err != nil && !errors.As(err, &input) {
			t.Errorf("Long %v: %d, %v", tt.in, n, err)
		}
	}
}

// TestQuote: any text is JSON that encoding/json reads, bytes that are no UTF-8
// replaced, and no longer than it must be.
func TestQuote(t *testing.T) {
	if got := string(Quote("a.<init>&\"\\\n")); got != `"a.<init>&\"\\\n"` {
		t.Error(got)
	}
	rapid.Check(t, func(t *rapid.T) {
		s := string(rapid.SliceOf(rapid.Byte()).Draw(t, "text"))
		var back string
		if err := json.Unmarshal(Quote(s), &back); err != nil ||
			back != strings.ToValidUTF8(s, "\uFFFD") && strings.ToValidUTF8(back, "") != back {
			t.Fatalf("%q: %q, %v", s, back, err)
		}
	})
}

// write writes a value as a document selects it.
func write(ctx context.Context, to io.Writer, v Value, document string) error {
	doc, err := parser.ParseQuery(&ast.Source{Input: document})
	if err != nil {
		return err
	}
	op := &Operation{Doc: doc, Operation: doc.Operations[0]}
	w := NewWriter(ctx, to, op)
	w.Append(`{"before":1,"it":`)
	v(w, Field{Field: &ast.Field{}, Selected: op.Operation.SelectionSet})
	w.Append(`,"after":2}`)
	return w.Close()
}

// forest is a value with all there is.
func forest(rows int, seen func(row int)) Value {
	numbers := make([]int32, rows)
	for i := range numbers {
		numbers[i] = int32(i % 2)
	}
	texts := NewTexts(2, func(i int32) string { return []string{"even", "odd"}[i] })
	return Object("Tree", map[string]Value{
		"tip": Text(""), "name": Text("x"), "none": Null,
		"lists": List([]Value{Table("Row", rows, map[string]Column{
			"id":   IDs(func(row int) int64 { seen(row); return int64(row) }),
			"name": texts.Column(numbers),
			"n":    Numbers(numbers),
		})}),
	})
}

func TestSelections(t *testing.T) {
	for _, tt := range []struct{ name, document, want string }{
		{"everything", "{ tip name none lists { id name n } }", `{"tip":null,"name":"x","none":null,"lists":[[{"id":"0","name":"even","n":0},{"id":"1","name":"odd","n":1}]]}`},
		{"order and aliases", "{ b: name lists { x: n n } a: name }", `{"b":"x","lists":[[{"x":0,"n":0},{"x":1,"n":1}]],"a":"x"}`},
		{"merged", "{ lists { id } lists { n id } }", `{"lists":[[{"id":"0","n":0},{"id":"1","n":1}]]}`},
		{"fragments", "{ ...f ... on Other { name } } fragment f on Tree { lists { ... on Row { n } ... on Other { id } } }", `{"lists":[[{"n":0},{"n":1}]]}`},
		{"types", "{ __typename lists { t: __typename } }", `{"__typename":"Tree","lists":[[{"t":"Row"},{"t":"Row"}]]}`},
		{"nothing", "{ name @skip(if: true) lists { id @include(if: false) } }", `{"lists":[[{},{}]]}`},
		{"nothing at all", "{ name @skip(if: true) }", `{}`},
	} {
		var out strings.Builder
		if err := write(t.Context(), &out, forest(2, func(int) {}), tt.document); err != nil ||
			out.String() != `{"before":1,"it":`+tt.want+`,"after":2}` {
			t.Errorf("%s: %s %v", tt.name, &out, err)
		}
	}
}

// pieces remembers how much it is given at a time, and fails after some.
type pieces struct {
	sizes []int
	most  int
}

var errFull = errors.New("the client is gone")

func (p *pieces) Write(b []byte) (int, error) {
	if len(p.sizes) == p.most {
		return 0, errFull
	}
	p.sizes = append(p.sizes, len(b))
	return len(b), nil
}

// TestStreaming: a long answer goes out in pieces and is never whole in memory;
// when nobody takes it, its writing ends.
func TestStreaming(t *testing.T) {
	const rows, document = 100_000, "{ lists { id name n } }"
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for _, tt := range []struct {
		name  string
		most  int
		seen  func(row int)
		err   error
		whole bool
	}{
		{"taken", 1 << 20, func(int) {}, nil, true},
		{"broken", 3, func(int) {}, errFull, false},
		{"cancelled", 1 << 20, func(row int) {
			if row == 10_000 {
				cancel()
			}
		}, context.Canceled, false},
	} {
		last := 0
		out := &pieces{most: tt.most}
		err := write(ctx, out, forest(rows, func(row int) { last = row; tt.seen(row) }), document)
		if !errors.Is(err, tt.err) || (last == rows-1) != tt.whole || last > rows/2 && !tt.whole {
			t.Errorf("%s: %v after %d rows", tt.name, err, last)
		}
		for _, n := range out.sizes {
			if n > pending+1000 {
				t.Errorf("%s: a piece of %d bytes", tt.name, n)
			}
		}
		if tt.whole && len(out.sizes) < 10 {
			t.Errorf("%s: %d pieces", tt.name, len(out.sizes))
		}
	}
}
