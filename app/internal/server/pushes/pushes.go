// Package pushes runs the reception of continuous profiles in a server: it connects the
// protocols by which programs push to a store, and does the background work.
//
//	Pyroscope's SDKs (HTTP, Connect, gRPC) ─┐
//	OpenTelemetry (HTTP, gRPC) ─────────────┴▶ intake.Intake ─▶ continuous.Store ─▶ sums of hours and days
//	their lines ────────────────────────────────────────────────▶ a profile a day (lines.Keeper)
//	old windows ───────────────────────────────────────────────▶ removed (Options.Policy)
//	call paths that only they had ─────────────────────────────▶ removed (reclaim)
//
// The package translates no protocol: packages pyroscope and otlp do. It reads no flags.
package pushes

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/dendroprof/dendro/app/internal/server"
	"github.com/dendroprof/dendro/app/internal/server/otlp"
	"github.com/dendroprof/dendro/app/internal/server/pushes/functions"
	"github.com/dendroprof/dendro/app/internal/server/pushes/lines"
	"github.com/dendroprof/dendro/app/internal/server/pyroscope"
	"github.com/dendroprof/dendro/continuous"
	"github.com/dendroprof/dendro/continuous/intake"
	"github.com/dendroprof/dendro/store"
)

// Options configure the reception. Log must be set.
type Options struct {
	Intake intake.Options
	OTLP   otlp.Options
	Policy continuous.Policy
	Room   continuous.Room // of the call paths of the store; zero fields: 5,000,000 paths, 256 MiB
	Lines  int64           // bytes of the profiles with lines in the store; 0: none are kept
	// Functions are those that GET /metrics/functions has; nil: there is no such address.
	Functions *functions.Chosen
	Log       *slog.Logger
}

// Pushes is the reception of profiles into one store. Close it after the server has ended.
type Pushes struct {
	Parts []server.Part

	in    *intake.Intake
	lines *lines.Keeper // nil: none are kept
	log   *slog.Logger
}

// ErrNoWindows is the error for a store that cannot store windows.
var ErrNoWindows = errors.New("this store keeps no continuous profiles: serve a DuckDB file (--store FILE)")

// New connects the parts. It fails if the store does not support windows.
func New(st store.Store, o Options) (*Pushes, error) {
	windows, ok := store.As[continuous.Store](st)
	if !ok {
		return nil, ErrNoWindows
	}
	limited, ok := store.As[continuous.Limited](st)
	if ok {
		o.Intake.HasRoom = limited.HasRoom
	}
	withLines, _ := store.As[continuous.LineStore](st)
	o.Intake.Lines = withLines != nil && o.Lines > 0
	keep, err := o.Keep(st)
	if err != nil {
		return nil, err
	}
	p := To(windows, o)
	p.Parts = append(p.Parts, server.Part{Name: "rollup", Metrics: storeMetrics(windows, limited),
		Run: func(ctx context.Context) error { return keep(ctx, func(context.Context) {}) }})
	if o.Functions != nil {
		p.Parts = append(p.Parts, functions.Part(*o.Functions, windows))
	}
	if o.Intake.Lines {
		p.lines = lines.NewKeeper(p.in, withLines, continuous.LineRoom{Bytes: o.Lines, Share: o.Intake.Share()})
		p.Parts = append(p.Parts, server.Part{Name: "lines", Run: p.keepLines})
	}
	return p, nil
}

// To connects the parts that receive. Windows go to a taker, which brings them to a store.
func To(t continuous.Taker, o Options) *Pushes {
	p := &Pushes{in: intake.New(t, o.Intake), log: o.Log}
	p.Parts = []server.Part{
		{Name: "pushes", Metrics: receptionMetrics(p.in), Ready: func(context.Context) error { return p.in.Err() }},
		pyroscope.New(p.in).Part(),
		otlp.New(p.in, o.OTLP).Part(),
	}
	return p
}

// Upkeep makes the sums of hours and days of a store and removes old windows until a context
// ends. It calls rolled each time.
type Upkeep func(ctx context.Context, rolled func(context.Context)) error

// Keep limits a store, and returns its upkeep.
func (o *Options) Keep(st store.Store) (Upkeep, error) {
	windows, ok := store.As[continuous.Store](st)
	if !ok {
		return nil, ErrNoWindows
	}
	limited, ok := store.As[continuous.Limited](st)
	if ok {
		limited.Limit(continuous.Room{Paths: cmp.Or(o.Room.Paths, 5_000_000), Text: cmp.Or(o.Room.Text, 256<<20), Share: o.Intake.Share()})
	}
	o.Policy.Share = o.Intake.Share()
	return func(ctx context.Context, rolled func(context.Context)) error {
		return o.rollUp(ctx, windows, &reclaimer{st: st, forest: limited, least: reclaimLeast}, rollUpEvery, rolled)
	}, nil
}

// Close stores pending windows and lines. It may be called on nil.
func (p *Pushes) Close() error {
	if p == nil {
		return nil
	}
	err := p.in.Close(context.Background())
	if p.lines != nil {
		_, failed := p.lines.Keep(context.Background(), time.Now(), true)
		err = cmp.Or(err, failed)
	}
	return err
}

// keepLines stores lines until the context ends.
func (p *Pushes) keepLines(ctx context.Context) error {
	server.Every(ctx, lines.Every, func(now time.Time) {
		if _, err := p.lines.Keep(ctx, now, false); err != nil && ctx.Err() == nil {
			p.log.Error("cannot store the lines of pushed profiles; their windows are stored", "error", err)
		}
	})
	return nil
}

const (
	rollUpEvery = time.Minute
	// grace is how long programs may take to push the last windows of an hour; later ones
	// are added to its sum.
	grace = 5 * time.Minute
)

// rollUp makes the sums of hours and days and removes old windows, until the context ends.
func (o *Options) rollUp(ctx context.Context, st continuous.Store, r *reclaimer, every time.Duration,
	then func(context.Context)) error {
	once := func(now time.Time) {
		switch rolled, err := st.RollUp(ctx, now.Add(-grace), o.Policy); {
		case ctx.Err() != nil:
		case err != nil:
			o.Log.Error("cannot sum up or remove windows; trying again", "error", err)
		case rolled != continuous.Rolled{}:
			o.Log.Info("summed up windows", "made", rolled.Made, "removed", rolled.Expired, "paths_removed", rolled.Swept)
			r.expired += rolled.Expired
		}
		then(ctx)
		switch paths, err := r.reclaim(ctx, now); {
		case ctx.Err() != nil:
		case err != nil:
			o.Log.Error("cannot remove call paths that no window has any more; trying again", "error", err)
		case paths > 0:
			o.Log.Info("removed call paths that no window has any more", "paths", paths)
		}
	}
	once(time.Now())
	server.Every(ctx, every, once)
	return nil
}
