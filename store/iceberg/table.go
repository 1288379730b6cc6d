package iceberg

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress/zstd"
)

const (
	// groupRows bounds a row group, which is in memory until it is written.
	groupRows = 1 << 18
	// tableRows are buffered before they become columns.
	tableRows = 1 << 12
)

// Partition is a part of each table of a lake: the rows of the runs of a month and of the
// benchmarks of a bucket, or of the hours of a day and of the services of a bucket.
type Partition struct {
	Period int32 // months, or days, since the first of January 1970
	Dated  bool  // the period is known
	Bucket int32
}

// File is a Parquet file of a table.
type File struct {
	Partition
	Path string
	Rows int64
	Size int64

	columns []column // of a file that describe read
}

// column is what a file has in a column.
type column struct {
	name          string
	values, nulls int64
	lower, upper  []byte // nil: not known
}

// maxBound is the length of a bound that manifests have: they should stay small.
const maxBound = 256

// describe reads what manifests say of a complete Parquet file: its rows, its size, and
// the bounds of its columns that are neither lists nor maps.
func describe(part Partition, path string) (File, error) {
	f, err := os.Open(path)
	if err != nil {
		return File{}, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return File{}, err
	}
	p, err := parquet.OpenFile(f, info.Size(), parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true))
	if err != nil {
		return File{}, fmt.Errorf("%s: %w", path, err)
	}
	of := File{Partition: part, Path: path, Rows: p.NumRows(), Size: info.Size()}
	for i, name := range p.Schema().Columns() {
		if len(name) > 1 {
			continue
		}
		c := column{name: name[0]}
		var lower, upper parquet.Value
		known := true
		for _, group := range p.RowGroups() {
			chunk := group.ColumnChunks()[i].(*parquet.FileColumnChunk)
			c.values += chunk.NumValues()
			c.nulls += chunk.NullCount()
			least, most, ok := chunk.Bounds()
			if !ok {
				known = known && chunk.NullCount() == chunk.NumValues()
				continue
			}
			if compare := chunk.Type().Compare; lower.IsNull() {
				lower, upper = least, most
			} else {
				if compare(least, lower) < 0 {
					lower = least
				}
				if compare(most, upper) > 0 {
					upper = most
				}
			}
		}
		if l, u := lower.Bytes(), upper.Bytes(); known && !lower.IsNull() && len(l) <= maxBound && len(u) <= maxBound {
			c.lower, c.upper = l, u // Iceberg's single values have the bytes of Parquet's plain ones
		}
		of.columns = append(of.columns, c)
	}
	return of, nil
}

// partition is a part of a table and the directory of its files, below that of the table.
// The parts of an export have a directory only; the zero value is the whole table.
type partition struct {
	Partition
	dir string
}

// table writes one table: files of rows, one per partition.
type table[T any] struct {
	dir   string
	name  string // of the files
	files []File

	partition partition
	file      *os.File
	w         *parquet.GenericWriter[T]
	rows      []T
}

// sink takes the rows of a table, in partitions.
type sink[T any] struct {
	in  func(partition) error
	add func(T) error
}

// sinkOf returns a sink of rows that of makes those of a table of, or leaves out.
func sinkOf[T, R any](t *table[R], of func(T) (row R, ok bool)) sink[T] {
	return sink[T]{t.in, func(from T) error {
		row, ok := of(from)
		if !ok {
			return nil
		}
		return t.add(row)
	}}
}

// in directs the following rows to a partition. Each is opened once.
func (t *table[T]) in(partition partition) error {
	if t.file != nil && t.partition == partition {
		return nil
	}
	if err := t.close(); err != nil {
		return err
	}
	dir := filepath.Join(t.dir, partition.dir)
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	file, err := os.OpenFile(filepath.Join(dir, t.name+".parquet"), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o666)
	if err != nil {
		return err
	}
	t.partition, t.file = partition, file
	t.files = append(t.files, File{Partition: partition.Partition, Path: file.Name()})
	// A writer that is reset forgets the names of columns, which Spark needs.
	t.w = parquet.NewGenericWriter[T](file, parquet.Compression(&zstd.Codec{Level: zstd.SpeedFastest}), parquet.MaxRowsPerRowGroup(groupRows),
		parquet.DefaultEncodingFor(parquet.ByteArray, &parquet.Plain),
		parquet.KeyValueMetadata("dendro.lake", strconv.Itoa(Version)))
	return nil
}

// Version is that of the tables, in each file.
const Version = 1

func (t *table[T]) add(row T) error {
	if t.rows = append(t.rows, row); len(t.rows) < tableRows {
		return nil
	}
	return t.flush()
}

func (t *table[T]) flush() error {
	_, err := t.w.Write(t.rows)
	t.rows = t.rows[:0]
	return err
}

// close completes the open file, if there is one.
func (t *table[T]) close() error {
	if t.file == nil {
		return nil
	}
	err := errors.Join(t.flush(), t.w.Close(), t.file.Sync(), t.file.Close())
	t.file = nil
	return err
}

// abandon closes the open file as it is.
func (t *table[T]) abandon() {
	if t.file != nil {
		t.file.Close()
		t.file = nil
	}
}

// written lists the files that were begun.
func (t *table[T]) written() []File { return t.files }
