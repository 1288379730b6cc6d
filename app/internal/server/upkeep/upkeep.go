// Package upkeep does the work of a served store that can wait until nothing is imported: it
// writes the rows of functions that queries would compute from call trees otherwise.
//
// A store is quiet when its version has not changed for some time. The package knows no engine:
// those that have nothing to write have no part here. Roll-ups and the removal of pushed profiles
// are the work of package pushes.
package upkeep

import (
	"context"
	"log/slog"
	"time"

	"github.com/dendroprof/dendro/app/internal/server"
	"github.com/dendroprof/dendro/store"
)

// Quiet is how long a store must be unchanged before its rows of functions are written, so
// that an import does not wait for it again and again.
const Quiet = 10 * time.Second

// Part returns the part of the server that writes what queries would compute from call
// trees, and whether the store has such a thing.
func Part(st store.Store, log *slog.Logger, quiet time.Duration) (server.Part, bool) {
	writer, ok := st.(store.RowWriter)
	content, versioned := st.(store.Versioned)
	return server.Part{Name: "rows", Run: func(ctx context.Context) error {
		writeRows(ctx, writer, content, log, quiet)
		return nil
	}}, ok && versioned
}

// writeRows writes rows whenever the content did not change for some time, until the context
// ends. Failures are logged once in a row, because a full disk stays full for long.
func writeRows(ctx context.Context, writer store.RowWriter, content store.Versioned, log *slog.Logger, quiet time.Duration) {
	seen, failing := uint64(0), false
	tick := time.NewTicker(quiet)
	defer tick.Stop()
	for first := true; ; first = false {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		version := content.Version()
		unchanged := version == seen && !first
		if seen = version; !unchanged {
			continue
		}
		more, err := true, error(nil)
		for more && err == nil && ctx.Err() == nil && content.Version() == seen {
			more, err = writer.WriteRows(ctx)
		}
		if err != nil && !failing && ctx.Err() == nil {
			log.Error("cannot write the rows of functions; queries compute them, trying again", "error", err)
		}
		failing = err != nil
	}
}
