// Package plainfile reads and writes files as a whole. It reads those whose author is not trusted: the configuration, the list of
// owners and whatever else a repository brings with it.
//
// Such a name may be anything: a pipe that nobody writes to, a device without an end, a link
// to either, or a file that does not fit into memory. Read and ReadIn return the content of
// regular files up to a size and an error for the rest, and never wait. ReadIn does not leave
// a directory, whatever links say. Both need memory in proportion to what they return.
//
// The package knows no formats. Profiles are not read with it: they may come from pipes, and
// package format bounds them while it reads.
package plainfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// ErrNotPlain: a name is there, but it is no regular file.
var ErrNotPlain = errors.New("not a regular file")

// ErrTooLarge: a file has more bytes than its reader accepts.
var ErrTooLarge = errors.New("file is too large")

// A pipe without a writer would make an open without this flag wait for one.
const flags = os.O_RDONLY | syscall.O_NONBLOCK

// Read returns the content of a regular file of at most max bytes. A link is followed.
// Errors are *fs.PathError; they wrap ErrNotPlain, ErrTooLarge, or what the system says.
func Read(name string, max int64) ([]byte, error) {
	f, err := os.OpenFile(name, flags, 0)
	return read(f, err, name, max)
}

// ReadIn is Read of a name below a directory. A link that leads out of it is an error.
func ReadIn(root *os.Root, name string, max int64) ([]byte, error) {
	f, err := root.OpenFile(name, flags, 0)
	return read(f, err, name, max)
}

func read(f *os.File, err error, name string, max int64) ([]byte, error) {
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, &fs.PathError{Op: "read", Path: name, Err: ErrNotPlain}
	}
	data, err := io.ReadAll(io.LimitReader(f, max+1)) // not info.Size(): it may grow, and files of /proc have none
	if err == nil && int64(len(data)) > max {
		err = &fs.PathError{Op: "read", Path: name, Err: fmt.Errorf("%w: more than %d bytes", ErrTooLarge, max)}
	}
	if err != nil {
		return nil, err
	}
	return data, nil
}

// Replace writes a file beside its name and renames it: others see the old content or all of the new one,
// and a failure leaves nothing. Its user alone may read it, unless write says otherwise.
func Replace(name string, write func(f *os.File) error) error {
	f, err := os.CreateTemp(filepath.Dir(name), ".dendro-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	err = write(f)
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return err
	}
	return os.Rename(f.Name(), name)
}
