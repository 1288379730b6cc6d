package docs

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dendroprof/dendro/test/program"
)

// pictures are the commands whose results are in docs/pictures. A report is text, which
// is drawn as a terminal window; the other commands write SVG.
var pictures = map[string][]string{
	"diff.svg":   {"diff", "--benchmark", "checkout", "--type", "cpu", "--last", "2", "--min-percent", "1", "--depth", "18"},
	"report.svg": {"report", "--benchmark", "checkout", "--type", "cpu", "--candidates", "4", "--max-depth", "0"},
}

// TestPictures wants the pictures of the documentation to be what Dendro makes of the
// demo. `make pictures` writes them.
func TestPictures(t *testing.T) {
	dir := t.TempDir()
	program.Must(t, dir, "demo", "--store", "demo.duckdb")
	for name, args := range pictures {
		var want []byte
		if args[0] == "report" {
			text := program.Must(t, dir, append(args, "--store", "demo.duckdb")...)
			head, _, found := strings.Cut(text, "\nparameters\n")
			if !found {
				t.Fatalf("the report has no part \"parameters\":\n%s", text)
			}
			want = []byte(terminal("dendro "+strings.Join(args, " "), strings.Split(strings.TrimRight(head, "\n"), "\n")))
		} else {
			program.Must(t, dir, append(args, "--store", "demo.duckdb", "-o", name)...)
			var err error
			if want, err = os.ReadFile(filepath.Join(dir, name)); err != nil {
				t.Fatal(err)
			}
		}
		if err := wellFormed(want); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		file := filepath.Join(root, "docs", "pictures", name)
		if *update {
			if err := os.WriteFile(file, want, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		got, err := os.ReadFile(file)
		if err != nil {
			t.Error(err)
		} else if !bytes.Equal(got, want) {
			t.Errorf("docs/pictures/%s is not what `dendro %s` makes: make pictures", name, strings.Join(args, " "))
		}
	}
	all, err := filepath.Glob(filepath.Join(root, "docs", "pictures", "*.svg"))
	if err != nil || len(all) != len(pictures) {
		t.Errorf("docs/pictures has %q, %v", all, err)
	}
}

// wellFormed returns an error if a text is not XML.
func wellFormed(text []byte) error {
	d := xml.NewDecoder(bytes.NewReader(text))
	for {
		if _, err := d.Token(); err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
	}
}
