package format

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/test/readtest"
)

// TestNumbersAsTexts reads the recordings of all JSON formats with their numbers in quotes, as
// some writers have them: they mean the same.
func TestNumbersAsTexts(t *testing.T) {
	names, err := filepath.Glob("*/testdata/*")
	if err != nil {
		t.Fatal(err)
	}
	reported, err := filepath.Glob("testdata/reported/*")
	if err != nil {
		t.Fatal(err)
	}
	token := regexp.MustCompile(`"(?:[^"\\]|\\.)*"|-?[0-9][0-9.eE+-]*`)
	read := 0
	for _, name := range append(names, reported...) {
		content, err := os.ReadFile(name)
		if err != nil || len(content) > 300<<10 {
			continue // a folder, or large
		}
		if z, err := gzip.NewReader(bytes.NewReader(content)); err == nil {
			if content, err = io.ReadAll(z); err != nil || len(content) > 1<<20 {
				continue
			}
		}
		if !json.Valid(content) || len(content) == 0 || content[0] != '{' && content[0] != '[' {
			continue
		}
		quoted := token.ReplaceAllStringFunc(string(content), func(text string) string {
			if text[0] == '"' {
				return text
			}
			return `"` + text + `"`
		})
		if want, ok := described(content); ok {
			if got, _ := described([]byte(quoted)); got != want {
				i := 0
				for i < min(len(got), len(want)) && got[i] == want[i] {
					i++
				}
				t.Errorf("%s: from byte %d of the description on: %.200q, want %.200q", name, i, got[i:], want[i:])
			}
			read++
		}
	}
	if read < 30 {
		t.Errorf("%d recordings", read)
	}
}

// markers have fields, of which some are texts.
var markers = regexp.MustCompile(`(?m)^marker .*\n`)

// described returns what a file means, or its error.
func described(content []byte) (string, bool) {
	var out strings.Builder
	ok := true
	for d, err := range NewReader(profile.Limits{}).Read("file", bytes.NewReader(content)) {
		if ok = err == nil; !ok {
			out.WriteString(err.Error())
			break
		}
		out.WriteString(markers.ReplaceAllString(readtest.Describe(d.Profile), ""))
	}
	return out.String(), ok
}
