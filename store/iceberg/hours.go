package iceberg

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/apache/iceberg-go"
	"github.com/google/uuid"
	"github.com/parquet-go/parquet-go"
	"github.com/zeebo/xxh3"

	"github.com/dendroprof/dendro/continuous"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/store"
)

// hourSet are the tables of hours of pushed profiles. It has its own commits: what workers of a
// fleet hand over does not wait for what is published.
var hourSet = &tableSet{tables: []tableSchema{
	{"window_functions", parquet.SchemaOf(new(servedFunction))},
	{"window_paths", parquet.SchemaOf(new(servedPath))},
	{"series_functions", parquet.SchemaOf(new(seriesFunctionRow))},
	{"series_samples", parquet.SchemaOf(new(seriesSampleRow))},
	{"series_hours", parquet.SchemaOf(new(seriesHourRow))},
}, period: iceberg.DayTransform{}, date: "hour", key: "service", order: []string{"service", "hour"}, version: 1}

// hourOf are the columns by which tables refer to an hour of a series.
type hourOf struct {
	Series    []byte `parquet:"series,dict"` // continuous.Key
	Service   string `parquet:"service,dict"`
	Hour      *int64 `parquet:"hour,timestamp(microsecond),dict"`
	Partition int32  `parquet:"partition,dict"` // of the topic
	Windows   int64  `parquet:"windows,dict"`   // pushed windows in it
}

// seriesHourRow is a row of table series_hours, by service and series within a file: an hour of a
// series. Of several rows of a partition, series and hour, that of most windows counts: a sum
// grows when late windows are added to it.
type seriesHourRow struct {
	hourOf
	Covered   int64 `parquet:"covered"` // milliseconds
	Sum       int64 `parquet:"sum"`
	Instances int64 `parquet:"instances"` // whose windows it has

	Name       string            `parquet:"name,dict"`
	SampleType string            `parquet:"sample_type,dict"`
	SampleUnit string            `parquet:"sample_unit,dict"`
	PeriodType string            `parquet:"period_type,dict"`
	PeriodUnit string            `parquet:"period_unit,dict"`
	Labels     map[string]string `parquet:"labels"`
	Summed     []string          `parquet:"summed,list"` // labels that tell the instances apart, which the hour lacks
	Facts      map[string]string `parquet:"facts"`
	First      *int64            `parquet:"first_start,timestamp(microsecond),dict"` // of the series
	Last       *int64            `parquet:"last_end,timestamp(microsecond),dict"`

	ValueType       string `parquet:"value_type,dict"`
	Unit            string `parquet:"unit,dict"`
	Scale           int32  `parquet:"scale,dict"`
	Period          int64  `parquet:"period,dict"`
	ValuePeriodUnit string `parquet:"value_period_unit,dict"`
	PeriodName      string `parquet:"period_name,dict"`
	Original        string `parquet:"original,dict"`
}

// seriesSampleRow is a row of table series_samples: a call path with samples of its own.
type seriesSampleRow struct {
	hourOf
	Path []byte `parquet:"path,dict"`
	Self int64  `parquet:"self"`
}

// seriesFunctionRow is a row of table series_functions.
type seriesFunctionRow struct {
	hourOf
	Function FunctionID `parquet:"function,dict"`
	Self     int64      `parquet:"self"`
	Total    int64      `parquet:"total"`
}

// served is where functions and paths occur: in what a service pushed on a day.
type served struct {
	Service string `parquet:"service,dict"`
	Day     *int64 `parquet:"hour,timestamp(microsecond),dict"` // its first instant
}

type servedFunction struct {
	served
	functionRow
}

type servedPath struct {
	served
	pathRow
}

// Hours hands hours over to a lake. It is safe for concurrent use.
type Hours struct {
	lake *Lake
	late time.Duration

	mu    sync.Mutex
	has   map[hourKey]int64               // windows of the hours that the lake has, of what was looked at
	seen  map[string]bool                 // files that has is of
	day   int32                           // on which both were begun
	known map[int32]map[xxh3.Uint128]bool // by day: functions and paths that were handed over
}

// hourKey are the columns that identify a sum, with Windows a row.
type hourKey struct {
	partition int32
	series    continuous.Key
	hour      int64 // milliseconds
}

// OpenHours opens the lake at an address, which is made if it is missing, to hand hours over to it.
// Windows may be pushed as late as some time behind the hours that it has.
func OpenHours(ctx context.Context, address string, late time.Duration) (*Hours, error) {
	l, err := Open(ctx, address, Options{Create: true, Hours: true})
	if err != nil {
		return nil, err
	}
	return &Hours{lake: l, late: late, has: map[hourKey]int64{}, seen: map[string]bool{}, known: map[int32]map[xxh3.Uint128]bool{}}, nil
}

// Close closes the lake.
func (h *Hours) Close() error { return h.lake.Close() }

// The number of files of a part of a day, after which a compaction is worth its cost.
const (
	manyFiles = 16
	dayEnds   = time.Hour // after its last hour, which is handed over some minutes later
)

// DayFiles returns how many files parts of days may have at a time before they are compacted: of a day
// that ended some, and one when no window can be so late any more that it belongs to it.
func DayFiles(now time.Time, late time.Duration) func(Partition) int {
	return func(p Partition) int {
		switch end := p.Day().Add(24 * time.Hour); {
		case now.Before(end.Add(dayEnds)):
			return math.MaxInt
		case now.Before(end.Add(late)):
			return manyFiles
		}
		return 1
	}
}

// KeepSnapshots is how long old states stay, and files that nobody uses: a query or a publication may have begun with
// them.
const KeepSnapshots = 24 * time.Hour

// Due reports whether days are to be compacted, summed up or removed, or states to be forgotten that were old a day ago.
func (h *Hours) Due(ctx context.Context, at time.Time, policy *continuous.Policy) (bool, error) {
	now, err := h.lake.Snapshot(ctx)
	if err != nil {
		return false, err
	}
	parts, err := now.Split(ctx, DayFiles(at, h.late))
	if err != nil || len(parts) > 0 || len(now.tables[h.lake.set.main()].replaced(at.Add(-2*KeepSnapshots))) > 0 {
		return err == nil, err
	}
	old, err := now.Old(ctx, at.Add(-h.late), policy)
	return old.Parts != nil || old.Expired, err
}

// Old is what a policy does not keep as it is.
type Old struct {
	continuous.Kept // what the lake has after the removal
	// Parts are those of the first day whose hours become one sum; nil: there is none.
	Parts   map[Partition]bool
	Day     time.Time // of Parts
	Expired bool      // there are files of days that are not kept
}

// Old returns what a policy does not keep. Of days that are summed up already it lists none.
func (s *Snapshot) Old(ctx context.Context, at time.Time, policy *continuous.Policy) (Old, error) {
	was := s.Kept()
	old := Old{Kept: was.After(at, policy)}
	from := continuous.Later(was.Hours, old.Days)
	files, err := s.Files(ctx, s.lake.set.main())
	for _, f := range files {
		switch day := f.Day(); {
		case day.Before(old.Days):
			old.Expired = true
		case day.Before(from) || !day.Before(old.Hours) || old.Parts != nil && day.After(old.Day):
		case old.Parts == nil || day.Before(old.Day):
			old.Day, old.Parts = day, map[Partition]bool{f.Partition: true}
		default:
			old.Parts[f.Partition] = true
		}
	}
	return old, err
}

// Day returns the day of a part of hours.
func (p Partition) Day() time.Time { return time.Unix(int64(p.Period)*86400, 0).UTC() }

// keptProperty is the property of table series_hours with the continuous.Kept of the lake, as JSON.
const keptProperty = "dendro.kept"

// Kept returns what is left of the hours that were handed over.
func (s *Snapshot) Kept() (kept continuous.Kept) {
	_ = json.Unmarshal([]byte(s.tables[s.lake.set.main()].Properties[keptProperty]), &kept) // none yet: nothing was removed
	return kept
}

// SetKept says in a commit what is left of hours then. Those that were lost before are lost no more.
func (s *Snapshot) SetKept(kept continuous.Kept) error {
	properties := s.tables[s.lake.set.main()].Properties
	text, err := json.Marshal(kept)
	properties[keptProperty] = string(text)
	for number, reach := range s.Reach() {
		n := len(reach.Lost)
		reach.Lost = slices.DeleteFunc(reach.Lost, func(lost continuous.Span) bool { return !kept.Days.Before(lost.Until) })
		if len(reach.Lost) < n {
			err = errors.Join(err, s.setReach(number, reach))
		}
	}
	return err
}

func (s *Snapshot) setReach(partition int32, reach continuous.Reach) error {
	text, err := json.Marshal(reach)
	s.tables[s.lake.set.main()].Properties[reachProperty+strconv.Itoa(int(partition))] = string(text)
	return err
}

// RemoveDays removes the days before those that are kept, and returns the number of files. They stay on the disk until
// Expire removes them: a query may have begun with them.
func (l *Lake) RemoveDays(ctx context.Context, kept continuous.Kept) (n int, err error) {
	changes := map[string]Change{}
	err = l.Commit(ctx, changes, func(now *Snapshot) error {
		n = 0 // it is called again if another was faster
		for _, table := range l.Tables() {
			files, err := now.Files(ctx, table)
			if err != nil {
				return err
			}
			gone := map[string]bool{}
			for _, f := range files {
				if f.Day().Before(kept.Days) {
					gone[f.Path] = true
				}
			}
			n += len(gone)
			changes[table] = Change{Remove: gone}
		}
		return now.SetKept(kept)
	})
	return n, err
}

// reachProperty begins the names of properties of table series_hours: which hours it has of a
// partition, as JSON.
const reachProperty = "dendro.hours."

// Reach returns which hours the lake has, of each partition.
func (s *Snapshot) Reach() map[int32]continuous.Reach {
	list := map[int32]continuous.Reach{}
	for name, text := range s.tables[s.lake.set.main()].Properties {
		var reach continuous.Reach
		number, ok := strings.CutPrefix(name, reachProperty)
		if n, err := strconv.ParseInt(number, 10, 32); ok && err == nil && json.Unmarshal([]byte(text), &reach) == nil {
			list[int32(n)] = reach
		}
	}
	return list
}

// Publish hands over the hours of a partition that the lake does not have, or with fewer windows, and
// returns how many. Hours before a time are not handed over: the store may have a part of their
// windows only, which is no sum for that of the lake. However often it is called, and whatever ends
// it: an hour counts once.
func (h *Hours) Publish(ctx context.Context, partition int32, st continuous.HourStore, whole time.Time) (n int, err error) {
	until, err := st.Made(ctx)
	if err != nil || until.IsZero() {
		return 0, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	now, err := h.lake.Snapshot(ctx)
	if err != nil {
		return 0, err
	}
	if today := dayOf(until); today != h.day { // what they have of old days is not needed any more
		h.day = today
		clear(h.has)
		clear(h.seen)
	}
	reach := now.Reach()[partition]
	from := reach.Until // from which on the lake has all hours then
	if !from.IsZero() {
		from = from.Add(-h.late)
	}
	for _, lost := range reach.Before(until) {
		if begin := continuous.Later(lost.From, whole); begin.Before(lost.Until) && begin.Before(from) {
			from = begin
		}
	}
	from = continuous.Later(continuous.Later(from, whole), now.Kept().Hours)
	first := from
	if first.IsZero() {
		stats, err := st.WindowStats(ctx)
		if err != nil {
			return 0, err
		}
		if first = stats.First; first.IsZero() {
			first = until
		}
	}
	for day := continuous.DayOf(first); day.Before(until); day = day.Add(24 * time.Hour) {
		q := continuous.Query{From: continuous.Later(day, whole), Until: continuous.Earlier(day.Add(24*time.Hour), until)}
		totals, err := st.Totals(ctx, q, time.Hour)
		if err != nil {
			return n, err
		}
		missing, err := h.lacks(ctx, now, partition, totals)
		if err != nil {
			return n, err
		}
		for len(missing) > 0 {
			next := missing[:max(1, min(len(missing), commitHours*len(missing)/(len(totals.Totals)+1)))]
			m, err := h.hand(ctx, partition, st, continuous.Query{From: next[0], Until: next[len(next)-1].Add(time.Hour)})
			if n += m; err != nil {
				return n, err
			}
			missing = missing[len(next):]
		}
	}
	if reflect.DeepEqual(reach.With(from, until), reach) {
		return n, nil
	}
	return n, h.lake.Commit(ctx, nil, func(now *Snapshot) error {
		return now.setReach(partition, now.Reach()[partition].With(from, until))
	})
}

// dayOf returns the day of a time since 1970.
func dayOf(t time.Time) int32 { return int32(continuous.DayOf(t).Unix() / 86400) }

// partOf returns the part of the tables that has hours of a service.
func partOf(service string, hour time.Time) Partition {
	return Partition{Period: dayOf(hour), Dated: true, Bucket: bucketOf(service)}
}

// lacks returns the hours of totals that the lake does not have as they are.
func (h *Hours) lacks(ctx context.Context, now *Snapshot, partition int32, totals *continuous.Totals) ([]time.Time, error) {
	keys := make([]continuous.Key, len(totals.Series))
	for i := range totals.Series {
		keys[i] = totals.Series[i].Key()
	}
	find := func() map[time.Time]bool {
		missing := map[time.Time]bool{}
		for i := range totals.Totals {
			t := &totals.Totals[i]
			if t.Level == continuous.Hour && h.has[hourKey{partition, keys[t.Series], t.Start.UnixMilli()}] < t.Parts {
				missing[t.Start] = true
			}
		}
		return missing
	}
	missing := find()
	if len(missing) > 0 {
		parts := map[Partition]bool{}
		for i := range totals.Totals {
			parts[partOf(totals.Series[totals.Totals[i].Series].Service, totals.Totals[i].Start)] = true
		}
		if err := h.read(ctx, now, parts); err != nil {
			return nil, err
		}
		missing = find()
	}
	return slices.SortedFunc(maps.Keys(missing), time.Time.Compare), nil
}

// read reads which hours the lake has in some parts.
func (h *Hours) read(ctx context.Context, now *Snapshot, parts map[Partition]bool) error {
	return eachNewRow(ctx, now, "series_hours", parts, h.seen, func(r *hourOf) {
		key := hourKey{r.Partition, continuous.Key(r.Series), *r.Hour / 1000}
		h.has[key] = max(h.has[key], r.Windows)
	})
}

// commitHours is about how many hours of series a commit has, if they are of several hours.
const commitHours = 1 << 12

// hand hands over hours of one day of a partition.
func (h *Hours) hand(ctx context.Context, partition int32, st continuous.HourStore, q continuous.Query) (int, error) {
	list, err := st.Hours(ctx, q)
	if err != nil {
		return 0, err
	}
	for {
		n, err := h.commit(ctx, partition, list)
		if !errors.Is(err, errMeanwhile) {
			return n, err
		}
	}
}

// rest keeps those hours that the lake does not have, and would keep, in order of parts and series, and
// returns the parts.
func (h *Hours) rest(now *Snapshot, partition int32, list *continuous.Hours) (parts map[Partition]bool) {
	kept := now.Kept().Hours
	parts = map[Partition]bool{}
	var keep []int
	for i := range list.Totals {
		t := &list.Totals[i]
		s := &list.Series[t.Series]
		if !t.Start.Before(kept) && h.has[hourKey{partition, s.Key(), t.Start.UnixMilli()}] < t.Parts {
			keep = append(keep, i)
			parts[partOf(s.Service, t.Start)] = true
		}
	}
	of := func(i int) *continuous.Series { return &list.Series[list.Totals[i].Series] }
	slices.SortStableFunc(keep, func(a, b int) int {
		return cmp.Or(cmp.Compare(bucketOf(of(a).Service), bucketOf(of(b).Service)), of(a).Compare(of(b)))
	})
	list.Keep(keep)
	return parts
}

// commit writes hours of one day and adds them to the tables at once.
func (h *Hours) commit(ctx context.Context, partition int32, list *continuous.Hours) (n int, err error) {
	now, err := h.lake.Snapshot(ctx)
	if err != nil {
		return 0, err
	}
	parts := h.rest(now, partition, list)
	if err := h.read(ctx, now, parts); err != nil {
		return 0, err
	}
	if parts = h.rest(now, partition, list); len(parts) == 0 {
		return 0, nil
	}
	w := h.writer(dayOf(list.Totals[0].Start))
	defer func() { w.undoAfter(ctx, h.lake, err) }()
	if err := w.write(partition, list); err != nil {
		return 0, h.lake.wrap(fmt.Errorf("hours: %w", err))
	}
	changes, err := h.lake.keepAll(ctx, w.written())
	if err != nil {
		return 0, err
	}
	n = len(list.Totals)
	err = h.lake.Commit(ctx, changes, func(now *Snapshot) error {
		if err := h.read(ctx, now, parts); err != nil {
			return err
		}
		if h.rest(now, partition, list); len(list.Totals) < n {
			return errMeanwhile
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	for id := range w.fresh {
		w.known[id] = true
	}
	return n, nil
}

// hourWriter writes files of hours.
type hourWriter struct {
	*writer
	hours        *table[seriesHourRow]
	samples      *table[seriesSampleRow]
	amounts      *table[seriesFunctionRow]
	known, fresh map[xxh3.Uint128]bool // functions and paths that the lake has, and those of this commit
}

// writer returns a writer of new files for hours of a day.
func (h *Hours) writer(day int32) *hourWriter {
	maps.DeleteFunc(h.known, func(d int32, _ map[xxh3.Uint128]bool) bool { return d < day-1 || d > day+1 })
	if h.known[day] == nil {
		h.known[day] = map[xxh3.Uint128]bool{}
	}
	w := &hourWriter{writer: newWriter(h.lake.Dir, uuid.NewString()), known: h.known[day], fresh: map[xxh3.Uint128]bool{}}
	begin := micros(Partition{Period: day}.Day())
	at := func(id []byte) (of served, isFresh bool) {
		key := xxh3.Hash128(append([]byte(w.place.Benchmark+"\x00"), id...))
		if isFresh = !w.known[key] && !w.fresh[key]; isFresh {
			w.fresh[key] = true
		}
		return served{w.place.Benchmark, begin}, isFresh
	}
	w.functions = sinkOf(tableOf[servedFunction](w.writer, "window_functions"), func(r functionRow) (servedFunction, bool) {
		of, isFresh := at([]byte(strconv.FormatInt(int64(r.Function), 10)))
		return servedFunction{of, r}, isFresh
	})
	w.paths = sinkOf(tableOf[servedPath](w.writer, "window_paths"), func(r pathRow) (servedPath, bool) {
		of, isFresh := at(r.Path)
		return servedPath{of, r}, isFresh
	})
	w.hours, w.samples = tableOf[seriesHourRow](w.writer, "series_hours"), tableOf[seriesSampleRow](w.writer, "series_samples")
	w.amounts = tableOf[seriesFunctionRow](w.writer, "series_functions")
	return w
}

// write writes the files of hours, which are in order of parts and services.
func (w *hourWriter) write(partition int32, list *continuous.Hours) error {
	var used []int32
	for _, self := range list.Self {
		used = append(used, self.Nodes...)
	}
	cut := list.Forest.Cut(used)
	s := w.shape(cut.Table)
	last := ""
	for i := range list.Totals {
		t := &list.Totals[i]
		of := &list.Series[t.Series]
		in := partOf(of.Service, t.Start)
		part := hourPart(in)
		if i == 0 || of.Service != last {
			last = of.Service
			if err := w.begin(part, place{Benchmark: of.Service}); err != nil {
				return err
			}
		}
		if err := errors.Join(w.hours.in(part), w.samples.in(part), w.amounts.in(part)); err != nil {
			return err
		}
		key := of.Key()
		row := hourOf{Series: key[:], Service: of.Service, Hour: micros(t.Start), Partition: partition, Windows: t.Parts}
		if err := w.hours.add(hourRow(row, of, &list.Types[t.Series], t)); err != nil {
			return err
		}
		err := w.sweep(s, store.TreeVector{Vector: cut.Vector(list.Self[i])}, func(n int32) error {
			if err := w.node(s, n); err != nil || s.self[n] == 0 {
				return err
			}
			return w.samples.add(seriesSampleRow{row, s.pathBytes(n), s.self[n]})
		}, func(fn int32) error {
			return w.amounts.add(seriesFunctionRow{row, s.functions[fn], s.funcSelf[fn], s.funcTotal[fn]})
		})
		if err != nil {
			return err
		}
	}
	return w.finish()
}

// hourPart returns a part of hours with its directory.
func hourPart(in Partition) partition {
	return partition{in, filepath.Join("data", "hour_day="+in.Day().Format(time.DateOnly), fmt.Sprintf("bucket=%d", in.Bucket))}
}

func hourRow(at hourOf, s *continuous.Series, typ *profile.ValueType, t *continuous.Total) seriesHourRow {
	return seriesHourRow{hourOf: at,
		Covered: t.Covered.Milliseconds(), Sum: t.Sum, Instances: t.Instances,
		Name: s.Type.Name, SampleType: s.Type.SampleType, SampleUnit: s.Type.SampleUnit,
		PeriodType: s.Type.PeriodType, PeriodUnit: s.Type.PeriodUnit, Labels: s.Labels.Map(), Summed: s.Summed,
		Facts: s.Facts.Map(),
		First: micros(s.First), Last: micros(s.Last), ValueType: typ.Name, Unit: typ.Unit, Scale: int32(typ.Scale), Period: typ.Period,
		ValuePeriodUnit: typ.PeriodUnit, PeriodName: typ.PeriodName, Original: typ.Original}
}

// HoursOf returns whether a file of hours may have what a query selects: its days, and the bucket
// of its service if it names one.
func HoursOf(q *continuous.Query) func(File) bool {
	first, last := q.Days()
	bucket := int32(-1)
	for _, m := range q.Matchers {
		if m.Name == continuous.ServiceLabel && m.Op == continuous.Equal {
			bucket = bucketOf(m.Value)
		}
	}
	return func(f File) bool {
		return (first.IsZero() || f.Period >= dayOf(first)) && (last.IsZero() || f.Period <= dayOf(last)) && (bucket < 0 || f.Bucket == bucket)
	}
}
