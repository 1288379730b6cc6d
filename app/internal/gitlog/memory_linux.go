package gitlog

import "golang.org/x/sys/unix"

// limitMemory limits the bytes that a process, which has just been started, may allocate.
func limitMemory(pid int, bytes uint64) {
	_ = unix.Prlimit(pid, unix.RLIMIT_DATA, &unix.Rlimit{Cur: bytes, Max: bytes}, nil)
}
