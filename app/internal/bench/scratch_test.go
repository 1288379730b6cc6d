//go:build linux

package bench

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// TestScratchOfTheKilled: the next session removes the directory and ends the program of one
// that was killed, and leaves those of one that runs alone.
func TestScratchOfTheKilled(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	t.Setenv(scratchVariable, "")
	running, remove, err := Scratch()
	if err != nil {
		t.Fatal(err)
	}
	killed := filepath.Join(os.TempDir(), "dendro-bench-killed")
	made := filepath.Join(os.TempDir(), "dendro-bench-made") // has no lock yet
	if err := errors.Join(os.MkdirAll(filepath.Join(killed, "x"), 0o700), os.WriteFile(filepath.Join(killed, "lock"), nil, 0o600),
		os.Mkdir(made, 0o700)); err != nil {
		t.Fatal(err)
	}
	start := func(dir string) (ended chan bool, kill func()) {
		c := exec.Command("sleep", "60")
		c.Env = append(os.Environ(), scratchVariable+"="+dir)
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		ended = make(chan bool)
		go func() { _ = c.Wait(); close(ended) }()
		return ended, func() { _ = c.Process.Kill(); <-ended }
	}
	left, _ := start(killed)
	alive, end := start(running)
	defer end()
	time.Sleep(50 * time.Millisecond) // until their environment is theirs
	_, removeNext, err := Scratch()
	if err != nil {
		t.Fatal(err)
	}
	select {
	case <-left:
	case <-time.After(20 * time.Second):
		t.Error("the program of the killed session runs")
	}
	select {
	case <-alive:
		t.Error("the program of a running session was ended")
	default:
	}
	for dir, want := range map[string]bool{killed: false, running: true, made: true} {
		if _, err := os.Stat(dir); (err == nil) != want {
			t.Errorf("%s: %v", dir, err)
		}
	}
	if err := errors.Join(remove(), removeNext()); err != nil {
		t.Error(err)
	}
}
