package format

import (
	"bytes"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"

	"github.com/dendroprof/dendro/format/folded"
)

// TestCertainIsNoOther expects of every recording of all formats that is certainly folded
// that asking all formats in their order finds the same.
func TestCertainIsNoOther(t *testing.T) {
	certain := 0
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.Contains(path, "testdata") {
			return err
		}
		text := beginning(t, path)
		if !folded.Certain(text) {
			return nil
		}
		certain++
		all := All()
		for i := range all {
			all[i].Certain = nil
		}
		if f, err := detect(all, text); err != nil || f.Name != "folded" {
			t.Errorf("%s: %v, %v", path, f, err)
		}
		return nil
	})
	if err != nil || certain < 10 {
		t.Errorf("%d recordings are certain, %v", certain, err)
	}
	if lines := strings.Repeat("a;b 1\n", 40); !folded.Certain([]byte(lines)) || folded.Certain([]byte("# austin: 3.7\n"+lines)) {
		t.Error("plain lines are certain, and none behind a comment")
	}
}

// beginning returns what detection sees of a file that may be compressed.
func beginning(t *testing.T, path string) []byte {
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var in io.Reader = file
	if strings.HasSuffix(path, ".gz") {
		if in, err = gzip.NewReader(file); err != nil {
			return nil
		}
	}
	var b bytes.Buffer
	io.CopyN(&b, in, PrefixSize) // as much as there is
	return b.Bytes()
}
