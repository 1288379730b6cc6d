// Package app is the program: the command line, the server and what only they use, all
// below app/internal.
//
//	files, flags ──cli──▶ query ──▶ render ──▶ text
//	HTTP, gRPC, Kafka ──server──▶ query, traceprof ──▶ JSON, messages
//
// It is the roof of the house: it imports every other floor, and only the main function
// and tests that run the program in their own process import it. It computes nothing;
// package query answers, package ingest reads.
package app

import (
	"io"

	"github.com/dendroprof/dendro/app/internal/cli"
)

// Main runs the command line args (without the program's name) on these streams and
// returns the exit status: 0 fine, 1 error, 2 usage, 3 regression found (`dendro check`).
// SIGINT and SIGTERM end it.
func Main(args []string, in io.Reader, out, errOut io.Writer) int {
	return cli.Main(args, in, out, errOut)
}
