package neo4j

import (
	"context"
	"io/fs"
	"path/filepath"

	"github.com/dendroprof/dendro/store/neo4j/internal/bolt"
)

// size returns the bytes of the files of the database and of its log, or 0 if it cannot
// tell: servers have no query for it, so the server must run on this machine and its
// directories must be readable.
func (s *Store) size(ctx context.Context) int64 {
	if !s.db.Address.Local() {
		return 0
	}
	directory := map[string]string{} // by setting
	var database string
	err := s.db.Read(ctx, func(t *bolt.Tx) error {
		err := t.Each(`SHOW SETTINGS 'server.directories.data', 'server.directories.transaction.logs.root', 'server.directories.neo4j_home'
			YIELD name, value RETURN name, value`, nil, func(r bolt.Row) error {
			directory[r.Text(0)] = r.Text(1)
			return nil
		})
		if err != nil {
			return err
		}
		name, err := t.One(`CALL db.info() YIELD name RETURN name`, nil)
		if err == nil {
			database = name.Text(0)
		}
		return err
	})
	if err != nil || !filepath.IsLocal(database) { // some users may not ask for settings
		return 0
	}
	home := directory["server.directories.neo4j_home"]
	in := func(setting, below string) string {
		dir := directory[setting]
		if !filepath.IsAbs(dir) {
			dir = filepath.Join(home, dir)
		}
		return filepath.Join(dir, below, database)
	}
	files, err := sizeOf(in("server.directories.data", "databases"))
	if err != nil || files == 0 {
		return 0
	}
	log, err := sizeOf(in("server.directories.transaction.logs.root", ""))
	if err != nil {
		return 0
	}
	return files + log
}

// sizeOf returns the bytes of all files below a directory.
func sizeOf(dir string) (bytes int64, err error) {
	err = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		info, err := d.Info()
		if err == nil {
			bytes += info.Size()
		}
		return err
	})
	return bytes, err
}
