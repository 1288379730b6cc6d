package pipeline

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/dendroprof/dendro/test/inputs"
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
	tools := t.TempDir()
	attested := func(script string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(tools, "gh"), []byte("#!/bin/sh\n"+script+"\n"), 0o700); err != nil { //nolint:gosec // a program
			t.Fatal(err)
		}
	}
	attested(`case "$*" in "attestation verify "*` + name + `.tar.gz" --repo dendroprof/dendro "*) ;; *) exit 9 ;; esac`)
	status := func(tag, dir string) int {
		c := exec.Command("../../tools/download", tag, dir)
		c.Env = append(os.Environ(), "DENDRO_RELEASES=file://"+releases, "PATH="+tools+":"+os.Getenv("PATH"))
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
	attested("exit 1")
	forged := t.TempDir()
	if s := status("v1.2.3", forged); s != 1 {
		t.Errorf("without a statement of who built it: status %d", s)
	}
	if _, err := os.Stat(filepath.Join(forged, "dendro")); err == nil {
		t.Error("a binary without a statement was installed")
	}
	attested("")
	sum(append(data, 0))
	other := t.TempDir()
	if s := status("v1.2.3", other); s != 1 {
		t.Errorf("another checksum: status %d", s)
	}
	if _, err := os.Stat(filepath.Join(other, "dendro")); err == nil {
		t.Error("a binary that is not what its checksum says was installed")
	}
}

// TestReleaseTags: tags that are no versions are not released, and nothing in them runs.
func TestReleaseTags(t *testing.T) {
	inputs.Files("../../Makefile", "../../tools")
	mark := filepath.Join(t.TempDir(), "ran")
	for tag, refused := range map[string]bool{
		"v1;touch$IFS" + mark + ";false;": true, "v1$(touch " + mark + ")": true, "v1$(shell touch " + mark + ")": true,
		"v1`touch " + mark + "`": true,
		"v1.2.3' -X 'x":          true, "-v1": true, "latest": true, "v1.2": true, "v1.2.3/../../x": true, "v1.2.3": false, "v1.2.3-rc.1": false,
	} {
		for _, c := range []*exec.Cmd{exec.Command("tools/release", "wrong"), exec.Command("make", "release", "ARCH=wrong"),
			exec.Command("make", "release", "ARCH=wrong", "VERSION="+tag)} {
			c.Dir = "../.."
			c.Env = append(os.Environ(), "GITHUB_REF_TYPE=tag", "VERSION="+tag)
			out, err := c.CombinedOutput()
			// A version gets as far as the architecture, which is none.
			if err == nil || refused == strings.Contains(string(out), "not amd64 or arm64") || refused != strings.Contains(string(out), "version") {
				t.Errorf("%s with %q: %v: %s", c.Args[0], tag, err, out)
			}
			if _, err := os.Stat(mark); err == nil {
				t.Fatalf("%s with %q ran a command", c.Args[0], tag)
			}
		}
	}
}

// TestPinned: workflows and the action name other actions by commit, and the image its base by
// digest.
func TestPinned(t *testing.T) {
	files, err := filepath.Glob("../../.github/workflows/*.yml")
	if err != nil {
		t.Fatal(err)
	}
	action, base := regexp.MustCompile(`^[\w./-]+@[0-9a-f]{40} # v\d`), regexp.MustCompile(`^[\w./:-]+@sha256:[0-9a-f]{64}$`)
	uses := map[string]int{}
	for _, file := range append(files, "../../action.yml", "../../Dockerfile") {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(data)) {
			word, name, _ := strings.Cut(strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(line), "- ")), " ")
			if word == "uses:" && !action.MatchString(name) || word == "FROM" && !base.MatchString(name) {
				t.Errorf("%s: %s", file, line)
			}
			uses[word]++
		}
	}
	if uses["uses:"] == 0 || uses["FROM"] == 0 {
		t.Errorf("no action or no base is used: %v", uses)
	}
}
