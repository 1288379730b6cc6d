package server

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestReleaseNamed(t *testing.T) {
	for name, want := range map[string]string{"lts": LTS.Version, "newest": Newest.Version, LTS.Version: LTS.Version} {
		if r, err := ReleaseNamed(name); err != nil || r.Version != want {
			t.Errorf("%s: %s, %v", name, r.Version, err)
		}
	}
	if _, err := ReleaseNamed("4.4"); err == nil || !strings.Contains(err.Error(), LTS.Version) {
		t.Errorf("an unknown release: %v", err)
	}
}

// TestMissing wants the errors on a machine without Java or Maven to say what to
// install, before anything is made.
func TestMissing(t *testing.T) {
	cache := t.TempDir()
	t.Setenv("DENDRO_TEST_CACHE", cache)
	bin := t.TempDir()
	t.Setenv("PATH", bin)
	t.Setenv("JAVA_HOME", "")
	t.Setenv("DENDRO_TEST_JAVA", filepath.Join(bin, "java"))

	future := Release{Version: "9999", Java: 9999}
	if _, err := Start(t.Context(), Options{Release: future}); err == nil ||
		!strings.Contains(err.Error(), "no Java that is new enough: Neo4j 9999 needs Java 9999 or newer") {
		t.Errorf("without Java: %v", err)
	}
	for text, want := range map[string]string{
		`openjdk version "17.0.15" 2025-04-15`: "is 17", `openjdk version "1.8.0_412"`: "is 1", "gcj": "does not say its version",
	} {
		script := "#!/bin/sh\necho '" + text + "' >&2\n"
		if err := os.WriteFile(filepath.Join(bin, "java"), []byte(script), 0o755); err != nil {
			t.Fatal(err)
		}
		if _, err := future.java(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
	if _, err := LTS.Install(t.Context()); err == nil || !strings.Contains(err.Error(), "Maven (mvn)") {
		t.Errorf("without Maven: %v", err)
	}
	for _, left := range leftIn(t, cache) {
		t.Errorf("left in the cache: %s", left)
	}
	if err := os.WriteFile(filepath.Join(bin, "mvn"), []byte("#!/bin/sh\necho no such artifact\nexit 1\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := LTS.Install(t.Context()); err == nil || !strings.Contains(err.Error(), "no such artifact") {
		t.Errorf("Maven fails: %v", err)
	}
	for _, left := range leftIn(t, cache) {
		t.Errorf("left in the cache: %s", left)
	}
}

// leftIn lists what is in a cache but for the lock of Maven, which stays.
func leftIn(t *testing.T, cache string) []string {
	t.Helper()
	all, err := filepath.Glob(filepath.Join(cache, "*"))
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(all, func(path string) bool { return filepath.Base(path) == "maven.lock" })
}

// TestJava wants the first Java that is new enough, wherever it is.
func TestJava(t *testing.T) {
	homes := t.TempDir()
	install := func(name, version string) string {
		path := filepath.Join(homes, name, "bin", "java")
		script := "#!/bin/sh\necho 'openjdk version \"" + version + "\"' >&2\n"
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(script), 0o755)); err != nil {
			t.Fatal(err)
		}
		return path
	}
	of17, of9001, of9003 := install("17", "17.0.15"), install("9001", "9001.0.1"), install("9003", "9003-ea")
	t.Setenv("DENDRO_TEST_JAVA", "")
	t.Setenv("JAVA_HOME", filepath.Join(homes, "17"))
	t.Setenv("PATH", filepath.Dir(of17))
	t.Setenv("JAVA_HOME_9001_X64", filepath.Join(homes, "9001"))
	t.Setenv("JAVA_HOME_9003_X64", filepath.Join(homes, "9003"))
	for oldest, want := range map[int]string{17: of17, 9000: of9001, 9002: of9003} {
		if path, err := (Release{Java: oldest}).java(t.Context()); err != nil || path != want {
			t.Errorf("Java %d or newer is %q, %v; want %s", oldest, path, err, want)
		}
	}
	if _, err := (Release{Java: 9999}).java(t.Context()); err == nil || strings.Count(err.Error(), of17) != 1 {
		t.Errorf("a Java that is found twice is listed twice: %v", err)
	}
}
