package pipeline

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
)

// TestDownload: the action takes the binary of a release that is what its checksum says, and
// builds where there is none.
func TestDownload(t *testing.T) {
	releases, into := t.TempDir(), t.TempDir()
	name := fmt.Sprintf("dendro-v1.2.3-linux-%s", runtime.GOARCH)
	release := filepath.Join(releases, "v1.2.3")
	write := func(path, text string) {
		t.Helper()
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	write(filepath.Join(releases, name, "dendro"), "#!/bin/sh\necho released\n")
	archive := filepath.Join(release, name+".tar.gz")
	write(archive, "")
	if out, err := exec.Command("tar", "-C", releases, "-czf", archive, name).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	data, err := os.ReadFile(archive)
	if err != nil {
		t.Fatal(err)
	}
	sum := func(data []byte) { write(archive+".sha256", fmt.Sprintf("%x  %s.tar.gz\n", sha256.Sum256(data), name)) }
	sum(data)
	status := func(tag, dir string) int {
		c := exec.Command("../../tools/download", tag, dir)
		c.Env = append(os.Environ(), "DENDRO_RELEASES=file://"+releases)
		out, err := c.CombinedOutput()
		if err != nil && c.ProcessState == nil {
			t.Fatalf("%v: %s", err, out)
		}
		return c.ProcessState.ExitCode()
	}
	if s := status("v1.2.3", into); s != 0 {
		t.Fatalf("a release: status %d", s)
	}
	if out, err := exec.Command(filepath.Join(into, "dendro")).Output(); err != nil || string(out) != "released\n" {
		t.Errorf("%q, %v", out, err)
	}
	for tag, want := range map[string]int{"v9.9.9": 3, "main": 3, "2f811b9": 3, "": 3} {
		if s := status(tag, t.TempDir()); s != want {
			t.Errorf("%q: status %d, want %d", tag, s, want)
		}
	}
	sum(append(data, 0))
	other := t.TempDir()
	if s := status("v1.2.3", other); s != 1 {
		t.Errorf("another checksum: status %d", s)
	}
	if _, err := os.Stat(filepath.Join(other, "dendro")); err == nil {
		t.Error("a binary that is not what its checksum says was installed")
	}
}
