package endpoint_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"

	"github.com/dendroprof/dendro/app/internal/client"
	"github.com/dendroprof/dendro/app/internal/endpoint"
	"github.com/dendroprof/dendro/query/trees"
)

// TestNewerDocument: a document of a server whose documents have gained fields is read as
// before. testdata/newer.json is a tree of this version with members that it does not know.
func TestNewerDocument(t *testing.T) {
	document, err := os.ReadFile("testdata/newer.json")
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.URL.Path == "/api/v1/info" {
			io.WriteString(w, `{"product":"dendro","version":"9.9","api":1,"transfer":99,"sql":true,"future":[1],"store":{"engine":"future"}}`)
			return
		}
		if got := r.URL.String(); got != "/api/v1/tree?client=true&last=1" {
			t.Errorf("asked %s", got)
		}
		w.Write(document)
	}))
	defer server.Close()
	c, err := client.Open(t.Context(), server.URL, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	r := endpoint.Tree.Blank().Request.(*trees.TreeRequest)
	r.View, r.Last = "tree", 1
	tree, err := endpoint.Answer[trees.TreeResult](t.Context(), endpoint.Remote{Client: c}, endpoint.Tree.Of(r))
	if err != nil {
		t.Fatal(err)
	}
	if tree.Profiles != 2 || tree.Omitted.Rows != 1 || tree.Rows.Len() != 2 {
		t.Errorf("%+v with %d rows", tree.Head, tree.Rows.Len())
	}
	for row := range tree.Rows.All() {
		if row.Depth == 1 && (row.Function != "parse" || row.Self.Value() != 7.5) {
			t.Errorf("%+v", row)
		}
	}
}
