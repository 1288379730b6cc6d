// Command schema validates documents by a JSON schema, whose file it is given. The answer to a
// document is what is wrong with it; empty: nothing.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"os"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

func main() {
	text, err := os.ReadFile(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		log.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	if err := compiler.AddResource("schema.json", document); err != nil {
		log.Fatal(err)
	}
	schema, err := compiler.Compile("schema.json")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("ready")
	in, out := json.NewDecoder(os.Stdin), json.NewEncoder(os.Stdout)
	for {
		var one json.RawMessage
		if err := in.Decode(&one); err == io.EOF {
			return
		} else if err != nil {
			log.Fatal(err)
		}
		value, err := jsonschema.UnmarshalJSON(bytes.NewReader(one))
		if err != nil {
			log.Fatal(err)
		}
		wrong := ""
		if err := schema.Validate(value); err != nil {
			wrong = err.Error()
		}
		if err := out.Encode(wrong); err != nil {
			log.Fatal(err)
		}
	}
}
