package exec

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/vektah/gqlparser/v2"
	"github.com/vektah/gqlparser/v2/ast"

	"github.com/dendroprof/dendro/app/internal/server/skywalking/graphql/values"
)

// small is a schema with all that New has to compare.
const small = `
scalar Long
enum Colour { RED GREEN }
input Filter { word: String!, colours: [Colour!] = [RED], most: Int = 3 }
type Item { name: String!, size: Long!, next: Item, must: Item!, parts: [Item!]! }
type Query { items(filter: Filter, ids: [ID!]): [Item!]!, item(name: String!): Item, wrong: Item!, bad(n: Int!): Item }
type Mutation { put(name: String!): Boolean! }
`

type filter struct {
	Word    string   `json:"word"`
	Colours []string `json:"colours"`
	Most    *int     `json:"most"`
}

type item struct {
	Name  string  `json:"name"`
	Size  int64   `json:"size,omitempty"`
	Next  *item   `json:"next"`
	Must  *item   `json:"must"`
	Parts []*item `json:"parts"`
}

type resolver struct {
	mu    sync.Mutex // fields of a query are resolved in parallel
	asked string
}

func (r *resolver) Items(_ context.Context, f *filter, ids []string) ([]*item, error) {
	text, err := json.Marshal([]any{f, ids})
	r.mu.Lock()
	defer r.mu.Unlock()
	r.asked = string(text)
	return []*item{{Name: "a\"<", Size: 1 << 40}, {Name: "b", Next: &item{Name: "c"}}}, err
}

func (*resolver) Item(_ context.Context, name string) (*item, error) {
	if name == "panic" {
		panic("at the disco")
	}
	return nil, errors.New("no " + name)
}

func (*resolver) Wrong(context.Context) (*item, error)             { return &item{}, nil }
func (*resolver) Bad(context.Context, int) (*item, error)          { return nil, nil }
func (*resolver) Put(_ context.Context, name string) (bool, error) { return name != "", nil }
func recovered(context.Context, any) error                         { return errors.New("recovered") }
func schemaOf(t *testing.T, text string) *ast.Schema {
	s, err := gqlparser.LoadSchema(&ast.Source{Input: text})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestRun(t *testing.T) {
	s := schemaOf(t, small)
	r := &resolver{}
	e, err := New(s, r)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ document, variables, want, asked string }{
		{`{ items { size n: name next { name } __typename } }`, "", `{"items":[{"size":1099511627776,"n":"a\"<","next":null,"__typename":"Item"},{"size":0,"n":"b","next":{"name":"c"},"__typename":"Item"}]}`, `[null,null]`},
		{`query ($f: Filter) { items(filter: $f, ids: "x") { parts { name } } }`, `{"f": {"word": "w"}}`, `{"items":[{"parts":[]},{"parts":[]}]}`, `[{"word":"w","colours":["RED"],"most":3},["x"]]`},
		{`{ items(filter: {word: "w", colours: [GREEN, RED], most: null}) { name @skip(if: true) } }`, "", `{"items":[{},{}]}`, `[{"word":"w","colours":["GREEN","RED"],"most":null},null]`},
		{`{ a: items { ...f } b: items { size ...f } } fragment f on Item { name next { ...g } } fragment g on Item { size }`, "",
			`{"a":[{"name":"a\"<","next":null},{"name":"b","next":{"size":0}}],"b":[{"size":1099511627776,"name":"a\"<","next":null},{"size":0,"name":"b","next":{"size":0}}]}`, `[null,null]`},
		{`{ x: item(name: "y") { name } z: item(name: "panic") { size } }`, "", `{"x":null,"z":null} x: no y; z: recovered`, ""},
		{`{ items { next { must { name } } } }`, "", `{"items":[{"next":null},{"next":null}]} items/1/next/must: must not be null`, `[null,null]`},
		{`{ wrong { must { name } } item(name: "q") { name } }`, "", `null wrong/must: must not be null; item: no q`, ""},
		{`{ bad(n: 3000000000) { name } }`, "", `{"bad":null} bad/n: 3000000000 is not a whole number of 32 bits`, ""},
		{`mutation { a: put(name: "") b: put(name: "x") __typename }`, "", `{"a":false,"b":true,"__typename":"Mutation"}`, ""},
		{`{ __type(name: "Item") { kind fields { name type { kind ofType { name } } } } }`, "",
			`{"__type":{"kind":"OBJECT","fields":[{"name":"name","type":{"kind":"NON_NULL","ofType":{"name":"String"}}},{"name":"size","type":{"kind":"NON_NULL","ofType":{"name":"Long"}}},{"name":"next","type":{"kind":"OBJECT","ofType":null}},{"name":"must","type":{"kind":"NON_NULL","ofType":{"name":"Item"}}},{"name":"parts","type":{"kind":"NON_NULL","ofType":{"name":null}}}]}}`, ""},
	} {
		doc, errs := gqlparser.LoadQueryWithRules(s, tt.document, nil)
		if errs != nil {
			t.Fatal(errs)
		}
		var variables map[string]any
		if tt.variables != "" {
			if err := json.Unmarshal([]byte(tt.variables), &variables); err != nil {
				t.Fatal(err)
			}
		}
		r.asked = ""
		op := &values.Operation{Doc: doc, Operation: doc.Operations[0], Variables: variables}
		data, failed := e.Run(t.Context(), op, recovered)
		var out strings.Builder
		w := values.NewWriter(t.Context(), &out, op)
		data(w, values.Field{})
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		for i, f := range failed {
			out.WriteString([]string{"; ", " "}[min(1, 1-min(i, 1))])
			out.WriteString(strings.NewReplacer("[", "/", "]", "", ".", "/").Replace(f.Path.String()) + ": " + f.Error())
		}
		if out.String() != tt.want || r.asked != tt.asked {
			t.Errorf("%s:\ngot  %s %s\nwant %s %s", tt.document, &out, r.asked, tt.want, tt.asked)
		}
	}
}

// TestNew expects that a resolver that does not fit its schema is found, and named.
func TestNew(t *testing.T) {
	for _, tt := range []struct{ from, to, want string }{
		{"put(name: String!)", "set(name: String!)", "Mutation.set: no method answers it"},
		{"put(name: String!)", "put", "Mutation.put: the method is func(context.Context, string) (bool, error); want a context and 0 arguments"},
		{"item(name: String!)", "item(name: Long!)", "Query.item: argument name: string is no Long"},
		{"most: Int = 3", "least: Int", "Query.items: argument filter: exec.filter has no field least of Filter"},
		{"size: Long!", "size: Int!", "Query.items: Item.size: int64 is no Int"},
		{"parts: [Item!]!", "parts: Item", "Query.items: Item.parts: []*exec.item is no Item"},
		{"wrong: Item!", "wrong: [Item]", "Query.wrong: exec.item is no list"},
		{"wrong: Item!", "wrong: String", "Query.wrong: exec.item is no String"},
	} {
		if !strings.Contains(small, tt.from) {
			t.Fatalf("%q is not in the schema", tt.from)
		}
		_, err := New(schemaOf(t, strings.Replace(small, tt.from, tt.to, 1)), &resolver{})
		if err == nil || !strings.HasPrefix(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %s", tt.to, err, tt.want)
		}
	}
}
