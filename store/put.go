package store

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/dendroprof/dendro/testrun"
)

// The rules of Put. Engines apply them before they change anything, so that all of
// them store the same and refuse the same with the same errors.

// Action is what Put does with one record.
type Action int

// The actions.
const (
	Keep  Action = iota // the store has this content already
	Place               // the profile is new, or replaces the stored one
	Sum                 // its values are added to the stored ones
)

// Decide returns what Put does with a record of a file. Old is the profile that is
// stored under the record's identity, nil if there is none. Errors wrap ErrConflict.
func Decide(old *Profile, f *File, r *Record, c Conflict) (Action, error) {
	switch {
	case old == nil:
		return Place, nil
	case old.Hash == r.Hash.String(), c != Replace && old.Contains(r.Hash):
		return Keep, nil
	case c == Replace:
		return Place, nil
	case c == Add:
		return Sum, checkAdd(old, f, r)
	}
	return Keep, &ConflictError{
		ID:       old.ID,
		Identity: fmt.Sprintf("%s, %s, %s", f.Benchmark, f.Run.Key, r.Type.Name),
		Old:      old.File,
		New:      f.Name,
	}
}

// checkAdd returns an error if the values of a record do not add to those stored.
func checkAdd(old *Profile, f *File, r *Record) error {
	if stored, added := old.Type.AddKey(), r.Type.AddKey(); stored != added {
		return fmt.Errorf("%w: %q: values of type %s cannot be added to values of type %s", ErrConflict, f.Name, added, stored)
	}
	if _, ok := AddAbsolute(old.Sum, r.Self.Self); !ok || old.Samples > math.MaxInt64-r.Samples {
		return fmt.Errorf("%w: the sum of %q and %q exceeds 63 bits", ErrConflict, old.File, f.Name)
	}
	return nil
}

// NewProfile describes a record of a file that passed File.Check. The engine sets the
// rest of Run, Metrics, Nodes and Seq.
func NewProfile(f *File, r *Record) Profile {
	sum, _ := AddAbsolute(0, r.Self.Self)
	return Profile{
		ID:              IDOf(f.Benchmark, f.Run.Key, r.Type.Name),
		Benchmark:       f.Benchmark,
		Run:             testrun.Run{Key: f.Run.Key},
		Type:            r.Type,
		Default:         r.Default,
		Profiler:        r.Profiler,
		ProfilerVersion: r.ProfilerVersion,
		Duration:        r.Duration,
		Samples:         r.Samples,
		Sum:             sum,
		Hash:            r.Hash.String(),
		Parts:           r.Parts,
		File:            f.Name,
		HasSource:       f.Source != nil,
	}
}

// Plus describes the sum of two profiles. It has no source, because no single file
// has its values. The engine sets Nodes, and Sum if values cancelled each other.
func (p Profile) Plus(q *Profile) Profile {
	p.AddContent(q)
	p.Sum += q.Sum
	p.Samples += q.Samples
	p.Duration += q.Duration
	p.File = min(p.File, q.File)
	p.HasSource = false
	p.Default = p.Default || q.Default
	return p
}

// CheckRules returns an error that wraps ErrOtherRules if an import's names were
// normalised by other rules than the names in the store, which has none at first.
func CheckRules(stored, imported string) error {
	if stored == "" || stored == imported {
		return nil
	}
	return fmt.Errorf("%w: the store has %q, the import %q (%s)", ErrOtherRules, stored, imported, remedyOfRules)
}

// remedyOfRules says how names get the same rules.
const remedyOfRules = "import with --rules FILE of the store's rules, or rewrite the store's names: a file by import --renormalize, a graph by copy --renormalize into another one"

// MergeRun returns the facts of a run with those of a file. Errors wrap
// ErrConflict.
func MergeRun(stored testrun.Run, f *File) (testrun.Run, error) {
	run, err := stored.Merge(f.Run)
	if err != nil {
		return run, fmt.Errorf("%w: %q: %w (date, commit, branch, repository, machine and attributes belong to the run: give files that differ in them runs of their own)", ErrConflict, f.Name, err)
	}
	run.Date = run.Date.UTC().Round(0)
	return run, nil
}

// MergeMetrics returns metrics with more of them, which replace those of the same
// name: the primary one first, then by name.
func MergeMetrics(stored, more []testrun.Metric) []testrun.Metric {
	byName := map[string]testrun.Metric{}
	for _, m := range slices.Concat(stored, more) {
		byName[m.Name] = m
	}
	return slices.SortedFunc(maps.Values(byName), func(a, b testrun.Metric) int {
		if a.Primary != b.Primary {
			if a.Primary {
				return -1
			}
			return 1
		}
		return cmp.Compare(a.Name, b.Name)
	})
}
