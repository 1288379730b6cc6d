package facts

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/dendroprof/dendro/internal/plainfile"
)

// TestAcknowledgementsAreBounded: the file belongs to the repository, whose author may not
// be the user.
func TestAcknowledgementsAreBounded(t *testing.T) {
	at := func(name string) string { return filepath.Join(t.TempDir(), name) }
	text := func(content string) string {
		name := at("acknowledged.json")
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return name
	}
	pipe, zero := at("pipe"), at("zero")
	if err := errors.Join(syscall.Mkfifo(pipe, 0o600), os.Symlink("/dev/zero", zero)); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		pipe: plainfile.ErrNotPlain.Error(),
		zero: plainfile.ErrNotPlain.Error(),
		text(`[{"function": "` + strings.Repeat("*", 3_500_000) + `"}]`):                 "json:1: a glob of more than 4096 bytes",
		text(`[{"function": "f"}, {"benchmark": "` + strings.Repeat("?", 5_000) + `"}]`): "json:1: a glob of more than 4096 bytes",
		text(strings.Repeat(" ", maxAcknowledged) + `[]`):                                "too large",
	} {
		if list, err := ReadAcknowledgements(name); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v, %v", want, list, err)
		}
	}
	if list, err := ReadAcknowledgements(text(`[{"function": "f*", "until": "2026-11-21"}]`)); err != nil || len(list) != 1 ||
		list[0].Until.IsZero() {
		t.Error(list, err)
	}
	if _, err := ReadAcknowledgements(at("none")); errors.Is(err, fs.ErrNotExist) {
		t.Error("no file is an error")
	}
}
