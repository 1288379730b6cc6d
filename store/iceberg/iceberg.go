package iceberg

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/apache/iceberg-go"
	"github.com/google/uuid"
	"github.com/parquet-go/parquet-go"
)

// Buckets is the number of buckets that benchmarks are hashed into.
const Buckets = 8

// The ids of the partition fields. Every table of a lake has both.
const (
	periodField = 1000
	bucketField = 1001
)

// tableSet are tables that a commit changes all at once. The last one says what the others have.
type tableSet struct {
	tables  []tableSchema
	period  iceberg.Transform // of the date into which files are divided
	date    string            // column of that date
	key     string            // column that is hashed into buckets
	order   []string          // columns by which files are sorted
	version int
}

// main is the name of the table that has the properties of the set.
func (s *tableSet) main() string { return s.tables[len(s.tables)-1].name }

// runSet are the tables of runs.
var runSet = &tableSet{tables: tables, period: iceberg.MonthTransform{}, date: "date", key: "benchmark",
	order: []string{"grp", "benchmark", "date"}, version: Version}

// tables are the tables of runs and their columns, in the order in which programs that
// commit one table at a time should write them: profiles last.
var tables = []tableSchema{
	{"functions", parquet.SchemaOf(new(placedFunction))},
	{"paths", parquet.SchemaOf(new(placedPath))},
	{"function_samples", parquet.SchemaOf(new(functionSampleRow))},
	{"path_samples", parquet.SchemaOf(new(pathSampleRow))},
	{"metrics", parquet.SchemaOf(new(metricRow))},
	{"profiles", parquet.SchemaOf(new(profileRow))},
}

// tableSchema is a table and its columns.
type tableSchema struct {
	name    string
	columns *parquet.Schema
}

// metadata is the metadata of an Iceberg table, format version 2.
type metadata struct {
	FormatVersion   int                     `json:"format-version"`
	UUID            string                  `json:"table-uuid"`
	Location        string                  `json:"location"`
	LastSequence    int64                   `json:"last-sequence-number"`
	LastUpdated     int64                   `json:"last-updated-ms"`
	LastColumn      int                     `json:"last-column-id"`
	CurrentSchema   int                     `json:"current-schema-id"`
	Schemas         []*iceberg.Schema       `json:"schemas"`
	DefaultSpec     int                     `json:"default-spec-id"`
	Specs           []iceberg.PartitionSpec `json:"partition-specs"`
	LastPartition   int                     `json:"last-partition-id"`
	SortOrder       int                     `json:"default-sort-order-id"`
	SortOrders      []sortOrder             `json:"sort-orders"`
	Properties      map[string]string       `json:"properties"`
	CurrentSnapshot *int64                  `json:"current-snapshot-id,omitempty"`
	Refs            map[string]ref          `json:"refs,omitempty"`
	Snapshots       []snapshot              `json:"snapshots"`
	SnapshotLog     []snapshotLog           `json:"snapshot-log"`

	Saved     string     `json:"-"` // location of the file
	warehouse *warehouse // of the table
}

type sortOrder struct {
	ID     int         `json:"order-id"`
	Fields []sortField `json:"fields"`
}

type sortField struct {
	Transform string `json:"transform"`
	Source    int    `json:"source-id"`
	Direction string `json:"direction"`
	Nulls     string `json:"null-order"`
}

type ref struct {
	Snapshot int64  `json:"snapshot-id"`
	Type     string `json:"type"`
}

type snapshot struct {
	ID           int64             `json:"snapshot-id"`
	Parent       *int64            `json:"parent-snapshot-id,omitempty"`
	Sequence     int64             `json:"sequence-number"`
	Time         int64             `json:"timestamp-ms"`
	ManifestList string            `json:"manifest-list"`
	Summary      map[string]string `json:"summary"`
	Schema       int               `json:"schema-id"`
}

type snapshotLog struct {
	Snapshot int64 `json:"snapshot-id"`
	Time     int64 `json:"timestamp-ms"`
}

// newMetadata returns the metadata of a new table.
func (set *tableSet) newMetadata(w *warehouse, name string, columns *parquet.Schema, properties map[string]string) (*metadata, error) {
	m := &metadata{warehouse: w, FormatVersion: 2, UUID: uuid.NewString(), Location: w.url + "/" + name, LastUpdated: time.Now().UnixMilli(),
		Schemas: []*iceberg.Schema{iceberg.NewSchema(0)}, LastPartition: bucketField, SortOrder: 1, Properties: properties,
		Snapshots: []snapshot{}, SnapshotLog: []snapshotLog{}}
	if err := m.evolve(columns); err != nil {
		return nil, err
	}
	m.Schemas = m.Schemas[1:]
	id := func(name string) int {
		f, _ := m.schema().FindFieldByName(name)
		return f.ID
	}
	m.Specs = []iceberg.PartitionSpec{iceberg.NewPartitionSpec(
		iceberg.PartitionField{SourceIDs: []int{id(set.date)}, FieldID: periodField, Name: set.period.String(), Transform: set.period},
		iceberg.PartitionField{SourceIDs: []int{id(set.key)}, FieldID: bucketField, Name: "bucket",
			Transform: iceberg.BucketTransform{NumBuckets: Buckets}})}
	order := sortOrder{ID: 1}
	for _, name := range set.order {
		order.Fields = append(order.Fields, sortField{"identity", id(name), "asc", "nulls-first"})
	}
	m.SortOrders = []sortOrder{order}
	return m, nil
}

func (m *metadata) schema() *iceberg.Schema {
	return m.Schemas[slices.IndexFunc(m.Schemas, func(s *iceberg.Schema) bool { return s.ID == m.CurrentSchema })]
}

// evolve adds the columns that a table does not have yet. All columns are optional, so
// that files of earlier versions stay valid. Columns of files have names and no ids; the
// name mapping assigns them.
func (m *metadata) evolve(columns *parquet.Schema) error {
	m.CurrentSchema = m.Schemas[len(m.Schemas)-1].ID
	now := m.schema()
	fields := slices.Clone(now.Fields())
	next := func() int {
		m.LastColumn++
		return m.LastColumn
	}
	for _, f := range columns.Fields() {
		if _, ok := now.FindFieldByName(f.Name()); !ok {
			fields = append(fields, iceberg.NestedField{ID: next(), Name: f.Name(), Type: typeOf(f, next)})
		}
	}
	if len(fields) == now.NumFields() {
		return nil
	}
	m.CurrentSchema++
	s := iceberg.NewSchema(m.CurrentSchema, fields...)
	m.Schemas = append(m.Schemas, s)
	mapping, err := json.Marshal(s.NameMapping())
	m.Properties["schema.name-mapping.default"] = string(mapping)
	return err
}

// typeOf returns the Iceberg type of a column of a Parquet file.
func typeOf(n parquet.Node, next func() int) iceberg.Type {
	if !n.Leaf() {
		entry := n.Fields()[0].Fields()
		if len(entry) == 2 {
			return &iceberg.MapType{KeyID: next(), KeyType: typeOf(entry[0], next), ValueID: next(), ValueType: typeOf(entry[1], next)}
		}
		return &iceberg.ListType{ElementID: next(), Element: typeOf(entry[0], next)}
	}
	logical := ""
	if l := n.Type().LogicalType(); l != nil {
		logical = l.String()
	}
	switch n.Type().Kind() {
	case parquet.Boolean:
		return iceberg.PrimitiveTypes.Bool
	case parquet.Int32:
		return iceberg.PrimitiveTypes.Int32
	case parquet.Int64:
		if strings.HasPrefix(logical, "TIMESTAMP") {
			return iceberg.PrimitiveTypes.TimestampTz
		}
		return iceberg.PrimitiveTypes.Int64
	case parquet.Double:
		return iceberg.PrimitiveTypes.Float64
	}
	if logical == "STRING" {
		return iceberg.PrimitiveTypes.String
	}
	return iceberg.PrimitiveTypes.Binary
}

// readMetadata reads the metadata of a table.
func readMetadata(ctx context.Context, w *warehouse, location string) (*metadata, error) {
	data, err := w.read(ctx, w.path(location))
	if err != nil {
		return nil, err
	}
	m := &metadata{warehouse: w, Saved: location}
	if err := json.Unmarshal(data, m); err != nil {
		return nil, fmt.Errorf("%s: %w", location, err)
	}
	if m.FormatVersion != 2 || len(m.Schemas) == 0 || len(m.Specs) != 1 {
		return nil, fmt.Errorf("%s: not a table that dendro made: format version %d, %d partition specs", location, m.FormatVersion, len(m.Specs))
	}
	return m, nil
}

// manifests returns the manifests of the current snapshot.
func (m *metadata) manifests(ctx context.Context) ([]iceberg.ManifestFile, error) {
	i := slices.IndexFunc(m.Snapshots, func(s snapshot) bool { return m.CurrentSnapshot != nil && s.ID == *m.CurrentSnapshot })
	if i < 0 {
		return nil, nil
	}
	return m.manifestsOf(ctx, &m.Snapshots[i])
}

// manifestsOf returns the manifests of a snapshot, which are on this machine then.
func (m *metadata) manifestsOf(ctx context.Context, s *snapshot) ([]iceberg.ManifestFile, error) {
	data, err := m.warehouse.read(ctx, m.warehouse.path(s.ManifestList))
	if err != nil {
		return nil, err
	}
	list, err := iceberg.ReadManifestList(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.ManifestList, err)
	}
	paths := make([]string, len(list))
	for i, manifest := range list {
		if manifest.ManifestContent() != iceberg.ManifestContentData {
			return nil, fmt.Errorf("%s: the table has deleted rows in files of their own, which dendro does not read: rewrite its data files", s.ManifestList)
		}
		paths[i] = m.warehouse.path(manifest.FilePath())
	}
	return list, m.warehouse.fetch(ctx, paths...)
}

// entries returns the files of a manifest.
func (m *metadata) entries(ctx context.Context, manifest iceberg.ManifestFile) ([]iceberg.ManifestEntry, error) {
	data, err := m.warehouse.read(ctx, m.warehouse.path(manifest.FilePath()))
	if err != nil {
		return nil, err
	}
	list, err := iceberg.ReadManifest(manifest, bytes.NewReader(data), true)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", manifest.FilePath(), err)
	}
	return list, nil
}

// fileOf returns the file of an entry of a manifest.
func (m *metadata) fileOf(e iceberg.ManifestEntry) File {
	d := e.DataFile()
	f := File{Path: m.warehouse.path(d.FilePath()), Rows: d.Count(), Size: d.FileSizeBytes()}
	values := d.Partition()
	switch period := values[periodField].(type) {
	case int32:
		f.Period, f.Dated = period, true
	case iceberg.Date:
		f.Period, f.Dated = int32(period), true
	}
	f.Bucket, _ = values[bucketField].(int32)
	return f
}

// Change is what a commit does to a table.
type Change struct {
	Add    []File
	Remove map[string]bool // by path
}

// apply makes a new snapshot of a table, with new manifests beside its metadata.
func (m *metadata) apply(ctx context.Context, c Change) error {
	s := snapshot{ID: rand.Int64(), Parent: m.CurrentSnapshot, Sequence: m.LastSequence + 1, Time: max(time.Now().UnixMilli(), m.LastUpdated),
		Schema: m.CurrentSchema,
		Summary: map[string]string{"operation": "append", "added-data-files": strconv.Itoa(len(c.Add)),
			"deleted-data-files": strconv.Itoa(len(c.Remove))}}
	if len(c.Remove) > 0 {
		s.Summary["operation"] = "overwrite"
	}
	list, err := m.manifests(ctx)
	if err != nil {
		return err
	}
	id := s.ID
	var write []func(*iceberg.ManifestWriter) error
	for _, f := range c.Add {
		values := map[int]any{periodField: nil, bucketField: f.Bucket}
		if _, daily := m.Specs[0].Field(0).Transform.(iceberg.DayTransform); f.Dated && daily {
			values[periodField] = iceberg.Date(f.Period)
		} else if f.Dated {
			values[periodField] = f.Period
		}
		b, err := iceberg.NewDataFileBuilder(m.Specs[0], iceberg.EntryContentData, m.warehouse.location(f.Path), iceberg.ParquetFile, values,
			nil, nil, f.Rows, f.Size)
		if err != nil {
			return err
		}
		m.setBounds(b, f.columns)
		e := iceberg.NewManifestEntry(iceberg.EntryStatusADDED, &id, nil, nil, b.Build())
		write = append(write, func(w *iceberg.ManifestWriter) error { return w.Add(e) })
	}
	if len(c.Remove) > 0 { // all manifests become one
		for _, old := range list {
			all, err := m.entries(ctx, old)
			if err != nil {
				return err
			}
			for _, e := range all {
				if c.Remove[m.warehouse.path(e.DataFile().FilePath())] {
					write = append(write, func(w *iceberg.ManifestWriter) error { return w.Delete(e) })
				} else {
					write = append(write, func(w *iceberg.ManifestWriter) error { return w.Existing(e) })
				}
			}
		}
		list = nil
	}
	if len(write) > 0 {
		manifest, err := m.writeManifest(ctx, id, write)
		if err != nil {
			return err
		}
		list = append([]iceberg.ManifestFile{manifest}, list...)
	}
	var content bytes.Buffer
	if err := iceberg.WriteManifestList(2, &content, s.ID, s.Parent, &s.Sequence, 0, list); err != nil {
		return err
	}
	if s.ManifestList, err = m.create(ctx, fmt.Sprintf("snap-%d-1-%s.avro", s.ID, uuid.NewString()), content.Bytes()); err != nil {
		return err
	}
	m.LastSequence, m.LastUpdated, m.CurrentSnapshot = s.Sequence, s.Time, &id
	m.Snapshots, m.SnapshotLog = append(m.Snapshots, s), append(m.SnapshotLog, snapshotLog{s.ID, s.Time})
	m.Refs = map[string]ref{"main": {s.ID, "branch"}}
	return nil
}

// setBounds tells what a file has in its columns, so that readers skip files.
func (m *metadata) setBounds(b *iceberg.DataFileBuilder, columns []column) {
	values, nulls, lower, upper := map[int]int64{}, map[int]int64{}, map[int][]byte{}, map[int][]byte{}
	for _, c := range columns {
		f, ok := m.schema().FindFieldByName(c.name)
		if !ok {
			continue
		}
		values[f.ID], nulls[f.ID] = c.values, c.nulls
		if c.lower != nil {
			lower[f.ID], upper[f.ID] = c.lower, c.upper
		}
	}
	b.ValueCounts(values).NullValueCounts(nulls).LowerBoundValues(lower).UpperBoundValues(upper)
}

// create writes a file beside the metadata and returns its location.
func (m *metadata) create(ctx context.Context, name string, content []byte) (location string, err error) {
	location = m.Location + "/metadata/" + name
	return location, m.warehouse.create(ctx, m.warehouse.path(location), content)
}

func (m *metadata) writeManifest(ctx context.Context, snapshot int64,
	write []func(*iceberg.ManifestWriter) error) (iceberg.ManifestFile, error) {
	var content bytes.Buffer
	w, err := iceberg.NewManifestWriter(2, &content, m.Specs[0], m.schema(), snapshot)
	if err != nil {
		return nil, err
	}
	for _, f := range write {
		if err := f(w); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	location, err := m.create(ctx, uuid.NewString()+"-m0.avro", content.Bytes())
	if err != nil {
		return nil, err
	}
	return w.ToManifestFile(location, int64(content.Len()))
}

// replaced returns the snapshots that were replaced before a time: until then, a query may have begun with them.
func (m *metadata) replaced(before time.Time) (ids []int64) {
	for i := 1; i < len(m.Snapshots); i++ {
		if s := &m.Snapshots[i-1]; m.Snapshots[i].Time < before.UnixMilli() && m.CurrentSnapshot != nil && s.ID != *m.CurrentSnapshot {
			ids = append(ids, s.ID)
		}
	}
	return ids
}

// expire forgets them.
func (m *metadata) expire(before time.Time) {
	gone := m.replaced(before)
	m.Snapshots = slices.DeleteFunc(m.Snapshots, func(s snapshot) bool { return slices.Contains(gone, s.ID) })
	m.SnapshotLog = slices.DeleteFunc(m.SnapshotLog, func(l snapshotLog) bool { return slices.Contains(gone, l.Snapshot) })
}

// save writes the metadata as the version after the one at previous, empty for a new
// table, and returns its location.
func (m *metadata) save(ctx context.Context, previous string) (location string, err error) {
	version := 0
	if previous != "" {
		number, _, _ := strings.Cut(path.Base(previous), "-")
		version, _ = strconv.Atoi(number)
		version++
	}
	content, err := json.Marshal(m)
	if err == nil {
		m.Saved, err = m.create(ctx, fmt.Sprintf("%05d-%s.metadata.json", version, uuid.NewString()), content)
	}
	return m.Saved, err
}
