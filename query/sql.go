package query

import (
	"context"
	"errors"

	"github.com/dendroprof/dendro/query/param"
	"github.com/dendroprof/dendro/store"
)

// SQLSelection selects the runs that a user's own query is about: those of the store or, if it names any,
// pushed profiles.
type SQLSelection struct {
	PushedTime
	Types []string `param:"type" arg:"name" help:"type of the pushed profiles: cpu, inuse_space, or a whole id; repeatable (default: CPU time)" json:"type,omitempty"`
}

// SQLRequest are the parameters of a user's own query, whose text is the body.
type SQLRequest struct {
	SQLSelection `group:"Selection"`
	Rows         int `param:"rows" group:"Limit" arg:"n" min:"0" default:"100000" help:"maximum number of rows (0: all)"`
}

// ErrNoSQL: the engine has no SQL.
var ErrNoSQL = errors.New("this store does not speak SQL")

// SQL runs a user's query about the runs of a store or, if pushed profiles are selected, about these
// as runs: blocks of time of a service.
func SQL(ctx context.Context, st store.Reader, r *SQLRequest, text string) (*store.SQLAnswer, error) {
	speaker, ok := store.As[store.SQLSpeaker](st)
	switch {
	case !ok:
		return nil, ErrNoSQL
	case r.Chosen():
		runs, err := PushedBlocks(ctx, st, r.selection(r.Types...))
		if err != nil {
			return nil, err
		}
		answer, err := speaker.SQLOf(ctx, runs, text)
		if err == nil {
			answer.Notes = runs.Notes
		}
		return answer, err
	case len(r.Types) > 0 || !r.Since.IsZero() || !r.Until.IsZero():
		return nil, param.Errorf("--type, --since and --until select pushed profiles: give --service or --labels, or conditions in the query")
	}
	return speaker.SQL(ctx, text)
}
