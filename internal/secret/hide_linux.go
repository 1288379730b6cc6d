package secret

import "syscall"

// Hide makes the memory and environment of this process unreadable for other processes of its
// user, such as those that it starts: /proc has a process's variables, removed ones too. It
// does not hold against root.
func Hide() error {
	const setDumpable = 4 // PR_SET_DUMPABLE
	if _, _, errno := syscall.RawSyscall(syscall.SYS_PRCTL, setDumpable, 0, 0); errno != 0 {
		return errno
	}
	return nil
}
