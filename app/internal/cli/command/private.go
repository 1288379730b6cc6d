package command

import (
	"os"
	"syscall"
)

// keepPrivate makes the files that the process creates readable by its user only. Call it
// before a store is created or changed: it covers the file, its log, and spilled data.
// A store that chmod has opened to others stays as it is.
func keepPrivate(where string) {
	if info, err := os.Stat(where); err == nil && info.Mode().Perm()&0o077 != 0 {
		return
	}
	syscall.Umask(syscall.Umask(0o077) | 0o077)
}

// KeepUmask returns what undoes keepPrivate.
func KeepUmask() (restore func()) {
	old := syscall.Umask(0o077)
	syscall.Umask(old)
	return func() { syscall.Umask(old) }
}
