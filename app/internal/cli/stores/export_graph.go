package stores

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/dendroprof/dendro/app/internal/cli/command"
	"github.com/dendroprof/dendro/internal/words"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/store/engines"
)

// neo4jAdmin is the format of a whole graph database.
const neo4jAdmin = "neo4j-admin"

// graph writes the selection as the files of a graph database.
func (o *exportOptions) graph(ctx context.Context, e *command.Env) error {
	if o.out == "" || o.out == "-" {
		return command.Usagef("%s writes a new directory: give -o DIRECTORY", neo4jAdmin)
	}
	return e.Whole(ctx, &o.r.Selection, false, func(st store.Store) error {
		profiles := 0
		p := command.NewCopyProgress(e, "auto")
		err := engines.ExportGraph(ctx, st, o.out, o.model, o.potentials, store.CopyOptions{Query: o.r.Selection, Report: func(c store.Copied) {
			profiles += c.Stored
			p.Copied(c)
		}})
		p.End()
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(e.Talk(), "wrote %s into %s; with the server stopped, run %s\n", words.Counted(profiles, "profile"),
			words.Clean(o.out), words.Clean(filepath.Join(o.out, engines.GraphScript)))
		return err
	})
}
