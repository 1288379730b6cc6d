package mem

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/testrun"
)

// Put implements store.Writer.
func (s *Store) Put(ctx context.Context, files []*store.File, opts store.PutOptions) ([]store.Outcome, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(files) == 0 {
		return nil, nil
	}
	if s.rules != "" && s.rules != opts.Rules {
		return nil, fmt.Errorf("%w: the store has %q, the import %q", store.ErrOtherRules, s.rules, opts.Rules)
	}
	s.rules = opts.Rules
	outcomes := make([]store.Outcome, len(files))
	for i, f := range files {
		outcomes[i] = s.putFile(f, opts.Conflict)
	}
	return outcomes, nil
}

// putFile stores one file, or nothing of it and returns why in the outcome.
// What it finds out is linked into the store at the very end.
func (s *Store) putFile(f *store.File, c store.Conflict) store.Outcome {
	run, err := s.mergedRun(f.Run)
	if err != nil {
		return store.Outcome{Err: fmt.Errorf("%w: %w", store.ErrConflict, err)}
	}
	for _, m := range f.Metrics {
		if err := m.Check(); err != nil {
			return store.Outcome{Err: err}
		}
	}
	var out store.Outcome
	changed := map[store.ProfileID]*entry{}
	for _, r := range f.Records {
		id := store.IDOf(f.Benchmark, f.Run.Key, r.Type.Name)
		have := changed[id]
		if have == nil {
			have = s.profiles[id]
		}
		next, err := s.next(have, id, f, r, c)
		switch {
		case err != nil:
			return store.Outcome{Err: err}
		case next == have:
			out.Unchanged++
			have.addSource(f)
		default:
			out.Stored++
			changed[id] = next
		}
	}
	s.link(f, run, changed)
	return out
}

// mergedRun returns the run with what the store knows of it.
func (s *Store) mergedRun(r testrun.Run) (testrun.Run, error) {
	have, ok := s.runs[r.Key]
	if !ok {
		have = testrun.Run{Key: r.Key}
	}
	run, err := have.Merge(r)
	run.Date = run.Date.UTC()
	return run, err
}

// next returns what becomes of the profile have (nil: none is there) when r is
// put: have itself when nothing changes.
func (s *Store) next(have *entry, id store.ProfileID, f *store.File, r *store.Record, c store.Conflict) (*entry, error) {
	switch {
	case have == nil:
		return s.newEntry(id, f, r), nil
	case have.profile.Hash == r.Hash.String():
		return have, nil
	case c == store.Replace:
		return s.newEntry(id, f, r), nil
	case c == store.Add:
		return s.sum(have, s.newEntry(id, f, r))
	}
	return nil, &store.ConflictError{
		ID:       id,
		Identity: fmt.Sprintf("%s, %s, %s", f.Benchmark, f.Run.Key, r.Type.Name),
		Old:      have.profile.File,
		New:      f.Name,
	}
}

// newEntry takes a record in. It has no number yet.
func (s *Store) newEntry(id store.ProfileID, f *store.File, r *store.Record) *entry {
	e := &entry{
		profile: store.Profile{
			ID:              id,
			Benchmark:       f.Benchmark,
			Run:             testrun.Run{Key: f.Run.Key},
			Type:            r.Type,
			Profiler:        r.Profiler,
			ProfilerVersion: r.ProfilerVersion,
			Duration:        r.Duration,
			Samples:         r.Samples,
			Hash:            r.Hash.String(),
			File:            f.Name,
			HasSource:       f.Source != nil,
		},
		source: slices.Clone(f.Source),
	}
	tr := s.translations.of(r.Forest, s.forest)
	e.self = tr.vector(r.Forest, r.Self)
	for _, m := range r.Modes {
		if m.Len() > 0 {
			e.modes = append(e.modes, store.ModeVector{Mode: m.Mode, Vector: tr.vector(r.Forest, m.Vector)})
		}
	}
	e.measure(s.forest)
	return e
}

// sum adds two profiles of one identity. The source of a part says nothing of
// the whole, so none is kept.
func (s *Store) sum(a, b *entry) (*entry, error) {
	if have, now := a.profile.Type.Key(), b.profile.Type.Key(); have != now {
		return nil, fmt.Errorf("%w: values of type %s do not add to those of %s", store.ErrConflict, now, have)
	}
	if a.profile.Sum > math.MaxInt64-b.profile.Sum {
		return nil, fmt.Errorf("%w: the sum of %q and %q exceeds 63 bits", store.ErrConflict, a.profile.File, b.profile.File)
	}
	e := &entry{profile: a.profile, self: addVectors(a.self, b.self), modes: addModes(a.modes, b.modes)}
	e.profile.Samples += b.profile.Samples
	e.profile.Duration += b.profile.Duration
	e.profile.Hash = addHashes(a.profile.Hash, b.profile.Hash)
	e.profile.HasSource = false
	e.measure(s.forest)
	return e, nil
}

// addVectors adds two vectors over one forest.
func addVectors(a, b calltree.Vector) calltree.Vector {
	sum := map[int32]int64{}
	for _, v := range []calltree.Vector{a, b} {
		for i, n := range v.Nodes {
			sum[n] += v.Self[i]
		}
	}
	var v calltree.Vector
	for _, n := range slices.Sorted(maps.Keys(sum)) {
		if sum[n] != 0 {
			v.Nodes, v.Self = append(v.Nodes, n), append(v.Self, sum[n])
		}
	}
	return v
}

func addModes(a, b []store.ModeVector) []store.ModeVector {
	sum := map[profile.FrameType]calltree.Vector{}
	for _, m := range slices.Concat(a, b) {
		sum[m.Mode] = addVectors(sum[m.Mode], m.Vector)
	}
	var modes []store.ModeVector
	for _, mode := range slices.Sorted(maps.Keys(sum)) {
		if sum[mode].Len() > 0 {
			modes = append(modes, store.ModeVector{Mode: mode, Vector: sum[mode]})
		}
	}
	return modes
}
