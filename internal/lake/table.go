package lake

import (
	"cmp"
	"errors"
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

// partition is a part of a table and the directory of its files, below that of the table.
// The parts of an export have a directory only; the zero value is the whole table.
type partition struct {
	Partition
	dir string
}

// table writes one table: files of rows, one per partition.
type table[T any] struct {
	dir   string
	name  string // of the files; empty: part-0
	files []File // rows and size are those of complete files

	partition partition
	file      *os.File
	w         *parquet.GenericWriter[T]
	rows      []T
	n         int64 // rows in file
}

// sink takes the rows of a table.
type sink[T any] interface {
	in(partition) error
	add(T) error
	close() error
	abandon()
	written() []File
}

// mapped is a table of rows that are made of others.
type mapped[T, R any] struct {
	table[R]
	of func(T) R
}

func (m *mapped[T, R]) add(row T) error { return m.table.add(m.of(row)) }

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
	file, err := os.OpenFile(filepath.Join(dir, cmp.Or(t.name, "part-0")+".parquet"), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o666)
	if err != nil {
		return err
	}
	t.partition, t.file, t.n = partition, file, 0
	t.files = append(t.files, File{Partition: partition.Partition, Path: file.Name()})
	// A writer that is reset forgets the names of columns, which Spark needs.
	t.w = parquet.NewGenericWriter[T](file, parquet.Compression(&zstd.Codec{Level: zstd.SpeedFastest}), parquet.MaxRowsPerRowGroup(groupRows), parquet.DefaultEncodingFor(parquet.ByteArray, &parquet.Plain),
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
	t.n += int64(len(t.rows))
	t.rows = t.rows[:0]
	return err
}

// close completes the open file, if there is one.
func (t *table[T]) close() error {
	if t.file == nil {
		return nil
	}
	err := errors.Join(t.flush(), t.w.Close(), t.file.Sync())
	info, statErr := t.file.Stat()
	err = errors.Join(err, statErr, t.file.Close())
	if err == nil {
		f := &t.files[len(t.files)-1]
		f.Rows, f.Size = t.n, info.Size()
	}
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

// written lists the files.
func (t *table[T]) written() []File { return t.files }
