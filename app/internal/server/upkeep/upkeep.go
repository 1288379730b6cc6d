// Package upkeep does the work of a served store that can wait until nothing is imported: it
// writes the rows of functions that queries would compute from call trees otherwise, and judges
// the benchmarks that were imported, so that no page waits for it.
//
// A store is quiet when its version has not changed for some time. The package knows no engine
// and no analysis: engines that have nothing to write have no part here. Roll-ups and the removal of pushed profiles
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
	writer, ok := store.As[store.RowWriter](st)
	content, versioned := store.As[store.Versioned](st)
	return server.Part{Name: "rows", Run: func(ctx context.Context) error {
		writeRows(ctx, writer, content, log, quiet)
		return nil
	}}, ok && versioned
}

// FollowQuiet is how long a store must be unchanged before what was imported is judged.
const FollowQuiet = 2 * time.Second

// mostShare is the largest share of the time that follow takes while content changes all the time,
// as by pushed profiles.
const mostShare = 0.1

// Following returns the part of the server that calls follow whenever the content did not change
// for some time, and whether the store knows that.
func Following(st store.Store, log *slog.Logger, quiet time.Duration, follow func(context.Context) error) (server.Part, bool) {
	content, versioned := store.As[store.Versioned](st)
	_, keeps := store.As[store.VerdictKeeper](st)
	return server.Part{Name: "changes", Run: func(ctx context.Context) error {
		var next time.Time
		failing, done := false, uint64(0)
		whenQuiet(ctx, content, quiet, func(version uint64) {
			begin := time.Now()
			if version == done || begin.Before(next) {
				return
			}
			err := follow(ctx)
			if err == nil {
				done = version
			}
			if err != nil && !failing && ctx.Err() == nil {
				log.Error("cannot judge what was imported; queries do it, trying again", "error", err)
			}
			failing = err != nil
			next = begin.Add(time.Duration(float64(time.Since(begin)) / mostShare))
		})
		return nil
	}}, versioned && keeps
}

// whenQuiet calls do whenever the content did not change for some time since it did, until the
// context ends.
func whenQuiet(ctx context.Context, content store.Versioned, quiet time.Duration, do func(version uint64)) {
	seen := uint64(0)
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
		if seen = version; unchanged {
			do(version)
		}
	}
}

// writeRows writes rows whenever the content did not change for some time, until the context
// ends. Failures are logged once in a row, because a full disk stays full for long.
func writeRows(ctx context.Context, writer store.RowWriter, content store.Versioned, log *slog.Logger, quiet time.Duration) {
	failing := false
	whenQuiet(ctx, content, quiet, func(seen uint64) {
		more, err := true, error(nil)
		for more && err == nil && ctx.Err() == nil && content.Version() == seen {
			more, err = writer.WriteRows(ctx)
		}
		if err != nil && !failing && ctx.Err() == nil {
			log.Error("cannot write the rows of functions; queries compute them, trying again", "error", err)
		}
		failing = err != nil
	})
}
