package command

import (
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"os"
	"syscall"
	"testing"
)

// TestReaderLeft: a pipe whose reader had enough ends a command well; a server that was
// killed while a command wrote to it does not.
func TestReaderLeft(t *testing.T) {
	broken := os.NewSyscallError("write", syscall.EPIPE)
	for _, c := range []struct {
		err  error
		want bool
	}{
		{fmt.Errorf("tree: %w", &fs.PathError{Op: "write", Path: "/dev/stdout", Err: syscall.EPIPE}), true},
		{fmt.Errorf("the connection broke: %w", &url.Error{Op: "Post", URL: "http://localhost",
			Err: &net.OpError{Op: "write", Net: "tcp", Err: broken}}), false},
		{&net.OpError{Op: "write", Net: "tcp", Err: syscall.ECONNRESET}, false},
	} {
		if got := ReaderLeft(c.err); got != c.want {
			t.Errorf("%v: %t", c.err, got)
		}
	}
}
