package driver

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// spillFactor is how many times the limit of its memory a database may spill to the disk.
// DuckDB itself would fill 90 % of what is free: one query could stop everything else.
const spillFactor = 4

// spillDir is the directory to which the database of a file spills. Only one process writes
// to a file; those that read it have directories of their own, or their spilled blocks, which
// have the same names, would overwrite each other's.
func spillDir(path string, readOnly bool) string {
	if readOnly {
		return fmt.Sprintf("%s.tmp-%d", path, os.Getpid())
	}
	return path + ".tmp"
}

// limitSpill limits what the database spills.
func (c *Conn) limitSpill() error {
	limit, err := c.setting("memory_limit")
	if err != nil {
		return err
	}
	var n float64
	var unit string
	if _, err := fmt.Sscanf(limit, "%f %s", &n, &unit); err != nil {
		return fmt.Errorf("duckdb: %q is no amount of memory: %w", limit, err)
	}
	return c.Exec(fmt.Sprintf("SET max_temp_directory_size = '%.1f%s'", n*spillFactor, unit))
}

// setting returns a setting as DuckDB writes it.
func (c *Conn) setting(name string) (text string, err error) {
	err = c.Query(context.Background(), "SELECT current_setting('"+name+"')::VARCHAR", nil, func(ch Chunk) error {
		text = ch.Texts(0)[0]
		return nil
	})
	return text, err
}

// emptySpill removes what processes that were killed have spilled beside a file. The caller
// has the file open for writing: nobody else has it open. What cannot be removed stays.
func emptySpill(path string) {
	emptyDir(spillDir(path, false))
	entries, _ := os.ReadDir(filepath.Dir(path))
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), filepath.Base(path)+".tmp-") {
			emptyDir(filepath.Join(filepath.Dir(path), e.Name()))
		}
	}
}

// emptyDir removes a directory that has blocks of DuckDB and nothing else. A link in its
// place is removed, and what it leads to stays.
func emptyDir(dir string) {
	info, err := os.Lstat(dir)
	if err != nil || !info.IsDir() && info.Mode()&fs.ModeSymlink == 0 {
		return
	}
	if info.IsDir() {
		entries, _ := os.ReadDir(dir)
		for _, e := range entries {
			if strings.HasPrefix(e.Name(), "duckdb_temp_") {
				_ = os.Remove(filepath.Join(dir, e.Name()))
			}
		}
	}
	_ = os.Remove(dir) // if nothing else is in it
}
