package bench

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// scratchVariable tells every process of a session which directory it belongs to.
const scratchVariable = "DENDRO_BENCH_SCRATCH"

// Scratch returns a directory for what a session builds, which remove removes. Before, it
// removes what sessions have left that were killed: their directories, and the programs that
// they ran.
func Scratch() (dir string, remove func() error, err error) {
	old, err := filepath.Glob(filepath.Join(os.TempDir(), "dendro-bench-*"))
	if err != nil {
		return "", nil, err
	}
	for _, dir := range old {
		if abandoned(dir) {
			endAll(dir)
			_ = removeAll(dir) // the next session tries again
		}
	}
	if dir, err = os.MkdirTemp("", "dendro-bench-"); err != nil {
		return "", nil, err
	}
	held, err := hold(dir)
	if err == nil {
		err = os.Setenv(scratchVariable, dir)
	}
	if err != nil {
		return "", nil, errors.Join(fmt.Errorf("the directory of the session: %w", err), os.RemoveAll(dir))
	}
	return dir, func() error {
		return errors.Join(removeAll(dir), held.Close())
	}, nil
}

// removeAll removes a directory, also what is write-protected in it, as Go's cache of
// modules is.
func removeAll(dir string) error {
	if os.RemoveAll(dir) == nil {
		return nil
	}
	_ = filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			_ = os.Chmod(path, 0o700) // what stays protected is an error below
		}
		return nil
	})
	return os.RemoveAll(dir)
}
