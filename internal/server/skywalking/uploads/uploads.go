// Package uploads keeps what agents of Apache SkyWalking record on order: the JFR
// files of async-profiler tasks and the pprof files of pprof tasks.
//
// A recording goes through the normal readers into the forest, so that two tasks
// of a service can be compared and regressions found like anything else:
//
//	group      the service
//	benchmark  "async-profiler:instance=NAME" or "pprof:instance=NAME"; so the
//	           base name selects all instances of a task, and instance is a parameter
//	run        the task's id, dated by its start
//	types      those in the file: cpu, wall, alloc, lock, live, …
//
// The original is kept beside it. SkyWalking's clients ask for trees with the
// names as they were recorded and by event, which the forest, whose names are
// normalised, does not have; Tree reads the originals again.
//
// A second recording of an instance for one task takes the place of the first.
// The package knows no protocol: it is used by those of agents and of clients.
package uploads

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/dendroprof/dendro/format"
	"github.com/dendroprof/dendro/internal/ingest"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/testrun"
	"github.com/dendroprof/dendro/traceprof"
)

// MaxSize is how many bytes a recording may have, as SkyWalking's OAP has it.
const MaxSize = 30 << 20

// maxInflated is how many bytes it may have after decompression.
const maxInflated = 32 * MaxSize

// ErrUnreadable is wrapped by the errors about recordings that are not what they
// should be.
var ErrUnreadable = errors.New("the recording cannot be read")

// Options say how recordings are kept.
type Options struct {
	Ingest ingest.Options // Normalizer and Limits are of interest
}

// Uploads keeps recordings in a store. It is safe for concurrent use.
type Uploads struct {
	st   store.Store
	opts Options
}

// New returns uploads into st.
func New(st store.Store, o Options) *Uploads {
	o.Ingest.KeepSource, o.Ingest.Workers, o.Ingest.Conflict = true, 1, store.Replace
	if o.Ingest.Limits.Inflated == 0 {
		o.Ingest.Limits.Inflated = maxInflated
	}
	if o.Ingest.Limits.Message == 0 {
		o.Ingest.Limits.Message = maxInflated
	}
	return &Uploads{st, o}
}

// Benchmark returns under which benchmark the recordings of an instance are kept.
func Benchmark(t *traceprof.Task, instance string) testrun.Benchmark {
	return testrun.Benchmark{Group: t.Service, Name: string(t.Kind) + ":instance=" + instance}
}

// Put stores the recording of an instance. When it returns without an error, the
// recording is durable. Errors that wrap ErrUnreadable are about the recording,
// all others about the store.
func (u *Uploads) Put(ctx context.Context, t *traceprof.Task, instance string, recording []byte) error {
	if err := u.check(t, recording); err != nil {
		return err
	}
	b := Benchmark(t, instance)
	source := ingest.MemorySource(t.ID+"/"+instance, recording)
	source.Label = ingest.Label{Group: b.Group, Benchmark: b.Name,
		Run: testrun.Run{Key: t.ID, Date: time.UnixMilli(t.Start).UTC()}}
	var failed error
	stored := 0
	_, err := ingest.Run(ctx, u.st, []ingest.Source{source}, u.opts.Ingest, func(r ingest.Result) {
		switch r.Status {
		case ingest.Stored, ingest.Unchanged:
			stored++
		default:
			failed = r.Err
		}
	})
	switch {
	case err != nil:
		return err
	case stored == 0 && failed == nil:
		failed = profile.ErrUnrecognized
	}
	if failed == nil {
		return nil
	}
	if unreadable(failed) {
		return fmt.Errorf("%w: %w", ErrUnreadable, failed)
	}
	return failed
}

// check refuses what is no recording of the kind that was ordered: the importer
// would take any profile.
func (u *Uploads) check(t *traceprof.Task, recording []byte) error {
	want := "jfr"
	if t.Kind == traceprof.PprofKind {
		want = "pprof"
	}
	for d, err := range format.NewReader(u.opts.Ingest.Limits).Read("recording", bytes.NewBuffer(recording)) {
		if err != nil {
			return fmt.Errorf("%w: %w", ErrUnreadable, err)
		}
		if d.Format.Name != want {
			return fmt.Errorf("%w: it is %s, not %s", ErrUnreadable, d.Format.Name, want)
		}
	}
	return nil
}

// unreadable reports whether an error of an import is about the file.
func unreadable(err error) bool {
	var place *profile.ParseError
	return errors.As(err, &place) || errors.Is(err, profile.ErrUnrecognized) || errors.Is(err, profile.ErrMalformed) ||
		errors.Is(err, profile.ErrUnsupported) || errors.Is(err, profile.ErrTooLarge)
}

// original returns the recording of an instance, or store.ErrNoSource.
func (u *Uploads) original(ctx context.Context, t *traceprof.Task, instance string) ([]byte, error) {
	profiles, err := u.st.Profiles(ctx, store.Query{Runs: []string{t.ID}})
	if err != nil {
		return nil, err
	}
	want := Benchmark(t, instance)
	for i := range profiles {
		// One file makes a profile of each value type; any of them has it.
		if profiles[i].Benchmark == want && profiles[i].Run.Key == t.ID && profiles[i].HasSource {
			return u.st.Source(ctx, profiles[i].ID)
		}
	}
	return nil, store.ErrNoSource
}
