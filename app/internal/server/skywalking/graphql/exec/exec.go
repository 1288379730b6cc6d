// Package exec runs GraphQL documents of SkyWalking's query protocol. The code is generated
// by gqlgen from the schema beside it; Config.Resolvers answers the fields.
//
// The types of arguments and answers are those of SkyWalking's own Go clients, so that
// names, units and nullability stay the same. The exceptions are in package values: Int
// has 32 bits, and trees are written while they are sent. For the generated code a tree is
// a scalar; documents are checked against the whole schema, see Schema.
package exec

import (
	"embed"
	"io/fs"
	"sync"

	"github.com/vektah/gqlparser/v2"
	"github.com/vektah/gqlparser/v2/ast"
)

//go:generate go run github.com/99designs/gqlgen@v0.17.78 generate --config gqlgen.yml

//go:embed schema/*.graphqls
var schemaFiles embed.FS

// Schema returns the schema for validation and introspection. It is shared and read-only.
var Schema = sync.OnceValue(func() *ast.Schema {
	var sources []*ast.Source
	names, err := fs.Glob(schemaFiles, "schema/*.graphqls")
	for _, name := range names {
		var text []byte
		if text, err = schemaFiles.ReadFile(name); err != nil {
			break
		}
		sources = append(sources, &ast.Source{Name: name, Input: string(text)})
	}
	if err != nil {
		panic(err) // the files are embedded
	}
	schema := gqlparser.MustLoadSchema(sources...)
	delete(schema.Directives, "defer")  // nothing here is worth an answer in parts
	delete(schema.Directives, "absent") // for the server, not for documents
	return schema
})
