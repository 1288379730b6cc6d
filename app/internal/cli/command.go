package cli

import (
	"errors"
	"fmt"
	"io"
	"net"
	"syscall"

	"github.com/spf13/cobra"
)

// usageError is a mistake in the call, not in the data.
type usageError struct{ err error }

func (e usageError) Error() string { return e.err.Error() }
func (e usageError) Unwrap() error { return e.err }

// usagef returns a mistake in the call.
func usagef(format string, args ...any) error { return misuse(fmt.Errorf(format, args...)) }

// misuse marks an error as a mistake in the call.
func misuse(err error) error { return usageError{err} }

// errReported ends a command with status 1 after it has said why itself.
var errReported = errors.New("reported")

// errRegression ends `dendro check` with status 3 after it has said why.
var errRegression = errors.New("regression found")

// env is what a command gets from its process: streams and the store's name.
type env struct {
	in       io.Reader
	out, err io.Writer
	store    string // --store
	noColor  bool
	quiet    bool          // --quiet
	allFlags bool          // help lists all flags
	screen   io.Writer     // the terminal behind a pager that out is; else nil
	decoded  *decodedFiles // of earlier commands; nil outside of batch

	// interrupted ends the message of an interrupted command that stores profiles.
	interrupted string

	passwords map[string]string // that were asked for, by user and server
	tokenFile string            // --token-file
	// repositoryStore is the store of a repository's configuration, if nothing else names one.
	repositoryStore string
}

// readerLeft reports whether the reader of a pipe that a command writes to had enough. A
// connection to a server that broke is an error.
func readerLeft(err error) bool {
	var connection *net.OpError
	return errors.Is(err, syscall.EPIPE) && !errors.As(err, &connection)
}

// help is what a command does that has commands of its own and is given none of them.
// It lets cobra refuse one that is not there, which it explains and takes for fine else.
func help(c *cobra.Command, _ []string) error { return c.Help() }
