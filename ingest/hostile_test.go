package ingest

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/dendroprof/dendro/store/mem"
	"github.com/dendroprof/dendro/testrun"
)

// TestHostileArchives: members are profiles by a name. Nothing is written under their names,
// and nothing is read that a link names.
func TestHostileArchives(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	secret := filepath.Join(dir, "secret.folded")
	if err := os.WriteFile(secret, []byte("secret 1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	names := []string{"../../escaped.folded", "/escaped.folded", dir + "/escaped.folded", "C:\\escaped.folded", "a/../../escaped.folded",
		"con\x1b[31m.folded", "\x00.folded", strings.Repeat("x/", 3000) + "x.folded"}
	var z, x bytes.Buffer
	zw, tw := zip.NewWriter(&z), tar.NewWriter(&x)
	for _, name := range names {
		w, err := zw.Create(name)
		if err == nil {
			_, err = w.Write([]byte("a;b 1\n"))
		}
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(name, "\x00") {
			continue // tar cannot write it
		}
		if err := tw.WriteHeader(&tar.Header{Name: name, Size: 6, Mode: 0o644}); err != nil {
			t.Fatal(err)
		}
		if _, err := tw.Write([]byte("a;b 1\n")); err != nil {
			t.Fatal(err)
		}
	}
	for _, h := range []tar.Header{{Name: "link.folded", Typeflag: tar.TypeSymlink, Linkname: secret},
		{Name: "hard.folded", Typeflag: tar.TypeLink, Linkname: secret},
		{Name: "fifo.folded", Typeflag: tar.TypeFifo}, {Name: "zero.folded", Typeflag: tar.TypeChar, Devmajor: 1, Devminor: 5}} {
		if err := tw.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
	}
	if err := zw.Close(); err != nil {
		t.Fatal(err)
	}
	if err := tw.Close(); err != nil {
		t.Fatal(err)
	}
	before := listing(t, filepath.Dir(dir))
	for name, content := range map[string]string{"x.zip": z.String(), "x.tar": x.String()} {
		st := mem.New()
		run(t, st, Options{Defaults: Label{Run: testrun.Run{Key: "r"}}}, text(name, content))
		list := profiles(t, st)
		if len(list) == 0 {
			t.Errorf("%s: no member was imported", name)
		}
		for _, p := range list {
			if strings.Contains(p.Benchmark.Name, "secret") || p.Samples != 1 {
				t.Errorf("%s: %+v", name, p)
			}
		}
	}
	if after := listing(t, filepath.Dir(dir)); after != before {
		t.Errorf("before:\n%s\nafter:\n%s", before, after)
	}
	if _, err := os.Stat("/escaped.folded"); err == nil {
		t.Error("/escaped.folded was written")
	}
}

func listing(t *testing.T, dir string) string {
	t.Helper()
	var names []string
	err := filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		names = append(names, path)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(names, "\n")
}

// TestLabelsAreBounded: a sidecar may label a file with anything.
func TestLabelsAreBounded(t *testing.T) {
	many := func(n int, format string) string {
		var b strings.Builder
		for i := range n {
			if i > 0 {
				b.WriteByte(',')
			}
			fmt.Fprintf(&b, format, i)
		}
		return b.String()
	}
	for name, c := range map[string]struct{ sidecar, want string }{
		"attributes":   {`{"attributes": {` + many(1001, `"k%d": "v"`) + `}}`, "1001 attributes"},
		"metrics":      {`{"metrics": [` + many(10_001, `{"name": "m%d", "mean": 1}`) + `]}`, "10001 metrics"},
		"a long name":  {`{"benchmark": "` + strings.Repeat("x", 20_000) + `"}`, "has 20000 bytes"},
		"a long value": {`{"attributes": {"k": "` + strings.Repeat("x", 1<<20) + `"}}`, "has 1048576 bytes"},
		"a long unit":  {`{"metrics": [{"name": "m", "mean": 1, "unit": "` + strings.Repeat("x", 20_000) + `"}]}`, "has 20000 bytes"},
		"enough":       {`{"attributes": {` + many(1000, `"k%d": "v"`) + `}, "metrics": [` + many(1000, `{"name": "m%d", "mean": 1}`) + `]}`, ""},
	} {
		file := filepath.Join(t.TempDir(), "x.folded")
		if err := os.WriteFile(file, []byte("a;b 1\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file+SidecarSuffix, []byte(c.sidecar), 0o600); err != nil {
			t.Fatal(err)
		}
		sources, err := Expand([]string{file}, nil)
		if err != nil {
			t.Fatal(err)
		}
		got := run(t, mem.New(), Options{Defaults: Label{Run: testrun.Run{Key: "r"}}}, sources...)
		if text := strings.Join(got, "\n"); c.want == "" && !strings.HasSuffix(text, " stored") || !strings.Contains(text, c.want) ||
			len(text) > 1000 {
			t.Errorf("%s: %.300s", name, text)
		}
	}
}

// TestSidecarIsAFile: a pipe beside a profile is not waited for.
func TestSidecarIsAFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "x.folded")
	if err := os.WriteFile(file, []byte("a;b 1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(file+SidecarSuffix, 0o600); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() {
		_, err := Expand([]string{file}, nil)
		done <- err
	}()
	select {
	case err := <-done:
		if err == nil || !strings.Contains(err.Error(), "not a regular file") {
			t.Error(err)
		}
	case <-time.After(10 * time.Second):
		t.Error("it waits")
	}
}
