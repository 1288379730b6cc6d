// Package facts has what only the client of a query knows, and sends with the request:
// acknowledged changes, which code is the user's own, and commits of its git repository.
//
//	request with Facts ──▶ answer, or NeededError ──Learn──▶ request with more Facts
//
// A query asks Facts.Source as if the repository were at hand. What a client did not tell
// is collected, and the error names it; the client asks its repository, and sends the
// request again. The package reads one file, that of the acknowledgements, and knows no
// query.
package facts

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/dendroprof/dendro/internal/column"
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
	// Ages say when the code of functions changed, by revision; the name is empty for
	// what is checked out.
	Ages map[string]Ages `json:"ages,omitempty"`
	// Revision up to which changes of the code count (--expand informed); empty: the commit
	// of the newest run if the repository has it, else what is checked out.
	Revision string `json:"revision,omitempty"`
	// Tested is the commit that a workflow tests; empty: unknown.
	Tested string `json:"tested,omitempty"`
	// Asks: the client has a repository, and sends the request again with what an answer
	// needs of it (NeededError).
	Asks bool `json:"asks,omitempty"`

	// Repository is asked in place of Revisions and Ages; nil: they are all that is known.
	Repository Repository `json:"-"`
}

// Revision is a commit and its ancestors.
type Revision struct {
	Commit    string   `json:"commit"`
	Ancestors []string `json:"ancestors"`
	Shallow   bool     `json:"shallow,omitempty"` // the clone lacks some ancestors
	Error     string   `json:"error,omitempty"`   // why the repository does not have it
}

// leastDigits is the number of digits from which on a short commit is looked up.
const leastDigits = 7

// Has reports whether a commit, whole or its first 7 digits or more, is the commit
// or an ancestor of it.
func (r *Revision) Has(commit string) bool {
	if r.Commit == commit || slices.Contains(r.Ancestors, commit) {
		return true
	}
	short := len(commit) >= leastDigits && len(commit) < len(r.Commit)
	return short && (strings.HasPrefix(r.Commit, commit) ||
		slices.ContainsFunc(r.Ancestors, func(c string) bool { return strings.HasPrefix(c, commit) }))
}

// Ages say when the code of functions changed last, up to a commit.
type Ages struct {
	Date    time.Time        `json:"date,omitzero"`     // of the commit
	Changed map[string]int64 `json:"changed,omitempty"` // Unix seconds by function; without those whose file is unknown
	Error   string           `json:"error,omitempty"`   // why the repository does not have the commit
}

// Place is a function, and the file in which its profiles have it.
type Place struct {
	Function string `json:"function"`
	File     string `json:"file,omitempty"`
}

// Repository is the client's repository of the code.
type Repository interface {
	// Revision returns a commit, and which of some others are ancestors of it.
	Revision(ctx context.Context, name string, among []string) (*Revision, error)
	// Ages returns when the code of functions changed, up to a commit; empty: what is
	// checked out.
	Ages(ctx context.Context, revision string, functions []Place) (*Ages, error)
}

// Needed is a revision of the client's repository that an answer needs: its ancestors
// among some commits or, with Functions, when their code changed.
type Needed struct {
	Revision  string   `json:"revision"`
	Among     []string `json:"among,omitempty"`
	Functions []Place  `json:"functions,omitempty"`
}

// NeededError: the request is to be sent again with more facts.
type NeededError struct{ Facts []Needed }

// Error names the revisions.
func (e *NeededError) Error() string {
	names := column.Of(e.Facts, func(n Needed) string { return n.Revision })
	return "facts of the client's repository are missing: " + strings.Join(names, ", ")
}

// Of returns the facts of a request, given by pointer, to be completed; nil: it has
// none.
func Of(request any) *Facts {
	if r, ok := request.(interface{ facts() *Facts }); ok {
		return r.facts()
	}
	return nil
}

func (f *Facts) facts() *Facts { return f }

// Check returns an error if a request, given by pointer, has more facts than one client has.
func Check(request any) error {
	if f := Of(request); f != nil && len(f.Own) > maxEntries {
		return fmt.Errorf("own: more than %d entries", maxEntries)
	}
	return nil
}

// Travel makes facts of the repository as they are sent: the answer asks for them.
func (f *Facts) Travel() { f.Asks = f.Repository != nil }

// Learn asks the repository for what an answer needs.
func (f *Facts) Learn(ctx context.Context, list []Needed) error {
	for _, need := range list {
		if need.Functions != nil {
			ages, err := f.Repository.Ages(ctx, need.Revision, need.Functions)
			if err != nil {
				ages = &Ages{Error: err.Error()}
			}
			set(&f.Ages, need.Revision, *ages)
			continue
		}
		revision, err := f.Repository.Revision(ctx, need.Revision, need.Among)
		if err != nil {
			revision = &Revision{Error: err.Error()}
		}
		set(&f.Revisions, need.Revision, *revision)
	}
	return ctx.Err()
}

func set[T any](m *map[string]T, name string, v T) {
	if *m == nil {
		*m = map[string]T{}
	}
	(*m)[name] = v
}

// Source returns the client's repository; nil: nothing is known of it.
func (f *Facts) Source() Repository {
	if f.Repository == nil && (f.Asks || len(f.Revisions)+len(f.Ages) > 0) {
		f.Repository = &told{revisions: f.Revisions, ages: f.Ages, asks: f.Asks}
	}
	return f.Repository
}

// Unmet returns the error of an answer that lacks facts, or else its own.
func (f *Facts) Unmet(err error) error {
	if t, ok := f.Repository.(*told); ok && len(t.needed) > 0 {
		return &NeededError{t.needed}
	}
	return err
}

// told is a repository that a client tells of.
type told struct {
	revisions map[string]Revision
	ages      map[string]Ages
	asks      bool
	needed    []Needed
}

// ErrNeeded: a fact is not known yet, and will be asked for.
var ErrNeeded = errors.New("to be asked for")

func (t *told) need(fact Needed) error {
	if !t.asks {
		return fmt.Errorf("the repository has no commit %q", fact.Revision)
	}
	t.needed = append(t.needed, fact)
	return ErrNeeded
}

func (t *told) Revision(_ context.Context, name string, among []string) (*Revision, error) {
	r, ok := t.revisions[name]
	switch {
	case !ok:
		return nil, t.need(Needed{Revision: name, Among: among})
	case r.Error != "":
		return nil, errors.New(r.Error)
	}
	return &r, nil
}

func (t *told) Ages(_ context.Context, revision string, functions []Place) (*Ages, error) {
	a, ok := t.ages[revision]
	switch {
	case !ok:
		return nil, t.need(Needed{Revision: revision, Functions: functions})
	case a.Error != "":
		return nil, errors.New(a.Error)
	}
	return &a, nil
}
