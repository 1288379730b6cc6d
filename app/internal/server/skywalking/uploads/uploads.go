// Package uploads stores recordings of agents of Apache SkyWalking: the JFR files of
// async-profiler tasks and the pprof files of pprof tasks.
//
// A recording is imported like other files, so that tasks of a service can be compared and
// regressions found:
//
//	group      the service
//	benchmark  "async-profiler:instance=NAME" or "pprof:instance=NAME": the base name
//	           selects all instances, and instance is a parameter
//	run        the task's id, dated by its start
//	types      those in the file: cpu, wall, alloc, lock, live, …
//
// The original file is stored too: SkyWalking's clients request trees with the recorded
// names and by event, and stored profiles have normalised names. Tree reads the originals.
//
// A second recording of an instance for one task replaces the first. The package knows no
// protocol; those of agents and of clients use it.
package uploads

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/dendroprof/dendro/format"
	"github.com/dendroprof/dendro/ingest"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/testrun"
	"github.com/dendroprof/dendro/traceprof"
)

// MaxSize is the maximum size of a recording in bytes, the same as in SkyWalking's OAP.
const MaxSize = 30 << 20

// maxInflated is the maximum size after decompression.
const maxInflated = 8 * MaxSize

// ErrUnreadable is wrapped by errors about recordings that cannot be read.
var ErrUnreadable = errors.New("the recording cannot be read")

// Options configure Uploads.
type Options struct {
	Ingest ingest.Options // only Normalizer and Limits are used
}

// Uploads stores recordings in a store. It is safe for concurrent use.
type Uploads struct {
	st   store.Store
	opts Options
}

// New returns uploads into st.
func New(st store.Store, o Options) *Uploads {
	o.Ingest.KeepSource, o.Ingest.Workers, o.Ingest.Conflict = true, 1, store.Replace
	o.Ingest.Limits.Inflated = cmp.Or(o.Ingest.Limits.Inflated, maxInflated)
	o.Ingest.Limits.Message = cmp.Or(o.Ingest.Limits.Message, maxInflated)
	return &Uploads{st, o}
}

// Benchmark returns the benchmark of an instance's recordings.
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

// check refuses a recording in another format than the task's: the importer would accept
// any profile.
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
	return errors.As(err, new(*profile.ParseError)) || errors.Is(err, profile.ErrUnrecognized) || errors.Is(err, profile.ErrMalformed) ||
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
		// A file has a profile per value type; each has the source.
		if profiles[i].Benchmark == want && profiles[i].Run.Key == t.ID && profiles[i].HasSource {
			return u.st.Source(ctx, profiles[i].ID)
		}
	}
	return nil, store.ErrNoSource
}
