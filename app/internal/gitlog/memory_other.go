//go:build !linux

package gitlog

// limitMemory limits nothing: only Linux lets a process limit another. Patience ends it.
func limitMemory(int, uint64) {}
