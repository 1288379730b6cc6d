//go:build unix

package bench

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

// hold marks a directory as used, for as long as the file is open: the system releases the
// lock of a process that was killed.
func hold(dir string) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_CREATE|os.O_RDWR|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// abandoned reports whether a directory is this user's, and that of a session which was killed.
func abandoned(dir string) bool {
	info, err := os.Lstat(dir)
	if err != nil || !info.IsDir() || info.Sys().(*syscall.Stat_t).Uid != uint32(os.Getuid()) {
		return false
	}
	f, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_RDWR|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return false // it is just being made
	}
	defer f.Close()
	return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil
}

// endAll kills the processes of a session that was killed, where the system lists them.
func endAll(dir string) {
	files, _ := filepath.Glob("/proc/[0-9]*/environ") // none: nothing is listed
	for _, file := range files {
		environment, err := os.ReadFile(file)
		if err != nil {
			continue // of another user, or it has ended
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		if err == nil && pid != os.Getpid() && bytes.Contains(append([]byte{0}, environment...), []byte("\x00"+scratchVariable+"="+dir+"\x00")) {
			_ = syscall.Kill(pid, syscall.SIGKILL) // it may have ended
		}
	}
}
