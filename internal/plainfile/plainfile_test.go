package plainfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestRead(t *testing.T) {
	dir, outside := t.TempDir(), filepath.Join(t.TempDir(), "outside")
	at := func(name string) string { return filepath.Join(dir, name) }
	for _, err := range []error{
		os.WriteFile(at("plain"), []byte("text"), 0o600), os.WriteFile(outside, []byte("outside"), 0o600),
		syscall.Mkfifo(at("pipe"), 0o600), os.Symlink("/dev/zero", at("zero")), os.Symlink("pipe", at("linked pipe")),
		os.Symlink("plain", at("link")), os.Symlink(outside, at("out")), os.Mkdir(at("dir"), 0o700), os.Symlink("loop", at("loop")),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	all := errors.New("any")
	for _, c := range []struct {
		name       string
		max        int64
		text       string
		read, inIt error
	}{
		{"plain", 4, "text", nil, nil},
		{"plain", 3, "", ErrTooLarge, ErrTooLarge},
		{"link", 100, "text", nil, nil},
		{"out", 100, "outside", nil, all},
		{"../" + filepath.Base(filepath.Dir(outside)) + "/outside", 100, "outside", nil, all},
		{"pipe", 100, "", ErrNotPlain, ErrNotPlain},
		{"linked pipe", 100, "", ErrNotPlain, ErrNotPlain},
		{"zero", 100, "", ErrNotPlain, all},
		{"dir", 100, "", ErrNotPlain, ErrNotPlain},
		{"none", 100, "", fs.ErrNotExist, fs.ErrNotExist},
		{"loop", 100, "", all, all},
	} {
		check := func(how string, data []byte, err, want error) {
			t.Helper()
			switch {
			case want == nil && (err != nil || string(data) != c.text):
				t.Errorf("%s %s: %q, %v", how, c.name, data, err)
			case want != nil && (err == nil || want != all && !errors.Is(err, want)):
				t.Errorf("%s %s: %q, %v; want %v", how, c.name, data, err, want)
			case err != nil && !strings.Contains(err.Error(), filepath.Base(c.name)):
				t.Errorf("%s %s: the error does not name the file: %v", how, c.name, err)
			}
		}
		data, err := Read(at(c.name), c.max)
		check("Read", data, err, c.read)
		data, err = ReadIn(root, c.name, c.max)
		check("ReadIn", data, err, c.inIt)
	}
}
