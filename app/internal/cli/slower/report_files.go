package slower

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/dendroprof/dendro/app/internal/cli/command"
	"github.com/dendroprof/dendro/ingest"
	"github.com/dendroprof/dendro/internal/words"
	"github.com/dendroprof/dendro/normalize"
	"github.com/dendroprof/dendro/query/judge"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/store/engines"
)

// withFiles imports both sides into a store in memory and calls f with it.
func (o *reporting) withFiles(ctx context.Context, e *command.Env, f func(store.Store) error) error {
	st, err := engines.Open(ctx, "mem:", engines.Write)
	if err != nil {
		return err
	}
	for _, side := range []struct{ name, path string }{{judge.BaseSide, o.r.Base}, {judge.HeadSide, o.r.Head}} {
		if err := o.importSide(ctx, e, st, side.name, side.path); err != nil {
			return errors.Join(err, st.Close())
		}
	}
	return errors.Join(f(st), st.Close())
}

// importSide imports the files of one side, labelled as its branch.
func (o *reporting) importSide(ctx context.Context, e *command.Env, st store.Store, side, path string) error {
	sources, err := ingest.Expand([]string{path}, e.In)
	if err != nil {
		return err
	}
	opts := ingest.Options{Normalizer: normalize.New(nil)}
	var layout *ingest.Layout
	if o.layout != "" {
		if layout, err = ingest.ParseLayout(o.layout); err != nil {
			return command.Misuse(err)
		}
	}
	for i := range sources {
		l := sources[i].Label
		if layout != nil {
			more, err := layout.Label(sources[i].Name)
			if err != nil {
				return err
			}
			l = l.Or(more)
		}
		l = l.Or(folderLabel(path, sources[i].Name))
		l.Run.Key = strings.TrimSuffix(side+"/"+l.Run.Key, "/")
		l.Run.Branch = side
		sources[i].Label = l
	}
	failed := 0
	_, err = ingest.Run(ctx, st, sources, opts, func(r ingest.Result) {
		if r.Status == ingest.Failed {
			failed++
			fmt.Fprintf(e.Err, "dendro: %s: %s\n", words.Clean(r.File), words.Clean(r.Error))
		}
	})
	if err == nil && failed > 0 {
		err = command.ErrReported
	}
	return err
}

// folderLabel reads run and group from the folders between a directory and a file:
// the first is the run, the others are the group.
func folderLabel(dir, name string) ingest.Label {
	var l ingest.Label
	l.Group = judge.NoGroup
	rel, err := filepath.Rel(dir, name)
	if err != nil {
		return l
	}
	parts := strings.Split(filepath.ToSlash(rel), "/")
	if len(parts) > 1 {
		l.Run.Key = parts[0]
	}
	if len(parts) > 2 {
		l.Group = strings.Join(parts[1:len(parts)-1], "/")
	}
	return l
}
