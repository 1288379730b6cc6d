package cli

import (
	"os"
	"syscall"
)

// keepPrivate makes the files that the process creates readable by its user only, before it
// creates a store or changes one that is: the file, its log, and what is spilled beside it.
// A store that others may read, because somebody has said so with chmod, stays as it is.
func keepPrivate(where string) {
	if info, err := os.Stat(where); err == nil && info.Mode().Perm()&0o077 != 0 {
		return
	}
	syscall.Umask(syscall.Umask(0o077) | 0o077)
}

// keepUmask returns what undoes keepPrivate.
func keepUmask() (restore func()) {
	old := syscall.Umask(0o077)
	syscall.Umask(old)
	return func() { syscall.Umask(old) }
}
