package coderepo

import (
	"context"
	"fmt"

	"github.com/dendroprof/dendro/app/internal/gitlog"
	"github.com/dendroprof/dendro/internal/words"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/query/listing"
)

// AddSource adds the source text of lines, as it is in the commit of their runs. If the
// repository does not have that commit, it adds the text that is checked out and a note. Files that are
// not there have a note too.
func (r Repository) AddSource(ctx context.Context, lines *listing.Result) error {
	sources, err := gitlog.OpenSourcesAt(ctx, r.Dir, lines.Commit)
	if err != nil {
		return err
	}
	head, err := gitlog.ReadHead(ctx, r.Dir)
	if err != nil {
		head = gitlog.Head{} // text without links
	}
	commit := head.Commit
	if of := sources.Commit(); of != "" {
		commit = of
	}
	page, shown := gitlog.WebOf(head.Origin), false
	lines.AddSource(func(fn *profile.Function) (text []string, link string) {
		if file := sources.File(fn); file != "" {
			text = sources.Lines(fn)
			shown = shown || len(text) > 0
			return text, page.File(commit, file, 0)
		}
		return nil, ""
	})
	switch {
	case !shown && len(lines.Rows) > 0:
		lines.Notes = append(lines.Notes, "no source text: the files are not in "+words.Clean(r.Dir)+"; --source-root names another directory")
	case shown && sources.Commit() == "" && lines.Commit != "":
		lines.Notes = append(lines.Notes, fmt.Sprintf("the source text is of another commit than the runs: the repository does not have %s; what is checked out is shown", words.Commit(words.Clean(lines.Commit))))
	}
	return sources.Close()
}
