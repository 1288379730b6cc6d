package iceberg

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/apache/iceberg-go"
	"github.com/google/uuid"
	"github.com/parquet-go/parquet-go"

	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/testrun"
)

// commitNodes are the call nodes of a commit, as soon as it has so many.
const commitNodes = 1 << 24

// bucketOf returns the bucket of a benchmark, as Iceberg's transform bucket[8] computes it.
func bucketOf(benchmark string) int32 {
	value := iceberg.BucketTransform{NumBuckets: Buckets}.Apply(iceberg.Optional[iceberg.Literal]{Valid: true,
		Val: iceberg.StringLiteral(benchmark)})
	return int32(value.Val.(iceberg.Int32Literal))
}

// monthNumber returns the month of a time since January 1970, in UTC; false if it is not
// known.
func monthNumber(t time.Time) (month int32, dated bool) {
	if t.IsZero() {
		return 0, false
	}
	t = t.UTC()
	return int32(t.Year()-1970)*12 + int32(t.Month()) - 1, true
}

// PartitionOf returns the partition of a profile.
func PartitionOf(p *store.Profile) Partition {
	part := Partition{Bucket: bucketOf(p.Benchmark.Name)}
	part.Period, part.Dated = monthNumber(p.Run.Date)
	return part
}

// partitionOf returns the partition of a profile and its directory.
func partitionOf(p *store.Profile) partition {
	part := PartitionOf(p)
	return partition{part, filepath.Join("data", monthOf(p.Run), fmt.Sprintf("bucket=%d", part.Bucket))}
}

// Published counts the profiles of a publication.
type Published struct {
	New     int // added to the lake
	Known   int // in the lake already
	Changed int // in the lake with other content, which stays
}

// profileKey are the columns of a row of table profiles that identify it.
type profileKey struct {
	Profile   string `parquet:"profile"`
	Hash      string `parquet:"hash"`
	Group     string `parquet:"grp"`
	Benchmark string `parquet:"benchmark"`
	Run       string `parquet:"run"`
}

// measured is what metrics belong to.
type measured struct{ group, benchmark, run string }

func measuredOf(p *store.Profile) measured {
	return measured{p.Benchmark.Group, p.Benchmark.Name, p.Run.Key}
}

// contents are profiles and metrics of a lake.
type contents struct {
	hashes   map[string]string // by profile
	measured map[measured]bool
}

// read adds what the files of the given partitions have. Files that were read are in seen.
func (c *contents) read(ctx context.Context, s *Snapshot, parts map[Partition]bool, seen map[string]bool) error {
	return eachNewRow(ctx, s, "profiles", parts, seen, func(r *profileKey) {
		c.hashes[r.Profile] = r.Hash
		c.measured[measured{r.Group, r.Benchmark, r.Run}] = true
	})
}

// eachNewRow calls f with the rows of the files of a table that are in the given partitions and
// were not seen yet.
func eachNewRow[T any](ctx context.Context, s *Snapshot, table string, parts map[Partition]bool, seen map[string]bool, f func(*T)) error {
	files, err := s.fetched(ctx, table, func(f File) bool { return !seen[f.Path] && parts[f.Partition] })
	if err != nil {
		return err
	}
	for _, file := range files {
		rows, err := parquet.ReadFile[T](file.Path)
		if err != nil {
			return fmt.Errorf("%s: %w", file.Path, err)
		}
		for i := range rows {
			f(&rows[i])
		}
		seen[file.Path] = true
	}
	return nil
}

// errMeanwhile reports that another publisher added some of the same profiles.
var errMeanwhile = errors.New("published meanwhile")

// Publish adds the profiles of a store that the lake does not have. The list is a result
// of st.Profiles. Each commit adds whole profiles to all tables at once, so that a reader
// never sees a part of one; what was committed stays when a later commit fails. Report,
// if not nil, is called after each commit with the number of profiles done.
func (l *Lake) Publish(ctx context.Context, st store.Reader, list []store.Profile, report func(done int)) (done Published, err error) {
	info, err := st.Info(ctx)
	if err != nil {
		return done, err
	}
	now, err := l.Snapshot(ctx)
	if err != nil {
		return done, err
	}
	if err := now.sameRules(info.Rules); err != nil && len(list) > 0 {
		return done, l.wrap(err)
	}
	p := &publisher{lake: l, st: st, rules: info.Rules, parts: map[Partition]bool{}, seen: map[string]bool{},
		has: contents{map[string]string{}, map[measured]bool{}}}
	order := make(map[store.ProfileID]partition, len(list))
	for i := range list {
		part := partitionOf(&list[i])
		order[list[i].ID] = part
		p.parts[part.Partition] = true
	}
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(a, b store.Profile) int {
		return cmp.Or(cmp.Compare(order[a.ID].dir, order[b.ID].dir), cmp.Compare(a.Benchmark.Group, b.Benchmark.Group),
			cmp.Compare(a.Benchmark.Name, b.Benchmark.Name))
	})
	if err := p.has.read(ctx, now, p.parts, p.seen); err != nil {
		return done, err
	}
	for i := 0; i < len(list); {
		var next []store.Profile
		known := done
		n := 0
		for nodes := 0; i+n < len(list) && nodes < commitNodes; n++ {
			switch hash, ok := p.has.hashes[string(list[i+n].ID)]; {
			case !ok:
				next = append(next, list[i+n])
				nodes += list[i+n].Nodes
			case hash != list[i+n].Hash:
				known.Changed++
			default:
				known.Known++
			}
		}
		if len(next) > 0 {
			if err = p.publish(ctx, next); errors.Is(err, errMeanwhile) {
				continue
			}
			if err != nil {
				return done, err
			}
		}
		done, i = known, i+n
		if done.New += len(next); report != nil {
			report(i)
		}
	}
	return done, nil
}

// publisher is a running publication.
type publisher struct {
	lake  *Lake
	st    store.Reader
	rules string
	parts map[Partition]bool // of the profiles to publish
	has   contents           // of the lake, in these partitions
	seen  map[string]bool    // files that has is of
}

// publish adds profiles in one commit. If it fails, their files are removed.
func (p *publisher) publish(ctx context.Context, list []store.Profile) (err error) {
	now, err := p.lake.Snapshot(ctx)
	if err == nil {
		err = p.has.read(ctx, now, p.parts, p.seen)
	}
	if err != nil {
		return err
	}
	if p.overlaps(list) {
		return errMeanwhile
	}
	w := p.writer()
	defer func() { w.undoAfter(ctx, p.lake, err) }()
	if err := p.write(ctx, w, list); err != nil {
		return p.lake.wrap(fmt.Errorf("publish: %w", err))
	}
	changes, err := p.lake.keepAll(ctx, w.written())
	if err != nil {
		return err
	}
	unmeasured := map[measured]bool{}
	for i := range list {
		if m := measuredOf(&list[i]); !p.has.measured[m] {
			unmeasured[m] = true
		}
	}
	return p.lake.Commit(ctx, changes, func(now *Snapshot) error {
		if err := now.sameRules(p.rules); err != nil {
			return err
		}
		if err := p.has.read(ctx, now, p.parts, p.seen); err != nil {
			return err
		}
		for m := range unmeasured {
			if p.has.measured[m] {
				return errMeanwhile
			}
		}
		if p.overlaps(list) {
			return errMeanwhile
		}
		return nil
	})
}

// keepAll makes complete files of tables durable, and returns how a commit adds them.
func (l *Lake) keepAll(ctx context.Context, written map[string][]File) (map[string]Change, error) {
	changes := map[string]Change{}
	var paths []string
	for table, files := range written {
		for i, f := range files {
			var err error
			if files[i], err = describe(f.Partition, f.Path); err != nil {
				return nil, l.wrap(err)
			}
		}
		changes[table] = Change{Add: files}
		paths = append(paths, pathsOf(files)...)
	}
	return changes, l.wrap(l.warehouse.keep(ctx, paths...))
}

// overlaps reports whether the lake has a profile of the list.
func (p *publisher) overlaps(list []store.Profile) bool {
	return slices.ContainsFunc(list, func(of store.Profile) bool {
		_, ok := p.has.hashes[string(of.ID)]
		return ok
	})
}

// writer returns a writer of new files of the lake.
func (p *publisher) writer() *writer {
	w := newWriter(p.lake.Dir, uuid.NewString())
	w.profileTables()
	w.functions = sinkOf(tableOf[placedFunction](w, "functions"),
		func(r functionRow) (placedFunction, bool) { return placedFunction{w.place, r}, true })
	w.paths = sinkOf(tableOf[placedPath](w, "paths"), func(r pathRow) (placedPath, bool) { return placedPath{w.place, r}, true })
	w.skipMetrics = func(of *store.Profile) bool { return p.has.measured[measuredOf(of)] }
	return w
}

// write writes the files of profiles.
func (p *publisher) write(ctx context.Context, w *writer, list []store.Profile) error {
	var part partition
	var benchmark testrun.Benchmark
	enter := func(of *store.Profile) (partition, error) {
		now := partitionOf(of)
		if now == part && of.Benchmark == benchmark {
			return part, nil
		}
		part, benchmark = now, of.Benchmark
		at := place{Group: benchmark.Group, Benchmark: benchmark.Name}
		if part.Dated {
			at.Date = micros(time.Date(1970, time.Month(1+part.Period), 1, 0, 0, 0, 0, time.UTC))
		}
		return part, w.begin(part, at)
	}
	for len(list) > 0 {
		n := batchLen(list)
		if err := w.batch(ctx, p.st, list[:n], enter); err != nil {
			return err
		}
		list = list[n:]
	}
	return w.finish()
}
