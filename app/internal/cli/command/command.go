// Package command is how a command is run: what every command of Dendro's command line
// gets from its process, and how its answer gets out. Env has the streams and the store or
// server to ask (store.go, secrets.go, answer.go); a request becomes flags (flags.go);
// files and samples stand in place of a selection (files.go, sampled.go); results go to a
// Destination, in a Format (destination.go, output.go, written.go); Progress is what a long
// command says meanwhile.
//
// It knows no command: these are the packages beside it, and package cli puts them together.
// Data goes to stdout, talk to stderr.
package command

import (
	"errors"
	"fmt"
	"io"
	"net"
	"syscall"

	"github.com/spf13/cobra"
)

// UsageError says that a command was called wrongly: a flag or an argument is, not the data.
type UsageError struct{ err error }

// Error implements error.
func (e UsageError) Error() string { return e.err.Error() }

// Unwrap returns what the mistake is.
func (e UsageError) Unwrap() error { return e.err }

// Usagef formats the message of a UsageError.
func Usagef(format string, args ...any) error { return Misuse(fmt.Errorf(format, args...)) }

// Misuse returns an error as a UsageError.
func Misuse(err error) error { return UsageError{err} }

// ErrReported ends a command with status 1 after it has said why itself.
var ErrReported = errors.New("reported")

// ErrRegression ends `dendro check` with status 3 after it has said why.
var ErrRegression = errors.New("regression found")

// Env is what a command gets from its process: streams and the store's name.
type Env struct {
	In       io.Reader
	Out, Err io.Writer
	Store    string // --store
	NoColor  bool
	Quiet    bool          // --quiet
	AllFlags bool          // help lists all flags
	screen   io.Writer     // the terminal behind a pager that out is; else nil
	Decoded  *DecodedFiles // of earlier commands; nil outside of batch

	// Interrupted ends the message of an interrupted command that stores profiles.
	Interrupted string

	passwords map[string]string // that were asked for, by user and server
	TokenFile string            // --token-file
	// repositoryStore is the store of a repository's configuration, if nothing else names one.
	repositoryStore string
}

// ReaderLeft reports whether the reader of a pipe that a command writes to had enough. A
// connection to a server that broke is an error.
func ReaderLeft(err error) bool {
	return errors.Is(err, syscall.EPIPE) && !errors.As(err, new(*net.OpError))
}

// Help is what a command does that has commands of its own and is given none of them.
// It lets cobra refuse one that is not there, which it explains and takes for fine else.
func Help(c *cobra.Command, _ []string) error { return c.Help() }
