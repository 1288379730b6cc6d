// Command neo4j runs a command beside a Neo4j server of its own:
//
//	go run ./test/neo4j -- go test ./store/neo4j/...
//	go run ./test/neo4j -release newest -- go test -short ./store/neo4j ./test/neo4j/e2e
//
// It downloads the server on first use, starts it on a free port with an empty
// database, runs the command with the variables below, stops the server and
// exits with the status of the command. It does not know what the command does.
//
//	DENDRO_TEST_REAL=1           tests that need a real server fail without one
//	DENDRO_TEST_NEO4J            the server's URL, without the password
//	DENDRO_TEST_NEO4J_DATA       the folder with the store files of its database
//	DENDRO_TEST_NEO4J_RELEASE    its version, for tests that start servers themselves
//	DENDRO_NEO4J_PASSWORD        its password
//
// The newest release needs a newer Java than the others. Where there is none, the
// command is not run and the status is 1.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/dendroprof/dendro/test/neo4j/server"
)

func main() {
	var opts server.Options
	release := flag.String("release", "lts", "the server's `release`: lts, newest, or a version of them")
	flag.StringVar(&opts.Heap, "heap", "512m", "the server's heap `size`")
	flag.StringVar(&opts.PageCache, "pagecache", "256m", "the server's page cache `size`")
	flag.StringVar(&opts.Home, "home", "", "`folder` of the server, kept afterwards (default: a temporary one)")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	status := 2
	var err error
	if opts.Release, err = server.ReleaseNamed(*release); err == nil {
		status, err = run(ctx, opts, flag.Args())
	}
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "neo4j:", err)
	}
	os.Exit(status)
}

// run returns the exit status of the command, or another one and what went wrong
// around it.
func run(ctx context.Context, opts server.Options, command []string) (status int, err error) {
	if len(command) == 0 {
		return 2, errors.New("no command to run: neo4j [flags] -- COMMAND [ARGUMENT]")
	}
	s, err := server.Start(ctx, opts)
	if err != nil {
		return 1, fmt.Errorf("not run: %s: %w", strings.Join(command, " "), err)
	}
	fmt.Fprintf(os.Stderr, "neo4j: %s runs at %s\n", opts.Release.Version, s.URL())
	status, err = runBeside(ctx, s, command)
	if stopErr := s.Close(); stopErr != nil {
		return max(status, 1), errors.Join(err, stopErr)
	}
	return status, err
}

// runBeside runs the command with the server's address in its environment. An
// interrupt reaches both; the command is given time to end by itself.
func runBeside(ctx context.Context, s *server.Server, command []string) (int, error) {
	c := exec.CommandContext(ctx, command[0], command[1:]...)
	c.Cancel = func() error { return c.Process.Signal(syscall.SIGTERM) }
	c.WaitDelay = 30 * time.Second
	c.Env = append(os.Environ(), "DENDRO_TEST_REAL=1", "DENDRO_TEST_NEO4J="+s.URL(), "DENDRO_TEST_NEO4J_DATA="+s.DatabaseDir(),
		"DENDRO_TEST_NEO4J_RELEASE="+s.Release().Version, "DENDRO_NEO4J_PASSWORD="+server.Password)
	c.Stdin, c.Stdout, c.Stderr = os.Stdin, os.Stdout, os.Stderr
	err := c.Run()
	var ended *exec.ExitError
	if errors.As(err, &ended) && ended.ExitCode() >= 0 {
		return ended.ExitCode(), nil
	}
	if err != nil {
		return 1, err
	}
	return 0, nil
}
