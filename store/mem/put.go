package mem

import (
	"context"
	"fmt"
	"maps"
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
	defer s.publish()
	outcomes := make([]store.Outcome, len(files))
	for i, f := range files {
		outcomes[i] = s.putFile(f, opts.Conflict)
	}
	return outcomes, nil
}

// putFile stores one file, or nothing of it and returns why in the outcome: all
// decisions come before the first change.
func (s *Store) putFile(f *store.File, c store.Conflict) store.Outcome {
	run, err := s.check(f)
	if err != nil {
		return store.Outcome{Err: err}
	}
	steps := make([]step, len(f.Records))
	for i, r := range f.Records {
		id := store.IDOf(f.Benchmark, f.Run.Key, r.Type.Name)
		if steps[i], err = s.decide(id, f, r, c); err != nil {
			return store.Outcome{Err: err}
		}
	}

	s.runs[run.Key] = run
	s.addMetrics(pair{f.Benchmark, run.Key}, f.Metrics)
	source := slices.Clone(f.Source)
	var out store.Outcome
	for i, r := range f.Records {
		if s.take(steps[i], f, r) {
			out.Stored++
		} else {
			out.Unchanged++
		}
		s.keepSource(steps[i], source)
	}
	return out
}

// check returns the run of a file with what the store knows of it, or what
// speaks against the file before its profiles are looked at.
func (s *Store) check(f *store.File) (testrun.Run, error) {
	if err := f.Check(); err != nil {
		return testrun.Run{}, fmt.Errorf("%q: %w", f.Name, err)
	}
	have, ok := s.runs[f.Run.Key]
	if !ok {
		have = testrun.Run{Key: f.Run.Key}
	}
	run, err := have.Merge(f.Run)
	if err != nil {
		return run, fmt.Errorf("%w: %w", store.ErrConflict, err)
	}
	run.Date = run.Date.UTC()
	return run, nil
}

// step is what Put does with one record.
type step struct {
	id     store.ProfileID
	action action
}

type action int

const (
	keep  action = iota // it is there already
	place               // it is new, or takes the place of the old one
	add                 // its values are added
)

// decide says what happens to a record, without changing anything.
func (s *Store) decide(id store.ProfileID, f *store.File, r *store.Record, c store.Conflict) (step, error) {
	have := s.profiles[id]
	switch {
	case have == nil:
		return step{id, place}, nil
	case have.profile.Hash == r.Hash.String(), c != store.Replace && have.profile.Contains(r.Hash):
		return step{id, keep}, nil
	case c == store.Replace:
		return step{id, place}, nil
	case c == store.Add:
		return step{id, add}, addable(have, f, r)
	}
	return step{}, &store.ConflictError{
		ID:       id,
		Identity: fmt.Sprintf("%s, %s, %s", f.Benchmark, f.Run.Key, r.Type.Name),
		Old:      have.profile.File,
		New:      f.Name,
	}
}

// addable reports why a record cannot be added to what is there.
func addable(have *entry, f *store.File, r *store.Record) error {
	if old, now := have.profile.Type.Key(), r.Type.Key(); old != now {
		return fmt.Errorf("%w: %q: values of type %s do not add to those of %s", store.ErrConflict, f.Name, now, old)
	}
	if _, ok := store.AddAbsolute(have.profile.Sum, r.Self.Self); !ok {
		return fmt.Errorf("%w: the sum of %q and %q exceeds 63 bits", store.ErrConflict, have.profile.File, f.Name)
	}
	return nil
}

// take carries out a step and reports whether it changed the profile.
func (s *Store) take(st step, f *store.File, r *store.Record) bool {
	if st.action == keep {
		return false
	}
	s.raw.add(f.Benchmark.Group, r)
	e := s.newEntry(st.id, f, r)
	if st.action == add {
		e = s.sum(s.profiles[st.id], e)
	} else {
		s.seq++
		e.profile.Seq = s.seq
	}
	s.profiles[st.id] = e
	return true
}

// keepSource keeps the original of a profile, or drops that of its predecessor.
// The original of one part says nothing of a sum.
func (s *Store) keepSource(st step, source []byte) {
	if st.action != keep {
		delete(s.sources, st.id)
	}
	if st.action != add && source != nil {
		s.sources[st.id] = source
	}
}

// addMetrics takes in metrics; those of the same name are replaced.
func (s *Store) addMetrics(at pair, list []testrun.Metric) {
	if len(list) > 0 && s.metrics[at] == nil {
		s.metrics[at] = map[string]testrun.Metric{}
	}
	for _, m := range list {
		s.metrics[at][m.Name] = m
	}
}

// newEntry takes the values of a record in.
func (s *Store) newEntry(id store.ProfileID, f *store.File, r *store.Record) *entry {
	e := &entry{profile: store.Profile{
		ID:              id,
		Benchmark:       f.Benchmark,
		Run:             testrun.Run{Key: f.Run.Key},
		Type:            r.Type,
		Profiler:        r.Profiler,
		ProfilerVersion: r.ProfilerVersion,
		Duration:        r.Duration,
		Samples:         r.Samples,
		Hash:            r.Hash.String(),
		Parts:           r.Parts,
		File:            f.Name,
	}}
	if r.Self.Len() == 0 {
		return e // and there may be no Forest
	}
	tr := s.translations.Of(r.Forest, interner{s.forest})
	e.self = translated(tr, r.Forest, r.Self)
	for _, m := range r.Modes {
		if m.Len() > 0 {
			e.modes = append(e.modes, store.ModeVector{Mode: m.Mode, Vector: translated(tr, r.Forest, m.Vector)})
		}
	}
	e.measure(s.forest)
	return e
}

// sum adds two profiles of one identity.
func (s *Store) sum(a, b *entry) *entry {
	e := &entry{profile: a.profile, self: addVectors(a.self, b.self), modes: addModes(a.modes, b.modes)}
	e.profile.Samples += b.profile.Samples
	e.profile.Duration += b.profile.Duration
	e.profile.AddContent(&b.profile)
	e.measure(s.forest)
	return e
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
