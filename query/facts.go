package query

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"

	"github.com/dendroprof/dendro/analysis/regression"
	"github.com/dendroprof/dendro/ingest"
	"github.com/dendroprof/dendro/internal/gitlog"
	"github.com/dendroprof/dendro/internal/plainfile"
)

// Facts are what only the client knows; they travel with a request. The zero value is a
// client that knows nothing.
type Facts struct {
	Acknowledged Acknowledgements `json:"acknowledged,omitempty"`
	// Own are the packages or source directories of the user's own code (package own).
	Own []string `json:"own,omitempty"`
	// Revisions are commits of the client's repository by the names that the request
	// or its runs use: HEAD, a branch, a hash.
	Revisions map[string]Revision `json:"revisions,omitempty"`
	// Tested is the commit that a workflow tests; empty: unknown.
	Tested string `json:"tested,omitempty"`

	// Repo is the top directory of a git repository on this machine, which is read
	// instead of Revisions; empty: there is none.
	Repo string `json:"-"`
}

// Revision is a commit and its ancestors.
type Revision struct {
	Commit    string   `json:"commit"`
	Ancestors []string `json:"ancestors"`
	Shallow   bool     `json:"shallow,omitempty"` // the clone lacks some ancestors
}

// hasRepository reports whether anything is known of the repository.
func (f *Facts) hasRepository() bool { return f.Repo != "" || len(f.Revisions) > 0 }

// ancestors looks up a revision of the client's repository.
func (f *Facts) ancestors(ctx context.Context, revision string) (*gitlog.Ancestors, error) {
	if f.Repo != "" {
		return gitlog.ReadAncestors(ctx, f.Repo, revision)
	}
	r, ok := f.Revisions[revision]
	if !ok {
		return nil, fmt.Errorf("the repository has no commit %q", revision)
	}
	return gitlog.NewAncestors(r.Commit, r.Ancestors, r.Shallow), nil
}

// Acknowledgements are changes that are known and accepted.
type Acknowledgements []regression.Acknowledgement

// UnmarshalJSON reads a list of acknowledgements, whose dates need not have a time.
func (a *Acknowledgements) UnmarshalJSON(data []byte) error {
	var list []struct {
		regression.Acknowledgement
		Until string `json:"until"`
	}
	if err := json.Unmarshal(data, &list); err != nil {
		return err
	}
	*a = nil
	for i, x := range list {
		if len(x.Function) > maxGlob || len(x.Benchmark) > maxGlob {
			return fmt.Errorf("entry %d: a glob of more than %d bytes", i+1, maxGlob)
		}
		if x.Until != "" {
			var err error
			if x.Acknowledgement.Until, err = ingest.ParseDate(x.Until); err != nil {
				return fmt.Errorf("entry %d: %w", i+1, err)
			}
		}
		*a = append(*a, x.Acknowledgement)
	}
	return nil
}

// Bounds of a file of acknowledgements, which a repository brings with it.
const (
	maxAcknowledged = 4 << 20 // bytes
	maxGlob         = 4 << 10 // bytes of one glob
)

// ReadAcknowledgements reads a file of acknowledgements; no file is an empty list.
func ReadAcknowledgements(name string) (list Acknowledgements, err error) {
	data, err := plainfile.Read(name, maxAcknowledged)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil {
		err = json.Unmarshal(data, &list)
	}
	if err != nil {
		return nil, fmt.Errorf("acknowledged changes: %s: %w", name, err)
	}
	return list, nil
}
