package detection

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/dendroprof/dendro/analysis/history"
	"github.com/dendroprof/dendro/analysis/regression"
	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/ingest"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/store/mem"
	"github.com/dendroprof/dendro/testrun"
)

// Subject is one real benchmark in one state of its machine: runs of unchanged
// code, and runs with a known change.
type Subject struct {
	Name  string // workload/benchmark
	State string // of the machine
	Rows  *regression.Rows
	Runs  []string // keys, in the order of the matrix: history, then tests
	Tests []Test
	// Totals are for the methods that look at functions only.
	Totals *Totals
	Nights []*Nights // of the kinds with a planted regression
}

// Test is the runs of one kind of change.
type Test struct {
	Kind     string // "A05" … "B40", "clean", "renamed", "moved", "inline", "jit"
	Size     float64
	Runs     []int     // indexes of Subject.Runs
	Sizes    []float64 // of Runs, as shares of the program; empty: unknown
	Function []string  // functions that hold the change
	Accepted []string  // functions that name the change, as the store spells them
}

// scores is scores.json of a benchmark.
type scores struct {
	Unit, Better string
	Runs         map[string]struct {
		Score   float64
		Epoch   string
		Started int64 `json:"started_unix"`
	}
}

// truth is truth.json of a benchmark.
type truth struct {
	Tests map[string]struct {
		Runs           []string
		Kind           string
		Size           float64
		Sizes          []float64 `json:"size_by_profile"`
		Function, Also []string
	}
}

// LoadReal reads the benchmarks below a directory: WORKLOAD/BENCHMARK with
// scores.json, truth.json and RUN.collapsed.gz. Benchmarks are in order of name,
// and of each the states of its machine. All has a subject per benchmark with the runs of
// all states.
func LoadReal(ctx context.Context, dir fs.FS) (subjects, all []*Subject, err error) {
	names, err := fs.Glob(dir, "*/*/truth.json")
	if err != nil {
		return nil, nil, err
	}
	var list []*Subject
	for _, name := range names {
		more, err := loadBenchmark(ctx, dir, path.Dir(name))
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", path.Dir(name), err)
		}
		list = append(list, more...)
	}
	subjects, all = byStates(list)
	return subjects, all, nil
}

func readJSON(dir fs.FS, name string, v any) error {
	data, err := fs.ReadFile(dir, name)
	if err != nil {
		return err
	}
	return json.Unmarshal(data, v)
}

func loadBenchmark(ctx context.Context, dir fs.FS, name string) ([]*Subject, error) {
	var sc scores
	var tr truth
	if err := readJSON(dir, path.Join(name, "scores.json"), &sc); err != nil {
		return nil, err
	}
	if err := readJSON(dir, path.Join(name, "truth.json"), &tr); err != nil {
		return nil, err
	}
	st := mem.New()
	var sources []ingest.Source
	for _, run := range sortedKeys(sc.Runs) {
		s := sc.Runs[run]
		src := ingest.FSSource(dir, path.Join(name, run+".collapsed.gz"))
		src.Named = true
		src.Label = ingest.Label{Group: path.Dir(name), Benchmark: path.Base(name),
			Run:     testrun.Run{Key: run, Date: time.Unix(s.Started, 0).UTC(), Machine: s.Epoch},
			Metrics: []testrun.Metric{{Name: "time", Mean: s.Score, Unit: sc.Unit, Better: testrun.Better(sc.Better), Primary: true}}}
		sources = append(sources, src)
	}
	var failed error
	_, err := ingest.Run(ctx, st, sources, ingest.Options{}, func(r ingest.Result) {
		if r.Status != ingest.Stored && failed == nil {
			failed = fmt.Errorf("%s: %s %s", r.File, r.Status, r.Error)
		}
	})
	if err != nil || failed != nil {
		return nil, fmt.Errorf("import: %w", cmpErr(err, failed))
	}
	profiles, err := st.Profiles(ctx, store.Query{})
	if err != nil {
		return nil, err
	}
	var list []*Subject
	for _, state := range append(states(sc), allStates) {
		s, err := loadState(ctx, st, profiles, name, state, &tr)
		if err != nil {
			return nil, err
		}
		list = append(list, s)
	}
	return list, nil
}

func cmpErr(a, b error) error {
	if a != nil {
		return a
	}
	return b
}

// allStates is the state of a subject with the runs of all states.
const allStates = ""

// byStates returns the subjects of one state each, and those of all states.
func byStates(subjects []*Subject) (one, all []*Subject) {
	for _, s := range subjects {
		if s.State == allStates {
			all = append(all, s)
		} else {
			one = append(one, s)
		}
	}
	return one, all
}

func states(sc scores) []string {
	var list []string
	for _, r := range sc.Runs {
		if !slices.Contains(list, r.Epoch) {
			list = append(list, r.Epoch)
		}
	}
	slices.Sort(list)
	return list
}

// loadState prepares the runs of one state of the machine.
func loadState(ctx context.Context, st store.Reader, profiles []store.Profile, name, state string, tr *truth) (*Subject, error) {
	s := &Subject{Name: name, State: state}
	series := &history.Series{Benchmark: profiles[0].Benchmark, Type: profiles[0].Type}
	for _, p := range profiles {
		if state == allStates || p.Run.Machine == state {
			series.Profiles = append(series.Profiles, p)
		}
	}
	slices.SortStableFunc(series.Profiles, func(a, b store.Profile) int { return strings.Compare(a.Run.Key, b.Run.Key) })
	for _, p := range series.Profiles {
		s.Runs = append(s.Runs, p.Run.Key)
	}
	m, err := history.Load(ctx, st, series)
	if err != nil {
		return nil, err
	}
	s.Rows = regression.Prepare(series, m)
	if s.Totals, err = functionTotals(ctx, st, series.Profiles); err != nil {
		return nil, err
	}
	s.Totals.Paths = heaviestPaths(m)
	for _, kind := range sortedKeys(tr.Tests) {
		t := tr.Tests[kind]
		test := Test{Kind: strings.TrimPrefix(kind, "test-"), Size: t.Size}
		for _, f := range slices.Concat(t.Function, t.Also) {
			test.Accepted = append(test.Accepted, strings.ReplaceAll(f, "/", "."), f)
		}
		test.Function = t.Function
		for at, run := range t.Runs {
			if i := slices.Index(s.Runs, run); i >= 0 {
				test.Runs = append(test.Runs, i)
				if at < len(t.Sizes) {
					test.Sizes = append(test.Sizes, t.Sizes[at])
				}
			}
		}
		if len(test.Runs) == 0 {
			continue
		}
		s.Tests = append(s.Tests, test)
		if state != allStates && slices.Contains(regressionKinds, test.Kind) && test.sizeOf(test.Runs) > 0 {
			n, err := s.nights(ctx, st, series.Profiles, test)
			if err != nil {
				return nil, err
			}
			s.Nights = append(s.Nights, n)
		}
	}
	return s, nil
}

// nights returns the runs of a kind of change.
func (s *Subject) nights(ctx context.Context, st store.Reader, profiles []store.Profile, t Test) (*Nights, error) {
	of := func(runs []int) (list []store.Profile) {
		for _, i := range runs {
			list = append(list, profiles[i])
		}
		return list
	}
	n, err := NewNights(ctx, st, strings.Join([]string{s.Name, s.State, t.Kind}, " "), of(s.History()), of(t.Runs))
	if err != nil {
		return nil, err
	}
	n.Size = t.Size
	n.Shows = func(f *regression.Finding) bool {
		return slices.ContainsFunc(answers([]regression.Finding{*f}), func(a Answer) bool { return a.located(t.Accepted) })
	}
	return n, nil
}

// heaviestPaths returns the path to the node of every function that has most samples
// below it in all runs together.
func heaviestPaths(m *history.Matrix) map[string][]string {
	t := m.Table
	total := make([]float64, t.Len())
	for _, r := range m.Runs {
		for i, n := range r.Nodes {
			total[n] += r.Count[i]
		}
	}
	for n := t.Len() - 1; n >= 0; n-- {
		if p := t.Parent[n]; p != calltree.NoNode {
			total[p] += total[n]
		}
	}
	heaviest := map[int32]int32{}
	for n := range int32(t.Len()) {
		if at, ok := heaviest[t.Func[n]]; !ok || total[n] > total[at] {
			heaviest[t.Func[n]] = n
		}
	}
	paths := map[string][]string{}
	for f, n := range heaviest {
		paths[t.Functions[f].Name] = t.Path(n)
	}
	return paths
}

// functionTotals queries the function lists of profiles.
func functionTotals(ctx context.Context, st store.Reader, profiles []store.Profile) (*Totals, error) {
	q := store.Query{}
	place := map[store.ProfileID]int{}
	t := &Totals{Runs: make([]float64, len(profiles))}
	for i, p := range profiles {
		q.Profiles = append(q.Profiles, p.ID)
		place[p.ID] = i
		t.Runs[i] = float64(p.Sum)
	}
	set, err := st.Functions(ctx, q, nil)
	if err != nil {
		return nil, err
	}
	for _, f := range set.Functions {
		t.Functions = append(t.Functions, f.Name)
		t.Values = append(t.Values, make([]float64, len(profiles)))
	}
	for rows, err := range set.Rows {
		if err != nil {
			return nil, err
		}
		for i, f := range rows.Function {
			t.Values[f][place[set.Profiles[rows.Profile[i]].ID]] = float64(rows.Total[i])
		}
	}
	return t, nil
}

// History returns the indexes of the runs of unchanged code.
func (s *Subject) History() []int {
	var list []int
	for i, key := range s.Runs {
		if strings.HasPrefix(key, "history/") {
			list = append(list, i)
		}
	}
	return list
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
