package facts

import (
	"encoding/json"
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
		text("[" + strings.Repeat(`{"id":"1"},`, maxEntries) + `{"id":"1"}]`):            "json:1: more than 2000 entries: remove those that have expired",
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

// TestFactsAreBounded: each entry of a request is compared with every finding, or function.
func TestFactsAreBounded(t *testing.T) {
	for body, want := range map[string]string{
		`{"acknowledged":[` + strings.Repeat(`{"id":"1"},`, 200_000) + `{"id":"1"}]}`: "entry 2001: more than 2000 entries",
		`{"own":[` + strings.Repeat(`"a",`, maxEntries) + `"a"]}`:                     "own: more than 2000 entries",
		`{"acknowledged":{}}`:                       "acknowledged: want a list",
		`{"acknowledged":[{}]}`:                     "entry 1: it accepts nothing",
		`{"acknowledged":null}`:                     "",
		`{"acknowledged":[{"id":"1"}],"own":["a"]}`: "",
	} {
		request := struct{ Facts }{}
		err := json.Unmarshal([]byte(body), &request)
		if err == nil {
			err = Check(&request)
		}
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%.40s: %v, want %s", body, err, want)
		}
	}
}
