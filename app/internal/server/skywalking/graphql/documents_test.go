package graphql

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
)

var update = flag.Bool("update", false, "rewrite the answers in testdata")

// TestDocuments asks what clients ask: each file in testdata has a document, its
// variables and the answer. They are those of swctl and of SkyWalking's pages,
// written from the names of their fields.
func TestDocuments(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, name := range files {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			b := newBench(t)
			b.seed()
			archive, err := txtar.ParseFile(name)
			b.must(err)
			part := map[string]string{"variables": "null"}
			for _, f := range archive.Files {
				part[f.Name] = string(f.Data)
			}
			r := b.ask(part["query"], part["variables"])
			var pretty bytes.Buffer
			b.must(json.Indent(&pretty, []byte(r.body), "", "  "))
			got := fmt.Sprintf("%d\n%s\n", r.status, pretty.String())
			if *update {
				archive.Files = slices.DeleteFunc(archive.Files, func(f txtar.File) bool { return f.Name == "answer" })
				archive.Files = append(archive.Files, txtar.File{Name: "answer", Data: []byte(got)})
				b.must(os.WriteFile(name, txtar.Format(archive), 0o644))
				return
			}
			if got != part["answer"] {
				t.Errorf("got:\n%s\nwant:\n%s", got, part["answer"])
			}
		})
	}
}
