package cli

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/dendroprof/dendro/internal/codeowners"
	"github.com/dendroprof/dendro/internal/evidence"
	"github.com/dendroprof/dendro/internal/gitlog"
	"github.com/dendroprof/dendro/report"
	"github.com/dendroprof/dendro/store"
)

// locate finds the files of the functions that cost more, and their owners.
func (o *reporting) locate(ctx context.Context, runs store.Reader, r *report.Report, git string) error {
	functions, err := evidence.Definitions(ctx, runs, r.Functions())
	if err != nil || len(functions) == 0 {
		return err
	}
	owners := &codeowners.Owners{}
	var log *gitlog.Log
	if git != "" {
		if owners, err = codeowners.Read(os.DirFS(git)); err != nil {
			return fmt.Errorf("owners: %w", err)
		}
		if log, err = readLog(ctx, git, ""); err != nil {
			r.Notes = append(r.Notes, "files are named as the profiles name them: "+err.Error())
		}
	}
	r.Locate(func(path []string) report.Place {
		for _, name := range path {
			fn := functions[name]
			if log == nil || fn.Name == "" {
				continue
			}
			if _, file, known := log.LastChange(&fn); known {
				p := report.Place{At: name, File: file, Owners: owners.Of(file)}
				if filepath.Base(file) == filepath.Base(filepath.ToSlash(fn.File)) {
					p.Line = int(fn.StartLine)
				}
				return p
			}
		}
		fn := functions[path[0]] // not the repository's, or there is none
		return report.Place{At: path[0], File: fn.File, Line: int(fn.StartLine)}
	})
	return nil
}

// readLog reads the git repository of the code up to a revision; empty: what is
// checked out.
func readLog(ctx context.Context, dir, revision string) (*gitlog.Log, error) {
	cache := ""
	if dir, err := os.UserCacheDir(); err == nil {
		cache = filepath.Join(dir, "dendro", "git")
	}
	return gitlog.Read(ctx, dir, revision, cache)
}
