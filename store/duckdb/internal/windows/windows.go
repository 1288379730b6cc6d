// Package windows keeps the windows of continuous profiles in the tables of a DuckDB file.
//
// A window is a row with an encoded vector over the forest of package profiles, in a table
// for each level. The rows of a table are in order of time, so that zone maps find those of
// a range. Nothing else is stored of a window: functions are computed from vectors.
//
// In memory are the series and the progress of roll-ups, loaded by the first call that
// needs them; of windows nothing. store/duckdb/FORMAT.md documents every table.
package windows

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/dendroprof/dendro/continuous"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/store/duckdb/internal/driver"
	"github.com/dendroprof/dendro/store/duckdb/internal/profiles"
)

// Store keeps windows in a file. It is safe for concurrent use: one PutWindows or RollUp at
// a time, and none while profiles change, because they share the forest.
type Store struct {
	file *driver.File
	base *profiles.Store // whose forest and lock it uses

	limits  continuous.Room // set before the first PutWindows
	rolling sync.Mutex      // held by RollUp
	load    sync.Mutex      // held while state is loaded
	// state changes only in the committed function of profiles.Grow, and is read by its
	// caller or under profiles.Snapshot. Who holds change reads what HasRoom needs of it.
	state  *state
	change sync.RWMutex
	// version counts changes; that of a service is in versions, or if it is larger in ofAll.
	version, ofAll uint64
	versions       map[string]uint64
}

var (
	_ continuous.Store     = (*Store)(nil)
	_ continuous.Limited   = (*Store)(nil)
	_ continuous.Versioned = (*Store)(nil)

	_ continuous.Follower  = (*Store)(nil)
	_ continuous.HourStore = (*Store)(nil)
)

// New returns the windows of a file, to be loaded by Load.
func New(file *driver.File, base *profiles.Store) *Store { return &Store{file: file, base: base} }

// Limit implements continuous.Limited.
func (s *Store) Limit(r continuous.Room) { s.limits = r }

// Forest implements continuous.Limited.
func (s *Store) Forest(ctx context.Context) (f continuous.Forest, err error) {
	err = s.look(ctx, func(st *state) { f.Text, f.Folded = st.text, st.folded }, func(c *driver.Conn) (err error) {
		f.Paths, err = c.Number(ctx, "SELECT count(*) FROM call_path")
		return err
	})
	return f, err
}

// HasRoom implements continuous.Limited. Until the first commit there is room.
func (s *Store) HasRoom(k continuous.Key, service string, bytes int64) bool {
	s.change.RLock()
	defer s.change.RUnlock()
	st, l := s.state, &s.limits
	return st == nil || l.Text <= 0 || st.byKey[k] != nil || st.text+bytes <= l.Text && st.grown[service].text+bytes <= l.Part(l.Text)
}

// Unused implements continuous.Limited.
func (s *Store) Unused(ctx context.Context) (paths int64, err error) {
	err = s.file.Look(ctx, func(c *driver.Conn) error {
		paths, err = profiles.Unused(ctx, s.base, c, Vectors{})
		return err
	})
	return paths, err
}

// What follows are functions and not methods because package duckdb embeds Store and users
// must not see them.

// Session is the SQL that a connection needs before this package can use it.
const Session = chosenTable

// Load forgets what memory has of a database that was closed.
func Load(s *Store) { s.become(nil) }

func (s *Store) become(st *state) {
	s.change.Lock()
	defer s.change.Unlock()
	s.state = st
	s.changedAll()
}

// changedAll changes the version of all services. The caller holds change.
func (s *Store) changedAll() {
	s.version++
	s.ofAll, s.versions = s.version, map[string]uint64{}
}

// WindowsVersion implements continuous.Versioned.
func (s *Store) WindowsVersion(service string) uint64 {
	s.change.RLock()
	defer s.change.RUnlock()
	if service == "" {
		return s.version
	}
	return max(s.ofAll, s.versions[service])
}

// state mirrors the committed tables but for windows.
type state struct {
	progress continuous.Progress
	cuts     continuous.Cuts
	seq      int64     // of the last window
	list     []*series // in order of ids; never nil
	byKey    map[continuous.Key]*series
	nextID   int32
	kinds    map[kind]*kind    // each once
	names    map[string]string // of labels, each once

	text   int64             // bytes of functions' names and places when it was read, and of what pushes added, and of labels and facts
	grown  map[string]growth // what services have added since, and all their labels
	folded int64
}

// snapshot begins a transaction in which the tables are as state says, and calls f with that
// state, before anybody commits. The caller ends the transaction.
func (s *Store) snapshot(ctx context.Context, c *driver.Conn, f func(st *state)) error {
	return profiles.Snapshot(s.base, func() error {
		if err := c.Exec("BEGIN TRANSACTION"); err != nil {
			return err
		}
		st, err := s.loaded(ctx, c) // the first statement, or one that begins the snapshot
		if err == nil {
			_, err = c.Number(ctx, "SELECT count(*) FROM meta")
		}
		if err == nil {
			f(st)
		}
		return err
	})
}

// look calls f in a transaction in which the tables are as taken sees the state.
func (s *Store) look(ctx context.Context, taken func(st *state), f func(c *driver.Conn) error) error {
	return s.file.Look(ctx, func(c *driver.Conn) error {
		err := s.snapshot(ctx, c, taken)
		if err == nil {
			err = f(c)
		}
		if end := c.Exec("ROLLBACK"); err == nil {
			err = end
		}
		return err
	})
}

// series is a row of table series.
type series struct {
	id    int32
	stale bool // the times in its row are those of the last roll-up
	continuous.Series
	typ    *profile.ValueType // of all of its kind
	newest int64              // start of the window that Facts describe, in milliseconds
}

// kind is what the series of a service and a type have in common.
type kind struct {
	service string
	pushed  continuous.Type
	value   profile.ValueType
}

// share makes the texts of a series those of the others of its kind: there may be thousands of
// instances, each of which a request named.
func (st *state) share(e *series) {
	of := kind{e.Service, e.Type, *e.typ}
	k := st.kinds[of]
	if k == nil {
		k = &of
		st.kinds[of] = k
	}
	e.Service, e.Type, e.typ = k.service, k.pushed, &k.value
	for i := range e.Labels {
		l := &e.Labels[i]
		name, ok := st.names[l.Name]
		if !ok {
			name = strings.Clone(l.Name)
			st.names[name] = name
		}
		l.Name = name
	}
}

// Keys of table meta for the progress of roll-ups, and for what services have lost besides, as JSON.
const (
	metaProgress = "windows"
	metaCuts     = "window shares"
)

// loaded returns the state, at first read from the file. No commit happens meanwhile.
func (s *Store) loaded(ctx context.Context, c *driver.Conn) (*state, error) {
	s.load.Lock()
	defer s.load.Unlock()
	if s.state != nil {
		return s.state, nil
	}
	st := &state{progress: continuous.NewProgress(), byKey: map[continuous.Key]*series{}, grown: map[string]growth{}, kinds: map[kind]*kind{},
		names: map[string]string{}}
	for key, to := range map[string]any{metaProgress: &st.progress, metaCuts: &st.cuts} {
		text, err := c.Meta(ctx, key)
		if err != nil {
			return nil, err
		}
		if text == "" {
			continue
		}
		if err := json.Unmarshal([]byte(text), to); err != nil {
			return nil, driver.Corruptf("the progress of %s, %q, cannot be read", key, text)
		}
	}
	var err error
	st.seq = st.progress.Seq
	if st.text, err = c.Number(ctx, "SELECT coalesce(sum(strlen(name) + strlen(module) + strlen(file) + strlen(language) + strlen(system_name)), 0)::BIGINT FROM fn"); err != nil {
		return nil, err
	}
	if err := st.readSeries(ctx, c); err != nil {
		return nil, err
	}
	if err := st.readTimes(ctx, c); err != nil {
		return nil, err
	}
	s.become(st)
	return st, nil
}

// seriesRow is a row of table series. What it has besides the series is also in there, as another type.
type seriesRow struct {
	series
	scale                 int32
	first, last           int64
	labels, facts, summed map[string]string
}

func (r *seriesRow) fields() []any {
	t, v := &r.Type, r.typ
	return []any{&r.id, &r.Service, &t.Name, &t.SampleType, &t.SampleUnit, &t.PeriodType, &t.PeriodUnit, &r.labels, &r.facts, &v.Name, &v.Unit,
		&r.scale, &v.Period, &v.PeriodUnit, &v.PeriodName, &v.Original, &r.first, &r.last, &r.newest, &r.summed}
}

func (st *state) readSeries(ctx context.Context, c *driver.Conn) error {
	known := map[string]string{}
	row := seriesRow{series: series{typ: &profile.ValueType{}}}
	return c.Rows(ctx, "FROM series ORDER BY id", nil, row.fields(), func() error {
		e, typ := row.series, *row.typ
		typ.Scale = int(row.scale)
		e.typ, e.Summed = &typ, slices.Sorted(maps.Keys(row.summed))
		e.Labels, e.Facts = labelsOf(row.labels, known), labelsOf(row.facts, known)
		e.First, e.Last = timeOf(row.first), timeOf(row.last)
		st.count(&e)
		return nil
	})
}

// appendSeries writes rows of table series.
func appendSeries(c *driver.Conn, catalog string, list []*series) error {
	rows := make([]seriesRow, len(list))
	for i, e := range list {
		summed := map[string]string{}
		for _, name := range e.Summed {
			summed[name] = ""
		}
		rows[i] = seriesRow{series: *e, scale: int32(e.typ.Scale), first: e.First.UnixMilli(), last: e.Last.UnixMilli(), labels: e.Labels.Map(),
			facts: e.Facts.Map(), summed: summed}
	}
	return driver.Insert(c, catalog, "series", rows, (*seriesRow).fields)
}

// add adds a series with the next free id or a higher one.
func (st *state) add(e *series) {
	st.share(e)
	st.list = append(st.list, e)
	st.byKey[e.Key()] = e
	st.nextID = e.id + 1
}

// count adds a series, and the bytes of its labels.
func (st *state) count(e *series) {
	st.add(e)
	has := st.grown[e.Service]
	st.grown[e.Service] = growth{has.paths, has.text + e.labelBytes()}
	st.text += e.labelBytes()
}

// remove forgets a series without windows, but for its place in the list.
func (st *state) remove(e *series) {
	delete(st.byKey, e.Key())
	st.text -= e.labelBytes()
	has := st.grown[e.Service]
	st.grown[e.Service] = growth{has.paths, max(0, has.text-e.labelBytes())}
}

// of returns the series of an id.
func (st *state) of(id int32) (*series, bool) {
	i, ok := slices.BinarySearchFunc(st.list, id, func(e *series, id int32) int { return int(e.id - id) })
	if !ok {
		return nil, false
	}
	return st.list[i], true
}

// readTimes adds the windows since the last roll-up to the times of their series: rows of
// series have the times of then.
func (st *state) readTimes(ctx context.Context, c *driver.Conn) error {
	sql := fmt.Sprintf(`SELECT series, min(start), max(start), max(start + length), max(seq) FROM raw_window WHERE seq > %d GROUP BY series`, st.progress.Seq)
	var id int32
	var first, newest, last, seq int64
	return c.Rows(ctx, sql, nil, []any{&id, &first, &newest, &last, &seq}, func() error {
		e, ok := st.of(id)
		if !ok {
			return driver.Corruptf("windows of series %d, which is missing", id)
		}
		e.extend(first, newest, last)
		st.seq = max(st.seq, seq)
		return nil
	})
}

// extend adds windows to the times of a series.
func (e *series) extend(first, newest, last int64) {
	if first < e.First.UnixMilli() {
		e.First = timeOf(first)
	}
	if last > e.Last.UnixMilli() {
		e.Last = timeOf(last)
	}
	e.newest = max(e.newest, newest)
	e.stale = true
}

// labelBytes returns the bytes of what a series counts as text.
func (e *series) labelBytes() int64 { return e.Labels.Bytes() + e.Facts.Bytes() }

func timeOf(millis int64) time.Time { return time.UnixMilli(millis).UTC() }

// labelsOf returns labels in order. Equal texts are one in known: most series share them.
func labelsOf(m, known map[string]string) (list continuous.Labels) {
	one := func(text string) string {
		if have, ok := known[text]; ok {
			return have
		}
		known[text] = text
		return text
	}
	for _, name := range slices.Sorted(maps.Keys(m)) {
		list = append(list, continuous.Label{Name: one(name), Value: one(m[name])})
	}
	return list
}

// copied returns a copy that callers may change.
func (e *series) copied() continuous.Series {
	c := e.Series
	c.Labels, c.Facts, c.Summed = slices.Clone(e.Labels), slices.Clone(e.Facts), slices.Clone(e.Summed)
	return c
}
