package iceberg

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/parquet-go/parquet-go"

	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/testrun"
)

// Profiles lists the profiles that a query may select, in no order: those of the months
// of its dates, or all. Q.Filter of the result selects the same as of all profiles.
func (s *Snapshot) Profiles(ctx context.Context, q *store.Query) ([]store.Profile, error) {
	since, until := monthsOf(q)
	wanted := func(f File) bool {
		return since == 0 && until == 0 || f.Dated && (since == 0 || f.Period >= since) && (until == 0 || f.Period <= until)
	}
	metrics := map[measured][]testrun.Metric{}
	err := eachRow(ctx, s, "metrics", &s.lake.metrics, wanted, func(r *metricRow) {
		at := measured{r.Group, r.Benchmark, r.Run}
		if !slices.ContainsFunc(metrics[at], func(m testrun.Metric) bool { return m.Name == r.Name }) {
			metrics[at] = append(metrics[at], testrun.Metric{Name: r.Name, Mean: r.Mean, Unit: r.Unit, Better: testrun.Better(r.Better), N: int(r.N),
				Samples: testrun.NewSamples(r.Samples), Error: r.Error, Primary: r.Primary})
		}
	})
	if err != nil {
		return nil, err
	}
	for _, list := range metrics {
		slices.SortFunc(list, func(a, b testrun.Metric) int {
			if a.Primary != b.Primary && a.Primary {
				return -1
			} else if a.Primary != b.Primary {
				return 1
			}
			return cmp.Compare(a.Name, b.Name)
		})
	}
	var list []store.Profile
	err = eachRow(ctx, s, "profiles", &s.lake.profiles, wanted, func(r *profileRow) {
		p := r.profile()
		p.Measure(slices.Clone(metrics[measuredOf(&p)]))
		list = append(list, p)
	})
	slices.SortFunc(list, func(a, b store.Profile) int { return cmp.Or(cmp.Compare(a.Seq, b.Seq), cmp.Compare(a.ID, b.ID)) })
	for i := range list {
		list[i].Seq = int64(i + 1) // numbers of several stores may be equal
	}
	return list, err
}

// monthsOf returns the first and the last month that a query can select, 0 for no limit.
func monthsOf(q *store.Query) (since, until int32) {
	texts := slices.Concat(q.Groups, q.Benchmarks, q.Branches, q.Machines, q.Runs)
	if slices.ContainsFunc(texts, func(t string) bool { return strings.ContainsAny(t, "*?") }) || len(q.Profiles) > 0 {
		return 0, 0 // what these mean depends on all profiles
	}
	if !q.Since.IsZero() {
		since, _ = monthNumber(q.Since)
	}
	if !q.Until.IsZero() {
		until, _ = monthNumber(q.Until.Add(-1)) // it is excluded
	}
	return since, until
}

// fetched brings those files of a table to this machine that are wanted.
func (s *Snapshot) fetched(ctx context.Context, table string, wanted func(File) bool) ([]File, error) {
	files, err := s.Files(ctx, table)
	if err != nil {
		return nil, err
	}
	files = slices.DeleteFunc(files, func(f File) bool { return !wanted(f) })
	return files, s.lake.Fetch(ctx, files)
}

// eachRow calls f with the rows of some files of a table. The rows of a file are read once.
func eachRow[T any](ctx context.Context, s *Snapshot, table string, cache *map[string][]T, wanted func(File) bool, f func(*T)) error {
	files, err := s.fetched(ctx, table, wanted)
	if err != nil {
		return err
	}
	for _, file := range files {
		s.lake.mu.Lock()
		rows, known := (*cache)[file.Path]
		s.lake.mu.Unlock()
		if !known {
			if rows, err = parquet.ReadFile[T](file.Path); err != nil {
				return fmt.Errorf("%s: %w", file.Path, err)
			}
			s.lake.mu.Lock()
			if *cache == nil {
				*cache = map[string][]T{}
			}
			(*cache)[file.Path] = rows
			s.lake.mu.Unlock()
		}
		for i := range rows {
			f(&rows[i])
		}
	}
	return nil
}

func (r *profileRow) profile() store.Profile {
	p := store.Profile{ID: store.ProfileID(r.Profile), Benchmark: testrun.Benchmark{Group: r.Group, Name: r.Benchmark},
		Run: testrun.Run{Key: r.Run, Commit: r.Commit, Branch: r.Branch, Repository: r.Repository, Machine: r.Machine,
			Attributes: maps.Clone(r.Attributes)},
		Type: profile.ValueType{Name: r.Type, Unit: r.Unit, Scale: int(r.Scale), Period: r.Period, PeriodUnit: r.PeriodUnit,
			PeriodName: r.PeriodName, Original: r.Original},
		Default: r.Default, Profiler: r.Profiler, ProfilerVersion: r.ProfilerVersion, Duration: time.Duration(r.Duration),
		Samples: r.Samples, Sum: r.Sum, Nodes: int(r.Nodes), Hash: r.Hash, Parts: slices.Clone(r.Parts), File: r.File, Seq: r.Seq}
	if r.Date != nil {
		p.Run.Date = time.UnixMicro(*r.Date).UTC()
	}
	return p
}

// FilesOf lists the files of a table that have rows of profiles: those of their months
// and of the buckets of their benchmarks.
func (s *Snapshot) FilesOf(ctx context.Context, table string, profiles []store.Profile) ([]File, error) {
	parts := map[Partition]bool{}
	for i := range profiles {
		parts[PartitionOf(&profiles[i])] = true
	}
	files, err := s.Files(ctx, table)
	return slices.DeleteFunc(files, func(f File) bool { return !parts[f.Partition] }), err
}

// Bytes returns the size of the data files.
func (s *Snapshot) Bytes(ctx context.Context) (n int64, err error) {
	for _, t := range s.lake.set.tables {
		files, err := s.Files(ctx, t.name)
		if err != nil {
			return 0, err
		}
		for _, f := range files {
			n += f.Size
		}
	}
	return n, nil
}
