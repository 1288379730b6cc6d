package query

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/dendroprof/dendro/continuous"
	"github.com/dendroprof/dendro/internal/words"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/query/param"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/traceprof"
)

// maxSearch is the maximum length of a text to search for in bytes.
const maxSearch = 500

// maxFound bounds how many names of a kind that match are ranked.
const maxFound = 10_000

// SearchRequest asks for everything whose name has each word of a text.
type SearchRequest struct {
	Text string `param:"text" arg:"text" help:"words that a name has to contain, in any case"`
	Rows int    `param:"rows" arg:"n" min:"1" default:"8" help:"maximum number of rows of each kind"`
}

// SearchResult lists what was found: names that begin with the text first, then short ones.
type SearchResult struct {
	Benchmarks []FoundBenchmark `json:"benchmarks"`
	Functions  []string         `json:"functions"`
	Runs       []FoundRun       `json:"runs"` // by key or commit, newest first
	Services   []FoundService   `json:"services"`
	Tasks      []FoundTask      `json:"tasks"` // by service or endpoint, newest first
	// Omitted has the number of rows of each kind that are not listed.
	Omitted map[string]int `json:"omitted,omitempty"`
}

// FoundBenchmark is a benchmark.
type FoundBenchmark struct {
	Group     string `json:"group"`
	Benchmark string `json:"benchmark"`
}

// FoundRun is a run, with its benchmark if it has one.
type FoundRun struct {
	Run        string `json:"run"`
	Commit     string `json:"commit,omitempty"`
	Branch     string `json:"branch,omitempty"`
	Benchmarks int    `json:"benchmarks"`
	FoundBenchmark
}

// FoundService is a service that pushes profiles or that agents trace.
type FoundService struct {
	Service string `json:"service"`
	Pushes  bool   `json:"pushes"`
}

// FoundTask is a task of trace profiling.
type FoundTask struct {
	ID       string `json:"id"`
	Service  string `json:"service"`
	Endpoint string `json:"endpoint,omitempty"`
}

// search collects what has the words of a text.
type search struct {
	words []string
	rows  int
	out   *SearchResult
}

// Search answers a SearchRequest.
func Search(ctx context.Context, st store.Store, r *SearchRequest) (*SearchResult, error) {
	if len(r.Text) > maxSearch {
		return nil, param.Errorf("text: %d bytes; the maximum is %d", len(r.Text), maxSearch)
	}
	s := search{strings.Fields(strings.ToLower(r.Text)), r.Rows, &SearchResult{Omitted: map[string]int{}}}
	if len(s.words) > 0 {
		for _, of := range []func(context.Context, store.Store) error{s.profiles, s.functions, s.services, s.tasks} {
			if err := of(ctx, st); err != nil {
				return nil, err
			}
		}
	}
	o := s.out
	o.Benchmarks, o.Functions, o.Runs = words.Filled(o.Benchmarks), words.Filled(o.Functions), words.Filled(o.Runs)
	o.Services, o.Tasks = words.Filled(o.Services), words.Filled(o.Tasks)
	return o, nil
}

// fits reports whether a text has all words.
func (s *search) fits(text string) bool {
	text = strings.ToLower(text)
	return !slices.ContainsFunc(s.words, func(w string) bool { return !strings.Contains(text, w) })
}

// best returns the first rows of a list, and notes how many it leaves out.
func best[T any](s *search, kind string, list []T) []T {
	if n := len(list) - s.rows; n > 0 {
		s.out.Omitted[kind] = n
		list = list[:s.rows]
	}
	return list
}

// rank sorts names: those whose last part begins with the first word, then short ones, then by name.
func (s *search) rank(a, b string) int {
	later := func(name string) int {
		last := strings.ToLower(name[strings.LastIndexAny(profile.WithoutClone(name), "/.:")+1:])
		if strings.HasPrefix(last, s.words[0]) {
			return 0
		}
		return 1
	}
	return cmp.Or(later(a)-later(b), len(a)-len(b), cmp.Compare(a, b))
}

// profiles finds benchmarks and runs.
func (s *search) profiles(ctx context.Context, st store.Store) error {
	list, err := st.Profiles(ctx, store.Query{})
	if err != nil {
		return err
	}
	benchmarks, runs := map[FoundBenchmark]bool{}, map[string]int{}
	var found []FoundRun
	seen := map[string]map[FoundBenchmark]bool{} // benchmarks of a run that is found
	for i := len(list) - 1; i >= 0; i-- {
		p := &list[i]
		b := FoundBenchmark{p.Benchmark.Group, p.Benchmark.Name}
		if _, known := benchmarks[b]; !known {
			benchmarks[b] = s.fits(p.Benchmark.String())
		}
		at, known := runs[p.Run.Key]
		if !known {
			at = -1
			if s.fits(p.Run.Key) || p.Run.Commit != "" && strings.HasPrefix(p.Run.Commit, s.words[0]) {
				at = len(found)
				found = append(found, FoundRun{Run: p.Run.Key, Commit: p.Run.Commit, Branch: p.Run.Branch, FoundBenchmark: b})
				seen[p.Run.Key] = map[FoundBenchmark]bool{}
			}
			runs[p.Run.Key] = at
		}
		if at >= 0 {
			seen[p.Run.Key][b] = true
		}
	}
	for i := range found {
		if f := &found[i]; len(seen[f.Run]) != 1 {
			f.FoundBenchmark = FoundBenchmark{}
		}
		found[i].Benchmarks = len(seen[found[i].Run])
	}
	s.out.Runs = best(s, "runs", found)
	var names []FoundBenchmark
	for b, fits := range benchmarks {
		if fits {
			names = append(names, b)
		}
	}
	slices.SortFunc(names, func(a, b FoundBenchmark) int {
		return cmp.Or(s.rank(a.Benchmark, b.Benchmark), cmp.Compare(a.Group, b.Group))
	})
	s.out.Benchmarks = best(s, "benchmarks", names)
	return nil
}

// functions finds functions. A store of millions of them is searched until enough fit.
func (s *search) functions(ctx context.Context, st store.Store) error {
	list, err := st.FunctionNames(ctx)
	if err != nil {
		return err
	}
	var names []string
	for i := range list {
		if i%4096 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		if s.fits(list[i].Name) {
			if names = append(names, list[i].Name); len(names) == maxFound {
				break
			}
		}
	}
	slices.SortFunc(names, s.rank)
	s.out.Functions = best(s, "functions", names)
	return nil
}

// services finds services that push profiles, then those of agents.
func (s *search) services(ctx context.Context, st store.Store) error {
	var names []FoundService
	add := func(name string, pushes bool) {
		if s.fits(name) && !slices.ContainsFunc(names, func(f FoundService) bool { return f.Service == name }) {
			names = append(names, FoundService{name, pushes})
		}
	}
	if windows, ok := store.As[continuous.Store](st); ok {
		list, err := windows.Series(ctx, continuous.Query{})
		if err != nil {
			return err
		}
		for i := range list {
			add(list[i].Service, true)
		}
	}
	if traces, ok := store.As[traceprof.Store](st); ok {
		list, err := traces.Instances(ctx, "", 0)
		if err != nil {
			return err
		}
		for i := range list {
			add(list[i].Service, false)
		}
	}
	s.out.Services = best(s, "services", names)
	return nil
}

// tasks finds tasks of trace profiling.
func (s *search) tasks(ctx context.Context, st store.Store) error {
	traces, ok := store.As[traceprof.Store](st)
	if !ok {
		return nil
	}
	list, err := traces.Tasks(ctx, traceprof.TaskQuery{})
	if err != nil {
		return err
	}
	slices.SortStableFunc(list, func(a, b traceprof.Task) int { return cmp.Compare(b.Start, a.Start) })
	var found []FoundTask
	for i := range list {
		if t := &list[i]; s.fits(t.Service + " " + t.Endpoint + " " + t.ID) {
			found = append(found, FoundTask{t.ID, t.Service, t.Endpoint})
		}
	}
	s.out.Tasks = best(s, "tasks", found)
	return nil
}
