package iceberg

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"
	"testing"
)

func TestExportError(t *testing.T) {
	full := &fs.PathError{Op: "write", Path: "/data/.dendro-12/paths/part-0.parquet", Err: syscall.ENOSPC}
	err := exportError("/data/lake", "/data/.dendro-12", errors.Join(fmt.Errorf("writing a column: %w", full), full))
	if err == nil || err.Error() != "export: /data/lake: "+syscall.ENOSPC.Error() || !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("on a full disk: %v", err)
	}
	if err := exportError("/data/lake", "", full); err.Error() != "export: "+full.Error() {
		t.Errorf("before there is a directory: %v", err)
	}
	if err := exportError("/data/lake", "/data/.dendro-12", nil); err != nil {
		t.Error(err)
	}
}
