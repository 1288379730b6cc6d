package lake

import (
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/url"
	"os"
	"path/filepath"
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
	monthField  = 1000
	bucketField = 1001
)

// tables are the tables of a lake and their columns, in the order in which programs that
// commit one table at a time should write them: profiles last.
var tables = []struct {
	name    string
	columns *parquet.Schema
}{
	{"functions", parquet.SchemaOf(new(placedFunction))},
	{"paths", parquet.SchemaOf(new(placedPath))},
	{"function_samples", parquet.SchemaOf(new(functionSampleRow))},
	{"path_samples", parquet.SchemaOf(new(pathSampleRow))},
	{"metrics", parquet.SchemaOf(new(metricRow))},
	{"profiles", parquet.SchemaOf(new(profileRow))},
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
	MetadataLog     []metadataLog           `json:"metadata-log"`

	Saved string `json:"-"` // URL of the file
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

type metadataLog struct {
	File string `json:"metadata-file"`
	Time int64  `json:"timestamp-ms"`
}

// newMetadata returns the metadata of a new table.
func newMetadata(location string, columns *parquet.Schema, properties map[string]string) (*metadata, error) {
	m := &metadata{FormatVersion: 2, UUID: uuid.NewString(), Location: location, LastUpdated: time.Now().UnixMilli(),
		Schemas: []*iceberg.Schema{iceberg.NewSchema(0)}, LastPartition: bucketField, SortOrder: 1, Properties: properties,
		Snapshots: []snapshot{}, SnapshotLog: []snapshotLog{}, MetadataLog: []metadataLog{}}
	if err := m.evolve(columns); err != nil {
		return nil, err
	}
	m.Schemas = m.Schemas[1:]
	id := func(name string) int {
		f, _ := m.schema().FindFieldByName(name)
		return f.ID
	}
	m.Specs = []iceberg.PartitionSpec{iceberg.NewPartitionSpec(
		iceberg.PartitionField{SourceIDs: []int{id("date")}, FieldID: monthField, Name: "month", Transform: iceberg.MonthTransform{}},
		iceberg.PartitionField{SourceIDs: []int{id("benchmark")}, FieldID: bucketField, Name: "bucket", Transform: iceberg.BucketTransform{NumBuckets: Buckets}})}
	order := sortOrder{ID: 1}
	for _, name := range []string{"grp", "benchmark", "date"} {
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

// readMetadata reads the metadata of a table from a URL.
func readMetadata(location string) (*metadata, error) {
	data, err := os.ReadFile(pathOf(location))
	if err != nil {
		return nil, err
	}
	m := new(metadata)
	if err := json.Unmarshal(data, m); err != nil {
		return nil, fmt.Errorf("%s: %w", pathOf(location), err)
	}
	if m.FormatVersion != 2 || len(m.Schemas) == 0 || len(m.Specs) != 1 {
		return nil, fmt.Errorf("%s: not a table that dendro made: format version %d, %d partition specs", pathOf(location), m.FormatVersion, len(m.Specs))
	}
	return m, nil
}

// manifests returns the manifests of the current snapshot.
func (m *metadata) manifests() ([]iceberg.ManifestFile, error) {
	i := slices.IndexFunc(m.Snapshots, func(s snapshot) bool { return m.CurrentSnapshot != nil && s.ID == *m.CurrentSnapshot })
	if i < 0 {
		return nil, nil
	}
	return readManifestList(m.Snapshots[i].ManifestList)
}

func readManifestList(location string) ([]iceberg.ManifestFile, error) {
	f, err := os.Open(pathOf(location))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	list, err := iceberg.ReadManifestList(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", pathOf(location), err)
	}
	for _, m := range list {
		if m.ManifestContent() != iceberg.ManifestContentData {
			return nil, fmt.Errorf("%s: the table has deleted rows in files of their own, which dendro does not read: rewrite its data files", pathOf(location))
		}
	}
	return list, nil
}

// entries returns the files of a manifest.
func entries(m iceberg.ManifestFile) ([]iceberg.ManifestEntry, error) {
	f, err := os.Open(pathOf(m.FilePath()))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	list, err := iceberg.ReadManifest(m, f, true)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", pathOf(m.FilePath()), err)
	}
	return list, nil
}

// fileOf returns the file of an entry of a manifest.
func fileOf(e iceberg.ManifestEntry) File {
	d := e.DataFile()
	f := File{Path: pathOf(d.FilePath()), Rows: d.Count(), Size: d.FileSizeBytes()}
	values := d.Partition()
	f.Month, f.Dated = values[monthField].(int32)
	f.Bucket, _ = values[bucketField].(int32)
	return f
}

// Change is what a commit does to a table.
type Change struct {
	Add    []File
	Remove map[string]bool // by path
}

// apply makes a new snapshot of a table, with new manifests beside its metadata.
func (m *metadata) apply(c Change) error {
	dir := filepath.Join(pathOf(m.Location), "metadata")
	s := snapshot{ID: rand.Int64(), Parent: m.CurrentSnapshot, Sequence: m.LastSequence + 1, Time: max(time.Now().UnixMilli(), m.LastUpdated), Schema: m.CurrentSchema,
		Summary: map[string]string{"operation": "append", "added-data-files": strconv.Itoa(len(c.Add)), "deleted-data-files": strconv.Itoa(len(c.Remove))}}
	if len(c.Remove) > 0 {
		s.Summary["operation"] = "overwrite"
	}
	list, err := m.manifests()
	if err != nil {
		return err
	}
	id := s.ID
	var write []func(*iceberg.ManifestWriter) error
	for _, f := range c.Add {
		values := map[int]any{monthField: nil, bucketField: f.Bucket}
		if f.Dated {
			values[monthField] = f.Month
		}
		b, err := iceberg.NewDataFileBuilder(m.Specs[0], iceberg.EntryContentData, urlOf(f.Path), iceberg.ParquetFile, values, nil, nil, f.Rows, f.Size)
		if err != nil {
			return err
		}
		e := iceberg.NewManifestEntry(iceberg.EntryStatusADDED, &id, nil, nil, b.Build())
		write = append(write, func(w *iceberg.ManifestWriter) error { return w.Add(e) })
	}
	if len(c.Remove) > 0 { // all manifests become one
		for _, old := range list {
			all, err := entries(old)
			if err != nil {
				return err
			}
			for _, e := range all {
				if c.Remove[pathOf(e.DataFile().FilePath())] {
					write = append(write, func(w *iceberg.ManifestWriter) error { return w.Delete(e) })
				} else {
					write = append(write, func(w *iceberg.ManifestWriter) error { return w.Existing(e) })
				}
			}
		}
		list = nil
	}
	if len(write) > 0 {
		manifest, err := m.writeManifest(filepath.Join(dir, uuid.NewString()+"-m0.avro"), id, write)
		if err != nil {
			return err
		}
		list = append([]iceberg.ManifestFile{manifest}, list...)
	}
	path := filepath.Join(dir, fmt.Sprintf("snap-%d-1-%s.avro", s.ID, uuid.NewString()))
	err = create(path, func(w io.Writer) error {
		return iceberg.WriteManifestList(2, w, s.ID, s.Parent, &s.Sequence, 0, list)
	})
	if err != nil {
		return err
	}
	s.ManifestList = urlOf(path)
	m.LastSequence, m.LastUpdated, m.CurrentSnapshot = s.Sequence, s.Time, &id
	m.Snapshots, m.SnapshotLog = append(m.Snapshots, s), append(m.SnapshotLog, snapshotLog{s.ID, s.Time})
	m.Refs = map[string]ref{"main": {s.ID, "branch"}}
	return nil
}

func (m *metadata) writeManifest(path string, snapshot int64, write []func(*iceberg.ManifestWriter) error) (manifest iceberg.ManifestFile, err error) {
	err = create(path, func(out io.Writer) error {
		n := &counter{Writer: out}
		w, err := iceberg.NewManifestWriter(2, n, m.Specs[0], m.schema(), snapshot)
		if err != nil {
			return err
		}
		for _, f := range write {
			if err := f(w); err != nil {
				return err
			}
		}
		if err := w.Close(); err != nil {
			return err
		}
		manifest, err = w.ToManifestFile(urlOf(path), n.n)
		return err
	})
	return manifest, err
}

type counter struct {
	io.Writer
	n int64
}

func (c *counter) Write(p []byte) (int, error) {
	n, err := c.Writer.Write(p)
	c.n += int64(n)
	return n, err
}

// expire forgets the snapshots before a time, except the current one.
func (m *metadata) expire(before time.Time) {
	m.Snapshots = slices.DeleteFunc(m.Snapshots, func(s snapshot) bool {
		return s.Time < before.UnixMilli() && m.CurrentSnapshot != nil && s.ID != *m.CurrentSnapshot
	})
	m.SnapshotLog = slices.DeleteFunc(m.SnapshotLog, func(l snapshotLog) bool {
		return !slices.ContainsFunc(m.Snapshots, func(s snapshot) bool { return s.ID == l.Snapshot })
	})
}

// save writes the metadata as the version after the one at previous, empty for a new
// table, and returns its URL.
func (m *metadata) save(previous string) (location string, err error) {
	version := 0
	if previous != "" {
		number, _, _ := strings.Cut(filepath.Base(previous), "-")
		version, _ = strconv.Atoi(number)
		version++
		m.MetadataLog = append(m.MetadataLog, metadataLog{previous, m.LastUpdated})
		m.MetadataLog = m.MetadataLog[max(0, len(m.MetadataLog)-100):]
	}
	path := filepath.Join(pathOf(m.Location), "metadata", fmt.Sprintf("%05d-%s.metadata.json", version, uuid.NewString()))
	m.Saved = urlOf(path)
	return m.Saved, create(path, func(w io.Writer) error { return json.NewEncoder(w).Encode(m) })
}

// create writes a new file and syncs it.
func create(path string, write func(io.Writer) error) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o666)
	if err != nil {
		return err
	}
	err = write(f)
	if err == nil {
		err = f.Sync()
	}
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err != nil {
		os.Remove(path)
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// urlOf returns the URL of a file with an absolute path, as Iceberg's metadata has it.
func urlOf(path string) string { return (&url.URL{Scheme: "file", Path: path}).String() }

// pathOf is the inverse of urlOf.
func pathOf(location string) string {
	if u, err := url.Parse(location); err == nil && u.Scheme == "file" {
		return u.Path
	}
	return location
}
