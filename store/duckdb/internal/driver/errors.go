package driver

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"

	bind "github.com/duckdb/duckdb-go-bindings"

	"github.com/dendroprof/dendro/store"
)

// errClosed reports that a method was called after Close.
var errClosed = errors.New("the store is closed")

// Error is an error as DuckDB reports it.
type Error struct {
	message string
	sql     string // ours, or empty
}

// Error returns DuckDB's message.
func (e *Error) Error() string { return strings.TrimSpace(e.message) }

// NewError returns the error with DuckDB's message.
func NewError(message string) error { return &Error{message: message} }

func resultError(res *bind.Result, sql string) error {
	return &Error{message: bind.ResultError(res), sql: sql}
}

// lockHolder finds the program and the process id in DuckDB's message.
var lockHolder = regexp.MustCompile(`Conflicting lock is held in (.+?) \(PID (\d+)\)`)

// Translate wraps an error of DuckDB in the error of package store that callers
// branch on. DuckDB classifies most of these as "IO Error" only, so its text
// decides.
func Translate(path string, err error) error {
	var e *Error
	if err == nil || !errors.As(err, &e) || isTranslated(err) {
		return err
	}
	has := func(parts ...string) bool {
		return slices.ContainsFunc(parts, func(p string) bool { return strings.Contains(e.message, p) })
	}
	switch {
	case has("Could not set lock on file"):
		return lockedError(path, e)
	case has("No space left on device", "Could not write all bytes", "File too large", "Disk quota exceeded"):
		return fmt.Errorf("%s: %w: free some space and repeat the command; what was committed is safe, nothing of the failed change was stored (%w)", path, store.ErrNoSpace, err)
	case has("is not a valid DuckDB database file"):
		return NotStore(path, "it is not a DuckDB file")
	case has("Trying to read a database file with version number", "newer version of DuckDB", "newer DuckDB version"):
		return fmt.Errorf("%s: %w: its DuckDB format is not known to the DuckDB %s in this program, use a newer dendro (%w)", path, store.ErrNewer, bind.LibraryVersion(), err)
	case has("attached in read-only mode", "read-only file system", "Read-only file system", "Permission denied", "Cannot open database"):
		return fmt.Errorf("%s: %w: check the permissions of the file and its directory, or give another --store (%w)", path, store.ErrReadOnly, err)
	case has("Corrupt", "corrupt", "checksum", "INTERNAL Error", "Failure while replaying WAL",
		"Serialization Error", "does not exist!", "Could not read enough bytes", "Could not read all bytes", "Failed to deserialize",
		"out of buffer"):
		return fmt.Errorf("%s: %w: restore it from a copy or import the profiles again (%w)", path, store.ErrCorrupt, err)
	case has(invalidated):
		// A write failed, mostly for a full disk, and the next call opens the file again.
		return fmt.Errorf("%s: DuckDB closed the database after a write failed, and opens it again now: repeat the command; what was committed is safe (%w)", path, err)
	}
	return fmt.Errorf("%s: %w", path, err)
}

// invalidated is part of all errors after one because of which DuckDB closed the database.
const invalidated = "database has been invalidated"

// isTranslated reports whether an error wraps one that callers branch on.
func isTranslated(err error) bool {
	list := []error{store.ErrLocked, store.ErrNewer, store.ErrNotStore, store.ErrCorrupt, store.ErrReadOnly, store.ErrNoSpace}
	return slices.ContainsFunc(list, func(known error) bool { return errors.Is(err, known) })
}

func lockedError(path string, e *Error) error {
	holder := "another process"
	if m := lockHolder.FindStringSubmatch(e.message); m != nil {
		holder = fmt.Sprintf("process %s (%s)", m[2], commandOf(m[2], m[1]))
	}
	return fmt.Errorf("%s: %w: %s has it open; if that is `dendro serve`, use its address, as in --store http://localhost:12800, else wait until it ends", path, store.ErrLocked, holder)
}

// commandOf returns the command line of a process where the system has /proc, otherwise
// its program.
func commandOf(pid, program string) string {
	line, err := os.ReadFile("/proc/" + pid + "/cmdline")
	if words := strings.Split(strings.TrimRight(string(line), "\x00"), "\x00"); err == nil && words[0] != "" {
		return strings.Join(words, " ")
	}
	return program
}

// NotStore returns the error for a file that is not a store.
func NotStore(path, why string) error {
	return fmt.Errorf("%s: %w: %s; it was not changed, give another --store", path, store.ErrNotStore, why)
}

// Corruptf returns an error that wraps store.ErrCorrupt.
func Corruptf(format string, args ...any) error {
	return fmt.Errorf("%w: %s; restore it from a copy or import the profiles again", store.ErrCorrupt, fmt.Sprintf(format, args...))
}

// isFatal reports whether DuckDB refuses further statements on the database.
func isFatal(e *Error) bool {
	return strings.Contains(e.message, invalidated) || strings.HasPrefix(e.message, "FATAL Error")
}
