package webhook

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/dendroprof/dendro/analysis/regression"
	"github.com/dendroprof/dendro/internal/plainfile"
)

// Log remembers in a file which findings were posted. One process has it.
type Log struct {
	name   string
	posted map[string]time.Time // by key
}

// forgotten is the age at which a finding that was posted is dropped from the file, unless
// it is still found.
const forgotten = 180 * 24 * time.Hour

// ReadLog reads a file, which need not exist yet. It fails if the file cannot be written,
// because then every search would post the same findings again.
func ReadLog(name string) (*Log, error) {
	l := &Log{name, map[string]time.Time{}}
	text, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return l, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &l.posted)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: the list of posted findings: %w", name, err)
	}
	if l.posted == nil {
		l.posted = map[string]time.Time{}
	}
	return l, l.write()
}

// key identifies a finding since a version: the same function slower again in a later
// version is another finding.
func key(f *regression.Finding) string { return f.ID + " " + since(f) }

// Has reports whether a finding was posted.
func (l *Log) Has(f *regression.Finding) bool {
	_, ok := l.posted[key(f)]
	return ok
}

// Add records that a finding was posted, or is still there, and writes the file.
func (l *Log) Add(f *regression.Finding, now time.Time) error {
	l.posted[key(f)] = now.UTC().Truncate(time.Second)
	for k, at := range l.posted {
		if now.Sub(at) > forgotten {
			delete(l.posted, k)
		}
	}
	return l.write()
}

func (l *Log) write() error {
	text, err := json.MarshalIndent(l.posted, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(l.name), 0o700); err != nil {
		return err
	}
	return plainfile.Replace(l.name, func(f *os.File) error {
		_, err := f.Write(append(text, '\n'))
		return errors.Join(err, f.Sync())
	})
}
