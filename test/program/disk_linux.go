package program

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// Disk is a small file system of its own.
type Disk struct{ Dir string }

// NewDisk mounts a disk of so many bytes until the test ends. It skips the test if the
// user may not mount.
func NewDisk(t *testing.T, bytes string) Disk {
	t.Helper()
	d, err := MountDisk(t, bytes)
	if err != nil {
		t.Skip("mounting a small disk: ", err)
	}
	return d
}

// MountDisk is NewDisk for tests that can do without.
func MountDisk(t *testing.T, bytes string) (Disk, error) {
	d := Disk{t.TempDir()}
	if err := syscall.Mount("tmpfs", d.Dir, "tmpfs", 0, "size="+bytes); err != nil {
		return d, err
	}
	t.Cleanup(func() { syscall.Unmount(d.Dir, syscall.MNT_DETACH) })
	return d, nil
}

// filler is the file that takes the free space.
func (d Disk) filler() string { return filepath.Join(d.Dir, "filler") }

// Fill leaves no free space.
func (d Disk) Fill(t *testing.T) {
	t.Helper()
	f, err := os.OpenFile(d.filler(), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for size := 1 << 20; size > 0; size /= 2 {
		for err = nil; err == nil; {
			_, err = f.Write(make([]byte, size))
		}
	}
}

// Free undoes Fill.
func (d Disk) Free(t *testing.T) {
	t.Helper()
	if err := os.Remove(d.filler()); err != nil {
		t.Fatal(err)
	}
}
