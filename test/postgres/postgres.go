// Package postgres runs Debian's PostgreSQL with a folder of its own, for tests.
package postgres

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"time"
)

// Server is a running server.
type Server struct {
	port    int
	dir     string
	command func(ctx context.Context, program string, args ...string) (*exec.Cmd, *bytes.Buffer)
	process *exec.Cmd
}

// Start starts a server with an empty database. Debian's package postgresql has
// the programs.
func Start(ctx context.Context) (p *Server, err error) {
	bin, err := programs()
	if err != nil {
		return nil, err
	}
	p = &Server{}
	if p.dir, err = os.MkdirTemp("", "dendro-postgres-*"); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			p.Stop()
		}
	}()
	as, err := owner(p.dir)
	if err != nil {
		return nil, err
	}
	p.command = func(ctx context.Context, program string, args ...string) (*exec.Cmd, *bytes.Buffer) {
		c := exec.CommandContext(ctx, filepath.Join(bin, program), args...)
		out := new(bytes.Buffer)
		c.Dir, c.Stdout, c.Stderr, c.SysProcAttr = p.dir, out, out, &syscall.SysProcAttr{Credential: as}
		return c, out
	}
	data := filepath.Join(p.dir, "data")
	if c, out := p.command(ctx, "initdb", "-D", data, "-U", "dendro", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync"); c.Run() != nil {
		return nil, fmt.Errorf("%s: %s", c, out)
	}
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p.port = free.Addr().(*net.TCPAddr).Port
	free.Close()
	return p, p.Run(ctx)
}

// Run starts the server on what it has, and waits until it answers.
func (p *Server) Run(ctx context.Context) error {
	c, out := p.command(context.Background(), "postgres", "-D", filepath.Join(p.dir, "data"), "-h", "127.0.0.1", "-p", strconv.Itoa(p.port),
		"-k", p.dir, "-c", "fsync=off")
	if err := c.Start(); err != nil {
		return err
	}
	p.process = c
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		if c, _ := p.command(ctx, "pg_isready", "-h", "127.0.0.1", "-p", strconv.Itoa(p.port)); c.Run() == nil {
			return nil
		}
		if time.Now().After(deadline) || ctx.Err() != nil {
			return fmt.Errorf("PostgreSQL does not answer: %s", out)
		}
	}
}

// Database creates an empty database and returns its URL, which needs no password.
func (p *Server) Database(ctx context.Context, name string) (string, error) {
	if c, out := p.command(ctx, "createdb", "-h", "127.0.0.1", "-p", strconv.Itoa(p.port), "-U", "dendro", name); c.Run() != nil {
		return "", fmt.Errorf("%s: %s", c, out)
	}
	return fmt.Sprintf("postgres://dendro@127.0.0.1:%d/%s", p.port, name), nil
}

// programs returns the folder of the newest installed server's programs.
func programs() (string, error) {
	list, _ := filepath.Glob("/usr/lib/postgresql/*/bin/postgres")
	slices.Sort(list)
	if len(list) > 0 {
		return filepath.Dir(list[len(list)-1]), nil
	}
	path, err := exec.LookPath("postgres")
	if err != nil {
		return "", fmt.Errorf("PostgreSQL is not installed (Debian's package postgresql): %w", err)
	}
	path, err = filepath.EvalSymlinks(path)
	return filepath.Dir(path), err
}

// owner gives a folder to the user that the server runs as, which is not root, and
// returns the user; nil is the user of this process.
func owner(dir string) (*syscall.Credential, error) {
	if os.Getuid() != 0 {
		return nil, nil
	}
	u, err := user.Lookup("postgres")
	if err != nil {
		return nil, err
	}
	uid, err := strconv.Atoi(u.Uid)
	gid, err2 := strconv.Atoi(u.Gid)
	if err := errors.Join(err, err2, os.Chown(dir, uid, gid)); err != nil {
		return nil, err
	}
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
}

// Crash ends the server at once, as a power failure does: it recovers when it runs again.
func (p *Server) Crash() {
	p.process.Process.Signal(syscall.SIGQUIT)
	p.process.Wait()
}

// Stop ends the server and removes its folder.
func (p *Server) Stop() {
	if p.process != nil {
		p.process.Process.Signal(os.Interrupt) // without waiting for its clients
		p.process.Wait()
	}
	os.RemoveAll(p.dir)
}
