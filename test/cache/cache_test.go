package cache

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

func TestFolder(t *testing.T) {
	root := t.TempDir()
	t.Setenv("DENDRO_TEST_CACHE", root)
	broken := errors.New("broken")
	if _, err := Folder("thing-1", func(dir string) error {
		if err := os.WriteFile(filepath.Join(dir, "half"), nil, 0o644); err != nil {
			t.Error(err)
		}
		return broken
	}); !errors.Is(err, broken) {
		t.Errorf("a failure was answered with %v", err)
	}
	if left, _ := os.ReadDir(root); len(left) > 0 {
		t.Errorf("a failure left %v", left)
	}

	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			dir, err := Folder("thing-1", func(dir string) error { return os.WriteFile(filepath.Join(dir, "whole"), []byte("x"), 0o644) })
			if err != nil {
				t.Error(err)
			}
			if _, err := os.Stat(filepath.Join(dir, "whole")); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if _, err := Folder("thing-1", func(string) error { t.Error("made twice"); return nil }); err != nil {
		t.Error(err)
	}
	if left, _ := os.ReadDir(root); len(left) != 1 {
		t.Errorf("beside it lies %v", left)
	}
}

func TestDownload(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/there" {
			http.NotFound(w, r)
			return
		}
		_, _ = w.Write([]byte("abc"))
	}))
	defer s.Close()
	const sum = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
	file := filepath.Join(t.TempDir(), "file")
	if err := Download(t.Context(), s.URL+"/there", sum, file); err != nil {
		t.Fatal(err)
	}
	if got, _ := os.ReadFile(file); string(got) != "abc" {
		t.Errorf("the file has %q", got)
	}
	if err := Download(t.Context(), s.URL+"/there", sum[1:], file); !errors.Is(err, ErrSum) {
		t.Errorf("another content was answered with %v", err)
	}
	if err := Download(t.Context(), s.URL+"/gone", sum, file); err == nil {
		t.Error("404 was taken for the file")
	}
}

// TestJars gives Maven a project with the artifacts, and keeps what it answers.
func TestJars(t *testing.T) {
	t.Setenv("DENDRO_TEST_CACHE", t.TempDir())
	bin := t.TempDir()
	t.Setenv("PATH", bin)
	if _, err := Jars(t.Context(), "jars-1", "a:b:1"); err == nil || !strings.Contains(err.Error(), "Maven (mvn)") {
		t.Errorf("without Maven: %v", err)
	}
	if err := os.WriteFile(filepath.Join(bin, "mvn"), []byte("#!/bin/sh\necho no such artifact\nexit 1\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := Jars(t.Context(), "jars-1", "a:b:1"); err == nil || !strings.Contains(err.Error(), "no such artifact") {
		t.Errorf("Maven fails: %v", err)
	}
	if err := os.WriteFile(filepath.Join(bin, "mvn"), []byte("#!/bin/sh\nexit 0\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	dir, err := Jars(t.Context(), "jars-1", "a:b:1", "c.d:e:2")
	if err != nil {
		t.Fatal(err)
	}
	project, err := os.ReadFile(filepath.Join(dir, "pom.xml"))
	if err != nil || !strings.Contains(string(project), "<groupId>c.d</groupId><artifactId>e</artifactId><version>2</version>") {
		t.Errorf("Maven was asked for %s, %v", project, err)
	}
}

// TestJarsTogether: Maven's repository is for one process, and several tests may miss jars at once.
func TestJarsTogether(t *testing.T) {
	bin, busy := t.TempDir(), filepath.Join(t.TempDir(), "busy")
	t.Setenv("DENDRO_TEST_CACHE", t.TempDir())
	script := "#!/bin/sh\nmkdir " + busy + " && sleep 0.05 && rmdir " + busy + "\n"
	if err := os.WriteFile(filepath.Join(bin, "mvn"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	var wg sync.WaitGroup
	for _, name := range []string{"one", "two", "three"} {
		wg.Go(func() {
			if _, err := Jars(t.Context(), name, "a:b:1"); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
}
