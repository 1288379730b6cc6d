package lake

import (
	"errors"
	"os"
	"path/filepath"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress/zstd"
)

const (
	// groupRows bounds a row group, which is in memory until it is written.
	groupRows = 1 << 18
	// tableRows are buffered before they become columns.
	tableRows = 1 << 12
)

// table writes one table: files of rows, one per partition.
type table[T any] struct {
	dir       string
	partition string
	file      *os.File
	w         *parquet.GenericWriter[T]
	rows      []T
}

// in directs the following rows to a partition, empty for a table that has none. A
// partition is opened once.
func (t *table[T]) in(partition string) error {
	if t.file != nil && t.partition == partition {
		return nil
	}
	if err := t.close(); err != nil {
		return err
	}
	dir := filepath.Join(t.dir, partition)
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	file, err := os.OpenFile(filepath.Join(dir, "part-0.parquet"), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o666)
	if err != nil {
		return err
	}
	t.partition, t.file = partition, file
	if t.w == nil {
		t.w = parquet.NewGenericWriter[T](file, parquet.Compression(&zstd.Codec{Level: zstd.SpeedFastest}), parquet.MaxRowsPerRowGroup(groupRows), parquet.DefaultEncodingFor(parquet.ByteArray, &parquet.Plain),
			parquet.KeyValueMetadata("dendro.lake", version))
	} else {
		t.w.Reset(file)
	}
	return nil
}

// version of the tables, in each file.
const version = "1"

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
	err := errors.Join(t.flush(), t.w.Close(), t.file.Close())
	t.file = nil
	return err
}

// abandon closes the open file as it is.
func (t *table[T]) abandon() {
	if t.file != nil {
		t.file.Close()
	}
}
