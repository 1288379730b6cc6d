package query

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/dendroprof/dendro/continuous"
	"github.com/dendroprof/dendro/internal/column"
	"github.com/dendroprof/dendro/internal/words"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/store"
)

// ErrNoSide: a base or head is named that the store does not have.
var ErrNoSide = errors.New("is not a branch, run or commit of the selected profiles, and --base and --head are not both files")

// WithShortNames returns the names of functions, also without their package or class.
func WithShortNames(functions []profile.Function) []string {
	names := NamesOf(functions)
	for i := range functions {
		if short := Unqualified(names[i]); short != names[i] {
			names = append(names, short)
		}
	}
	return names
}

// Lister lists the profiles of a store, or of a server.
type Lister interface {
	Profiles(ctx context.Context, q store.Query) ([]store.Profile, error)
}

// maxHints is the maximum number of names of a selection that are explained.
const maxHints = 10

// Hinted adds to an error of an empty selection which of its names nothing has, and what
// was perhaps meant. A name that nothing has is an error, too, if others of its field select
// something: the result lacks what it was for. Pushed profiles have no such names.
func Hinted(ctx context.Context, st Lister, s *Selection, err error) error {
	if st == nil || s.Pushed.Chosen() || err != nil && !errors.Is(err, store.ErrNothing) || err == nil && !severalNames(s) {
		return err
	}
	list, listErr := st.Profiles(ctx, store.Query{})
	if listErr != nil {
		return err
	}
	if len(list) == 0 {
		why := "the store is empty"
		if windows, ok := store.As[continuous.Store](st); ok {
			if pushed, seriesErr := windows.Series(ctx, continuous.Query{}); seriesErr == nil && len(pushed) > 0 {
				why = "the store has no runs of benchmarks, only profiles of services (--service; list: dendro services)"
			}
		}
		return fmt.Errorf("%w: %s", cmp.Or(err, store.ErrNothing), why)
	}
	var hints []string
	for _, f := range selectedNames(s) {
		have := Distinct(list, f.of)
		for _, name := range f.given {
			if len(hints) == maxHints || ctx.Err() != nil {
				break
			}
			if q := f.alone(name); len(q.Filter(list)) > 0 || err != nil && strings.ContainsAny(name, "*?") {
				continue
			}
			hint := fmt.Sprintf("no %s %s", f.name, words.Clean(name))
			if close := words.DidYouMean(name, have); close != "" {
				hint += strings.TrimSuffix(strings.Replace(close, "; did", ", did", 1), "?")
			} else if len(have) <= 6 {
				hint += ", there are " + strings.Join(words.CleanAll(have), ", ")
			}
			hints = append(hints, hint)
		}
	}
	switch {
	case hints == nil:
		return err
	case err == nil:
		return fmt.Errorf("%w by a part of the selection: %s", store.ErrNothing, strings.Join(hints, "; "))
	}
	return fmt.Errorf("%w (%s)", err, strings.Join(hints, "; "))
}

// NamesNothing returns an error if a selection names something and selects none of the
// profiles: a list of them would be empty because of a misspelled name.
func NamesNothing(ctx context.Context, st Lister, s *Selection, selected []store.Profile) error {
	if len(selected) > 0 || !NamesAny(s) {
		return nil
	}
	return Hinted(ctx, st, s, fmt.Errorf("%w by: %s", store.ErrNothing, s.String()))
}

// Listed returns the profiles of a selection, and the error of NamesNothing.
func Listed(ctx context.Context, st Lister, s *Selection) ([]store.Profile, error) {
	list, err := st.Profiles(ctx, *s)
	if err != nil {
		return nil, err
	}
	return list, NamesNothing(ctx, st, s, list)
}

// severalNames reports whether a field of a selection names several things.
func severalNames(s *Selection) bool {
	return slices.ContainsFunc(selectedNames(s), func(f selectedName) bool { return len(f.given) > 1 })
}

// NamesAny reports whether a selection names anything: a benchmark, a run, a branch.
func NamesAny(s *Selection) bool {
	return slices.ContainsFunc(selectedNames(s), func(f selectedName) bool { return len(f.given) > 0 })
}

// selectedName is a field of a selection that names something.
type selectedName struct {
	name  string
	given []string
	of    func(p *store.Profile) string
	alone func(name string) store.Query // selects by this name only
}

func selectedNames(s *Selection) []selectedName {
	var ids []string
	for _, id := range s.Profiles {
		ids = append(ids, string(id))
	}
	return []selectedName{
		{"group", s.Groups, func(p *store.Profile) string { return p.Benchmark.Group },
			func(name string) store.Query { return store.Query{Groups: []string{name}} }},
		{"benchmark", s.Benchmarks, func(p *store.Profile) string { return p.Benchmark.Name },
			func(name string) store.Query { return store.Query{Benchmarks: []string{name}} }},
		{"branch", s.Branches, func(p *store.Profile) string { return p.Run.Branch },
			func(name string) store.Query { return store.Query{Branches: []string{name}} }},
		{"machine", s.Machines, func(p *store.Profile) string { return p.Run.Machine },
			func(name string) store.Query { return store.Query{Machines: []string{name}} }},
		{"run", s.Runs, func(p *store.Profile) string { return p.Run.Key },
			func(name string) store.Query { return store.Query{Runs: []string{name}} }},
		{"value type", s.Types, func(p *store.Profile) string { return p.Type.Name },
			func(name string) store.Query { return store.Query{Types: []string{name}} }},
		{"profile", ids, func(p *store.Profile) string { return string(p.ID) },
			func(name string) store.Query { return store.Query{Profiles: []store.ProfileID{store.ProfileID(name)}} }},
	}
}

// maxCompletions bounds the names of a completion.
const maxCompletions = 200

// CompletionsRequest asks for the names that a parameter of a selection (group, benchmark,
// branch, machine, run, type, profile) or a function may have.
type CompletionsRequest struct {
	Parameter string `param:"parameter" arg:"name" choices:"group,benchmark,branch,machine,run,type,profile,function" help:"parameter"`
	Prefix    string `param:"prefix" arg:"text" help:"beginning of the names"`
}

// CompletionsResult lists names, those of the newest runs first.
type CompletionsResult struct {
	Names []string `json:"names"`
}

// Completions answers a CompletionsRequest.
func Completions(ctx context.Context, st store.Store, r *CompletionsRequest) (*CompletionsResult, error) {
	var names []string
	if r.Parameter == "function" {
		functions, err := st.FunctionNames(ctx)
		if err != nil {
			return nil, err
		}
		names = NamesOf(functions)
	} else {
		list, err := st.Profiles(ctx, store.Query{})
		if err != nil {
			return nil, err
		}
		list = slices.Clone(list) // newest first
		slices.Reverse(list)
		for _, f := range selectedNames(&Selection{}) {
			if f.name == r.Parameter || f.name == "value "+r.Parameter {
				names = Distinct(list, f.of)
			}
		}
	}
	names = slices.DeleteFunc(names, func(name string) bool { return !strings.HasPrefix(name, r.Prefix) })
	return &CompletionsResult{words.Filled(words.First(names, maxCompletions))}, nil
}

// NamesOf lists the names of functions.
func NamesOf(functions []profile.Function) []string {
	return column.Of(functions, func(f profile.Function) string { return f.Name })
}

// UnknownFunction is the error of a view of a function that nothing selected has.
func UnknownFunction(name string, functions []profile.Function) error {
	return fmt.Errorf("%w: no function is named %s%s", store.ErrNothing, words.Clean(name), words.DidYouMean(name, WithShortNames(functions)))
}

// Unqualified returns the name of a script's function without its file.
func Unqualified(name string) string {
	if at := strings.LastIndex(name, " ("); at > 0 && strings.HasSuffix(name, ")") {
		return name[:at]
	}
	return name
}

// ClosestOrAll says which names are close to one that is not there, or which there are if
// they are few.
func ClosestOrAll(name string, have []string) string {
	const few = 12
	hint := words.DidYouMean(name, have)
	if hint == "" && len(have) > 0 && len(have) <= few {
		hint = "; there are " + words.Clean(strings.Join(have, ", "))
	}
	return hint
}
