package graphql

import (
	"fmt"
	"strings"
	"testing"

	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/parser"
)

// introspection is what tools ask to know the whole schema.
const introspection = `query { __schema { queryType { name } mutationType { name } subscriptionType { name }
  types { ...T } directives { name description locations args { ...I } } } }
fragment T on __Type { kind name description
  fields(includeDeprecated: true) { name description args { ...I } type { ...R } isDeprecated deprecationReason }
  inputFields { ...I } interfaces { ...R } enumValues(includeDeprecated: true) { name description isDeprecated deprecationReason } possibleTypes { ...R } }
fragment I on __InputValue { name description type { ...R } defaultValue }
fragment R on __Type { kind name ofType { kind name ofType { kind name ofType { kind name ofType { kind name ofType { kind name ofType { kind name } } } } } } }`

// nested returns a document of fragments of which each uses the next one twice.
func nested(n int) string {
	var b strings.Builder
	b.WriteString("{ ...f0 }")
	for i := range n {
		fmt.Fprintf(&b, " fragment f%d on Query { ...f%d ...f%d }", i, i+1, i+1)
	}
	fmt.Fprintf(&b, " fragment f%d on Query { version }", n)
	return b.String()
}

// aliases returns n fields.
func aliases(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, " a%d: version", i)
	}
	return b.String()
}

// fragments returns a document with n fragments in one place.
func fragments(n int) string {
	var b strings.Builder
	b.WriteString("{")
	for i := range n {
		fmt.Fprintf(&b, " ...f%d", i)
	}
	b.WriteString("}")
	for i := range n {
		fmt.Fprintf(&b, " fragment f%d on Query { a%d: version }", i, i)
	}
	return b.String()
}

// TestLimits: what is refused before anything else is looked at, and what clients
// ask that must not be.
func TestLimits(t *testing.T) {
	for _, tt := range []struct{ name, document, want string }{
		{"as many as may be", "{" + aliases(maxFields) + "}", ""},
		{"one more", "{" + aliases(maxFields+1) + "}", "maximum query complexity exceeded 3001 > 3000"},
		{"as often as may be", "{" + strings.Repeat(" version", maxSame) + "}", ""},
		{"once more", "{" + strings.Repeat(" version", maxSame+1) + "}", "version: maximum number of times in one place exceeded 51 > 50"},
		{"once more below", "{" + strings.Repeat(" a { b {"+strings.Repeat(" c", 6)+"} }", 9) + "}",
			"c: maximum number of times in one place exceeded 54 > 50"},
		{"the same in other places", "{" + strings.ReplaceAll(aliases(500), "version", "a { b }") + "}", ""},
		{"fragments", fragments(maxSame), ""},
		{"one fragment more", fragments(maxSame + 1), "maximum number of fragments in one place exceeded 51 > 50"},
		{"circles of fragments", "{ ...f } fragment f on Query { a { ...f ...g } b { ...f } } fragment g on Query { c { ...f } d { ...g } }", ""},
		{"fragments of fragments", nested(60), "maximum query complexity exceeded"},
		{"a fragment of itself", "{ ...f } fragment f on Query { ...f }", ""},
		{"a fragment that is not there", "{ ...f }", ""},
		{"fragments that nobody uses", "{ version } fragment f on Query {" + aliases(maxFields) + "}",
			"maximum query complexity exceeded 3001 > 3000"},
		{"deep", "{" + strings.Repeat("... {", maxDepth-1) + "version" + strings.Repeat("}", maxDepth), ""},
		{"deeper", "{" + strings.Repeat("... {", maxDepth) + "version" + strings.Repeat("}", maxDepth+1),
			"maximum query depth exceeded 101 > 100"},
		{"all types", introspection, ""},
		{"types", "{" + strings.Repeat(` __type(name: "Query") { name }`, maxTypes+1) + "}",
			"maximum number of __schema and __type exceeded 21 > 20"},
		{"types of types", `{ __type(name: "Query") { fields { type { inputFields { name } } } } }`, "introspection may not ask"},
		{"types of types through a fragment", `{ __schema { types { ...a } } } fragment a on __Type { fields { type { ...b } } } fragment b on __Type { ofType { fields { name } } }`, "introspection may not ask"},
		{"fields that have such a name elsewhere", `{ fields { fields { fields { name } } } }`, ""},
	} {
		doc, err := parser.ParseQuery(&ast.Source{Input: tt.document})
		if err != nil {
			t.Fatalf("%s: %v", tt.name, err)
		}
		got := ""
		if err := checkLimits(doc); err != nil {
			got = err.Error()
		}
		if tt.want == "" && got != "" || !strings.HasPrefix(got, tt.want) {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

// TestHostile: documents that are meant to cost much cost little, and say why.
func TestHostile(t *testing.T) {
	b := newBench(t)
	const tooMuch = "ExecutionAborted"
	for _, tt := range []struct{ name, document, want string }{
		{"tokens", "{" + strings.Repeat(" version", maxTokens) + "}", "exceeded token limit"},
		{"brackets", "{ a(x: " + strings.Repeat("[", 100_000) + " ) }", "exceeded token limit"},
		{"the same field", "{" + strings.Repeat(" version", maxFields) + "}", tooMuch},
		{"fields that are compared with each other", "{" + strings.Repeat(" listServices {"+strings.Repeat(" id", 50)+"}", 50) + "}", tooMuch},
		{"circles of fragments", "{ ...f } fragment f on Query { a: listServices { ...f ...g } b: listServices { ...f } } fragment g on Query { c: listServices { ...f } d: listServices { ...g } }", "Cannot spread fragment"},
		{"fragments of fragments", nested(60), tooMuch},
		{"types of types", `{ __schema { types { fields { type { fields { type { fields { name } } } } } } } }`, tooMuch},
		{"a circle", "{ ...f } fragment f on Query { ...f }", "Cannot spread fragment"},
	} {
		r := b.ask(tt.document, "null")
		if !strings.Contains(r.body, tt.want) || len(r.body) > 1<<16 {
			t.Errorf("%s: %.300s", tt.name, r.body)
		}
	}
	if r := b.ask(introspection, "null"); !strings.Contains(r.body, "codeSignature") || strings.Contains(r.body, `"errors"`) {
		t.Errorf("introspection: %.300s", r.body)
	}
}
