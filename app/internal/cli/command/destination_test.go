package command

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestWriteFileNamesFile: an error of a file is about the name that the user gave, never about
// the temporary file beside it.
func TestWriteFileNamesFile(t *testing.T) {
	dir := t.TempDir()
	text := func(w io.Writer) error { _, err := io.WriteString(w, "text"); return err }
	broken := func(w io.Writer) error { // as on a full disk: the temporary file refuses
		w.(*os.File).Close()
		return text(w)
	}
	for _, c := range []struct {
		name  string
		write func(io.Writer) error
		want  string
	}{
		{filepath.Join(dir, "missing", "f.html"), text, "cannot write " + filepath.Join(dir, "missing", "f.html") + ": there is no directory " +
			filepath.Join(dir, "missing")},
		{filepath.Join(dir, "full.html"), broken, "cannot write " + filepath.Join(dir, "full.html") + ": "},
		{dir, text, "cannot write " + dir + ": "},
		{filepath.Join(dir, "f.html"), func(io.Writer) error { return errors.New("no profile") }, "no profile"},
	} {
		err := WriteFile(c.name, c.write)
		if err == nil || !strings.HasPrefix(err.Error(), c.want) || strings.Contains(err.Error(), ".dendro-") {
			t.Errorf("%s: %v, want %s", c.name, err, c.want)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(dir, ".dendro-*")); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
}
