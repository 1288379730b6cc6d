package program

import (
	"bufio"
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
)

// Server is `dendro serve` as a process.
type Server struct {
	*exec.Cmd
	HTTP, GRPC string        // addresses: http://HOST:PORT and HOST:PORT
	Log        *bytes.Buffer // stderr; read it once the process has ended
}

// StartServer starts a server over s.duckdb in dir and waits until it listens: on free ports
// of loopback, unless the arguments say otherwise. The caller ends it.
func StartServer(dir string, args ...string) (*Server, error) { return start(0, dir, args) }

// StartServerWithin is StartServer with a limit of the address space, in bytes: the server ends
// when it exceeds it.
func StartServerWithin(memory int64, dir string, args ...string) (*Server, error) {
	return start(memory, dir, args)
}

func start(memory int64, dir string, args []string) (*Server, error) {
	c := Command(dir, append([]string{"serve", "--store", "s.duckdb", "--http-listen", "127.0.0.1:0", "--grpc-listen", "127.0.0.1:0"},
		args...)...)
	s := &Server{Cmd: c, Log: &bytes.Buffer{}}
	c.Stderr = s.Log
	if memory > 0 {
		limitMemory(c, memory)
	}
	out, err := c.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := c.Start(); err != nil {
		return nil, err
	}
	lines := bufio.NewScanner(out)
	for _, to := range []*string{&s.HTTP, &s.GRPC} {
		if !lines.Scan() {
			_ = c.Wait() // its log says more
			return nil, fmt.Errorf("the server does not listen: %s", s.Log)
		}
		*to = strings.Fields(lines.Text())[1]
	}
	return s, nil
}

// nextPort counts the ports that FreeAddress returned.
var nextPort atomic.Int32

// FreeAddress returns an address of loopback at which nothing listens, for a program that
// is started later. Its port is below those that systems choose themselves, so that neither
// a connection nor a listener of another test takes it meanwhile.
func FreeAddress(t *testing.T) string {
	t.Helper()
	const first, ports = 20_000, 10_000
	for range ports {
		address := fmt.Sprint("127.0.0.1:", first+(os.Getpid()*16+int(nextPort.Add(1)))%ports)
		if l, err := net.Listen("tcp", address); err == nil {
			l.Close()
			return address
		}
	}
	t.Fatal("no port is free")
	return ""
}

// Kill ends the server without a warning.
func (s *Server) Kill() {
	if s.ProcessState == nil {
		_ = s.Process.Kill() // it may have ended
		_ = s.Wait()
	}
}

// limitMemory limits the address space of a command that has not begun.
func limitMemory(c *exec.Cmd, bytes int64) {
	c.Args = append([]string{"sh", "-c", fmt.Sprintf(`ulimit -v %d && exec "$0" "$@"`, bytes>>10), c.Path}, c.Args[1:]...)
	c.Path = "/bin/sh"
}
