// Package upkeep does the work of a served store that can wait until nothing is imported: it
// has the benchmarks that were imported judged, so that no page waits for it.
//
// A store is quiet when its version has not changed for some time. The package knows no engine
// and no analysis: engines that keep no verdicts have no part here. Roll-ups and the removal of pushed profiles
// are the work of package pushes.
package upkeep

import (
	"context"
	"log/slog"
	"time"

	"github.com/dendroprof/dendro/app/internal/server"
	"github.com/dendroprof/dendro/store"
)

// Quiet is how long a store must be unchanged before what was imported is judged.
const Quiet = 2 * time.Second

// mostShare is the largest share of the time that follow takes while content changes all the time,
// as by pushed profiles.
const mostShare = 0.1

// Part returns the part of the server that calls follow whenever the content did not change
// for some time, and whether the store knows that. Failures are logged once in a row, because a
// full disk stays full for long.
func Part(st store.Store, log *slog.Logger, quiet time.Duration, follow func(context.Context) error) (server.Part, bool) {
	content, versioned := store.As[store.Versioned](st)
	_, keeps := store.As[store.VerdictKeeper](st)
	return server.Part{Name: "changes", Run: func(ctx context.Context) error {
		var next time.Time
		first, failing, seen, done := true, false, uint64(0), uint64(0)
		server.Every(ctx, quiet, func(begin time.Time) {
			version := content.Version()
			changed := first || version != seen
			first, seen = false, version
			if changed || version == done || begin.Before(next) {
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
