package mem

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/internal/column"
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
	if err := store.CheckRules(s.rules, opts.Rules); err != nil {
		return nil, err
	}
	s.rules = opts.Rules
	defer s.publish()
	outcomes := column.Of(files, func(f *store.File) store.Outcome { return s.putFile(f, opts.Conflict) })
	return outcomes, nil
}

// putFile stores one file, or nothing of it and returns why in the outcome: all
// decisions come before the first change.
func (s *Store) putFile(f *store.File, c store.Conflict) (out store.Outcome) {
	if err := f.Check(); err != nil {
		return store.Outcome{Err: fmt.Errorf("%q: %w", f.Name, err)}
	}
	run, known := s.runs[f.Run.Key]
	if !known {
		run = testrun.Run{Key: f.Run.Key}
	}
	run, err := store.MergeRun(run, f)
	if err != nil {
		return store.Outcome{Err: err}
	}
	actions := make([]store.Action, len(f.Records))
	for i, r := range f.Records {
		var old *store.Profile
		if e := s.profiles[store.IDOf(f.Benchmark, f.Run.Key, r.Type.Name)]; e != nil {
			old = &e.profile
		}
		if actions[i], err = store.Decide(old, f, r, c); err != nil {
			return store.Outcome{Err: err}
		}
	}
	s.runs[run.Key] = run
	at := pair{f.Benchmark, run.Key}
	if len(f.Metrics) > 0 {
		s.metrics[at] = store.MergeMetrics(s.metrics[at], f.Metrics)
	}
	source := slices.Clone(f.Source)
	for i, r := range f.Records {
		if actions[i] == store.Keep {
			out.Unchanged++
		} else {
			out.Stored++
		}
		s.putRecord(actions[i], f, r, source)
	}
	return out
}

// putRecord stores one record. A profile that is kept gets a source if it has none;
// a sum has none, because no single file has its values.
func (s *Store) putRecord(action store.Action, f *store.File, r *store.Record, source []byte) {
	id := store.IDOf(f.Benchmark, f.Run.Key, r.Type.Name)
	if action != store.Keep {
		s.raw.add(f.Benchmark.Group, r)
		e := s.newEntry(f, r)
		if action == store.Sum {
			e = s.sum(s.profiles[id], e)
		} else {
			s.seq++
			e.profile.Seq = s.seq
		}
		s.profiles[id] = e
		delete(s.sources, id)
	}
	if action != store.Sum && source != nil {
		s.sources[id] = source
	}
}

// newEntry returns a record over the forest of the store.
func (s *Store) newEntry(f *store.File, r *store.Record) *entry {
	e := &entry{profile: store.NewProfile(f, r)}
	if r.Self.Len() == 0 {
		return e // and there may be no Forest
	}
	tr := s.translations.Of(r.Forest, interner{s.forest, &s.code})
	e.self = tr.Vector(r.Forest, r.Self)
	for _, m := range r.Modes {
		if m.Len() > 0 {
			e.modes = append(e.modes, store.ModeVector{Mode: m.Mode, Vector: tr.Vector(r.Forest, m.Vector)})
		}
	}
	e.measure(s.forest)
	return e
}

// sum adds two profiles of one identity.
func (s *Store) sum(a, b *entry) *entry {
	e := &entry{profile: a.profile.Plus(&b.profile), self: calltree.AddVectors(a.self, b.self), modes: addModes(a.modes, b.modes)}
	e.measure(s.forest)
	return e
}

func addModes(a, b []store.ModeVector) []store.ModeVector {
	sum := map[profile.FrameType]calltree.Vector{}
	for _, m := range slices.Concat(a, b) {
		sum[m.Mode] = calltree.AddVectors(sum[m.Mode], m.Vector)
	}
	var modes []store.ModeVector
	for _, mode := range slices.Sorted(maps.Keys(sum)) {
		if sum[mode].Len() > 0 {
			modes = append(modes, store.ModeVector{Mode: mode, Vector: sum[mode]})
		}
	}
	return modes
}
