// Package server runs a real Neo4j Community server for tests: it downloads a
// release, starts it on a free port of the loopback interface with a password
// and a data folder of its own, waits until it answers, and stops or kills it.
//
// It knows processes and files and nothing of what is stored: no driver, no
// Cypher. A machine needs Java and, for the first download, Maven; without them
// the errors say so. Containers are not used.
package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// The account of a fresh server.
const (
	User     = "neo4j"
	Password = "dendro-test"
)

// How long a start and a stop may take, on a busy machine.
const (
	startPatience = 3 * time.Minute
	stopPatience  = time.Minute
)

// Options says how to run a server. The zero value is the release with
// long-term support and 512 MB of heap, in a temporary folder.
type Options struct {
	Release   Release
	Heap      string // as Java writes it: 512m, 2g
	PageCache string // as Neo4j writes it: 256m
	Home      string // folder of the server; empty: a temporary one that Close removes
}

// Server is a server that was started. Its methods are not safe for concurrent
// use.
type Server struct {
	opts    Options
	java    string
	lib     string
	home    string
	remove  bool
	port    int
	process *exec.Cmd
	ended   chan error // receives once when the process ends
}

// Start downloads the release if necessary, makes a home with an empty database
// and starts a server in it. It returns when the server answers.
func Start(ctx context.Context, opts Options) (*Server, error) {
	if opts.Release.Version == "" {
		opts.Release = LTS
	}
	if opts.Heap == "" {
		opts.Heap = "512m"
	}
	if opts.PageCache == "" {
		opts.PageCache = "256m"
	}
	s := &Server{opts: opts, home: opts.Home}
	if err := s.prepare(ctx); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	if err := s.Restart(ctx); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// prepare makes everything that a start needs.
func (s *Server) prepare(ctx context.Context) (err error) {
	if s.java, err = s.opts.Release.java(ctx); err != nil {
		return err
	}
	if s.lib, err = s.opts.Release.Install(ctx); err != nil {
		return err
	}
	if s.home == "" {
		if s.home, err = os.MkdirTemp("", "neo4j-"); err != nil {
			return err
		}
		s.remove = true
	}
	if s.home, err = filepath.Abs(s.home); err != nil {
		return err
	}
	for _, dir := range []string{"conf", "logs", "run", "plugins", "data"} {
		if err := os.MkdirAll(filepath.Join(s.home, dir), 0o755); err != nil {
			return err
		}
	}
	if s.port, err = freePort(); err != nil {
		return err
	}
	// A short quiet period: the server waits for it when it stops.
	conf := fmt.Sprintf(`server.default_listen_address=127.0.0.1
server.bolt.enabled=true
server.bolt.listen_address=127.0.0.1:%[1]d
server.bolt.advertised_address=127.0.0.1:%[1]d
server.http.enabled=false
server.directories.data=data
server.memory.pagecache.size=%[2]s
dbms.usage_report.enabled=false
db.tx_log.rotation.retention_policy=keep_none
internal.dbms.bolt.netty_server_shutdown_quiet_period=0
`, s.port, s.opts.PageCache)
	if err := os.WriteFile(filepath.Join(s.home, "conf", "neo4j.conf"), []byte(conf), 0o644); err != nil {
		return err
	}
	return s.Admin(ctx, s.home, "dbms", "set-initial-password", Password)
}

// freePort returns a port that nothing listens on just now.
func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}

// URL returns the address of the server for drivers, without the password.
func (s *Server) URL() string { return fmt.Sprintf("neo4j://%s@%s", User, s.Address()) }

// Address returns host and port of the Bolt listener.
func (s *Server) Address() string { return fmt.Sprintf("127.0.0.1:%d", s.port) }

// Release returns what runs.
func (s *Server) Release() Release { return s.opts.Release }

// DatabaseDir returns the folder with the store files of the default database.
func (s *Server) DatabaseDir() string { return filepath.Join(s.home, "data", "databases", "neo4j") }

// Restart starts the server again, on the same port and data, after Stop or
// Kill. It returns when the server answers.
func (s *Server) Restart(ctx context.Context) error {
	if s.process != nil {
		return errors.New("the server runs already")
	}
	logName := filepath.Join(s.home, "logs", "console.log")
	console, err := os.Create(logName)
	if err != nil {
		return err
	}
	defer console.Close()
	s.process = exec.Command(s.java, s.arguments([]string{"-Xms" + s.opts.Heap, "-Xmx" + s.opts.Heap, "-XX:+UseParallelGC"},
		s.opts.Release.MainClass, "--home-dir="+s.home, "--config-dir="+filepath.Join(s.home, "conf"))...)
	s.process.Dir = s.home
	s.process.Stdout, s.process.Stderr = console, console
	if err := s.process.Start(); err != nil {
		s.process = nil
		return err
	}
	ended, process := make(chan error, 1), s.process
	s.ended = ended
	go func() { ended <- process.Wait() }()
	ctx, cancel := context.WithTimeout(ctx, startPatience)
	defer cancel()
	for !s.answers() {
		select {
		case err := <-ended:
			s.process = nil
			return fmt.Errorf("Neo4j %s ended at its start: %w\n%s", s.opts.Release.Version, err, s.logs())
		case <-ctx.Done():
			return errors.Join(fmt.Errorf("Neo4j %s does not answer on %s: %w\n%s", s.opts.Release.Version, s.Address(), ctx.Err(), s.logs()),
				s.Kill())
		case <-time.After(100 * time.Millisecond):
		}
	}
	return nil
}

// arguments returns those of a Java machine that runs a class of the release with
// arguments of its own.
func (s *Server) arguments(memory []string, class string, args ...string) []string {
	return slices.Concat(memory,
		[]string{"--add-opens=java.base/java.nio=ALL-UNNAMED", "--add-opens=java.base/java.io=ALL-UNNAMED",
			"--add-opens=java.base/sun.nio.ch=ALL-UNNAMED"},
		s.opts.Release.Flags, []string{"-cp", filepath.Join(s.lib, "*"), class}, args)
}

// answers reports whether the server has started and takes part in a Bolt
// handshake. Both are asked: the port opens before the database does, and the
// log may be of an earlier start.
func (s *Server) answers() bool {
	log, err := os.ReadFile(filepath.Join(s.home, "logs", "neo4j.log"))
	if err != nil {
		return false
	}
	_, sinceStart, _ := cutLast(string(log), "Starting...")
	if !strings.Contains(sinceStart, "Started.") {
		return false
	}
	conn, err := net.DialTimeout("tcp", s.Address(), time.Second)
	if err != nil {
		return false
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(5 * time.Second)) //nolint:errcheck // a connection without it fails below
	// The magic number and four proposals: 5.x from 5.4 down, 4.4, none, none.
	hello := []byte{0x60, 0x60, 0xb0, 0x17, 0, 4, 4, 5, 0, 0, 4, 4, 0, 0, 0, 0, 0, 0, 0, 0}
	if _, err := conn.Write(hello); err != nil {
		return false
	}
	var version [4]byte
	_, err = io.ReadFull(conn, version[:])
	return err == nil && version[3] != 0
}

// cutLast is strings.Cut around the last sep.
func cutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return "", s, false
}

// logs returns the last lines that the server wrote.
func (s *Server) logs() string {
	var all string
	for _, name := range []string{"console.log", "neo4j.log"} {
		text, _ := os.ReadFile(filepath.Join(s.home, "logs", name))
		all += tail(string(text)) + "\n"
	}
	return all
}

// Stop ends the server in order; Restart starts it again. A server that is not
// running is no error.
func (s *Server) Stop() error { return s.end(syscall.SIGTERM) }

// Kill ends the server as a crash does: nothing is written any more.
func (s *Server) Kill() error { return s.end(syscall.SIGKILL) }

func (s *Server) end(signal syscall.Signal) error {
	if s.process == nil {
		return nil
	}
	err := s.process.Process.Signal(signal)
	if errors.Is(err, os.ErrProcessDone) {
		err = nil
	}
	select {
	case <-s.ended:
	case <-time.After(stopPatience):
		err = errors.Join(err, fmt.Errorf("Neo4j did not stop within %s", stopPatience), s.process.Process.Kill())
		<-s.ended
	}
	s.process = nil
	return err
}

// Admin runs the server's administration tool in a folder, as `neo4j-admin` does.
// Most of its commands want the server stopped.
func (s *Server) Admin(ctx context.Context, dir string, args ...string) error {
	c := exec.CommandContext(ctx, s.java, s.arguments([]string{"-Xmx512m"}, "org.neo4j.cli.AdminTool", args...)...)
	c.Dir = dir
	c.Env = append(os.Environ(), "NEO4J_HOME="+s.home, "NEO4J_CONF="+filepath.Join(s.home, "conf"))
	if out, err := c.CombinedOutput(); err != nil {
		return fmt.Errorf("neo4j-admin %s: %w\n%s", strings.Join(args[:min(2, len(args))], " "), err, tail(string(out)))
	}
	return nil
}

// Close stops the server and removes its temporary folder.
func (s *Server) Close() error {
	err := s.Stop()
	if s.remove {
		err = errors.Join(err, os.RemoveAll(s.home))
	}
	return err
}

// tail returns the last lines of a program's output.
func tail(s string) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	return strings.Join(lines[max(0, len(lines)-20):], "\n")
}
