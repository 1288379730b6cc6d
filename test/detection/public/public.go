// Package public measures the method of regressions on changes that nobody planted: bumps
// of public Go modules and packages of Java, Python and Node.js, called by small programs.
//
// Each folder of testdata is a Pair: runs of the caller with the base version (repo-N), the
// bumped version (head-N) and, as controls, another commit with the base version (ctl-N),
// recorded in turns. A run is a CPU profile and the text of its benchmark, which says how
// many operations the profile covers, or what `dendro bench` recorded of a whole program, with a
// manifest. testdata/truth.json has the CPU time per operation of
// the head relative to the base, measured apart from the profiles, and what the change is.
//
// Load reads the pairs, Measure judges one as `dendro check --base main --head bump` does,
// Figures prints all and counts.
package public

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/dendroprof/dendro/analysis/regression"
	"github.com/dendroprof/dendro/ingest"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/store/mem"
	"github.com/dendroprof/dendro/testrun"
)

// Truth is what is known of a change.
type Truth struct {
	Java      bool
	Benchmark string // of Java: Go's benchmarks name themselves
	Module    string
	Base      string
	Head      string
	Truth     [3]float64 // low, best, high: change of the CPU time per operation in percent
	Headline  string     // function of the caller that calls the module; empty: any of its own
	Place     []string   // functions that the change may be attributed to, the caller's not
	Also      []string   // callees of another cost of the change, measured apart too
	None      bool       // nothing changed
	Confirm   bool       // not used to choose the method
}

// Pair is the recorded runs of one change.
type Pair struct {
	Name string
	Truth
	Store store.Reader
	// Options are those of its comparisons; zero: the defaults.
	Options regression.Options
	// Runs of the three sides, in the order of recording.
	Base, Head, Control []store.Profile
}

// Load reads the pairs below a folder, in the order of their names.
func Load(ctx context.Context, fsys fs.FS) ([]*Pair, error) {
	data, err := fs.ReadFile(fsys, "truth.json")
	if err != nil {
		return nil, err
	}
	var truths map[string]json.RawMessage
	if err := json.Unmarshal(data, &truths); err != nil {
		return nil, fmt.Errorf("truth.json: %w", err)
	}
	delete(truths, "comment")
	var pairs []*Pair
	for name, text := range truths {
		p := &Pair{Name: name}
		if err := json.Unmarshal(text, &p.Truth); err != nil {
			return nil, fmt.Errorf("truth.json: %s: %w", name, err)
		}
		if err := p.load(ctx, fsys); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		pairs = append(pairs, p)
	}
	slices.SortFunc(pairs, func(a, b *Pair) int { return strings.Compare(a.Name, b.Name) })
	return pairs, nil
}

// language is that of the program.
func (p *Pair) language() string {
	switch group := p.Base[0].Benchmark.Group; {
	case p.Java || group == "java":
		return "Java"
	case group == "node":
		return "Node.js"
	case group == "python":
		return "Python"
	}
	return "Go"
}

// sides are the names of runs, and their branch and commit.
var sides = []struct{ prefix, branch, commit string }{
	{"repo", "main", strings.Repeat("a", 40)},
	{"head", "bump", strings.Repeat("b", 40)},
	{"ctl", "control", strings.Repeat("c", 40)},
}

// load imports the runs of a pair into a store: those of its manifest, or repo-1 head-1 ctl-1 repo-2 …
func (p *Pair) load(ctx context.Context, fsys fs.FS) error {
	st := mem.New()
	p.Store = st
	name := path.Join(p.Name, "manifest.json")
	sources, err := ingest.ReadManifestFS(fsys, name)
	switch {
	case err == nil:
		err = importAll(ctx, st, sources, ingest.Options{Workers: 1})
	case errors.Is(err, fs.ErrNotExist):
		err = p.importRuns(ctx, st, fsys)
	}
	if err != nil {
		return err
	}
	list, err := st.Profiles(ctx, store.Query{})
	if err != nil {
		return err
	}
	for i := range list {
		switch of := &list[i]; of.Run.Branch {
		case "main":
			p.Base = append(p.Base, *of)
		case "bump":
			p.Head = append(p.Head, *of)
		default:
			p.Control = append(p.Control, *of)
		}
	}
	return nil
}

// importRuns imports the runs of a pair without a manifest.
func (p *Pair) importRuns(ctx context.Context, st store.Destination, fsys fs.FS) error {
	const most = 99
	for n := 1; n <= most; n++ {
		found := false
		for _, side := range sides {
			run := fmt.Sprintf("%s-%d", side.prefix, n)
			files, err := fs.Glob(fsys, path.Join(p.Name, run+".*.gz"))
			if err != nil || len(files) == 0 {
				continue
			}
			found = true
			label := ingest.Label{Group: "shop", Benchmark: p.Truth.Benchmark,
				Run: testrun.Run{Key: run, Branch: side.branch, Commit: side.commit, Machine: "m"}}
			if p.Java {
				label.Group = "com.example.shop"
			}
			if err := importRun(ctx, st, fsys, files[0], path.Join(p.Name, run+".txt"), label); err != nil {
				return err
			}
		}
		if !found {
			break
		}
	}
	return nil
}

// importRun imports a profile with the results of its benchmark.
func importRun(ctx context.Context, st store.Destination, fsys fs.FS, file, results string, label ingest.Label) error {
	text, err := fs.ReadFile(fsys, results)
	if err != nil {
		return err
	}
	metrics, err := ingest.ReadMetrics(results, bytes.NewReader(text))
	if err != nil {
		return err
	}
	src := ingest.FSSource(fsys, file)
	src.Label = label
	return importAll(ctx, st, []ingest.Source{src}, ingest.Options{Metrics: metrics, Workers: 1})
}

func importAll(ctx context.Context, st store.Destination, sources []ingest.Source, o ingest.Options) error {
	var failed error
	_, err := ingest.Run(ctx, st, sources, o, func(r ingest.Result) {
		if r.Err != nil {
			failed = r.Err
		}
	})
	return cmp.Or(err, failed)
}
