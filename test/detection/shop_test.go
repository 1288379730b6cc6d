package detection_test

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/dendroprof/dendro/analysis/gate"
	"github.com/dendroprof/dendro/analysis/regression"
	"github.com/dendroprof/dendro/ingest"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/store/mem"
	"github.com/dendroprof/dendro/testrun"
)

// shop is the recorded profiles of testdata/shop by kind: steady, quad, heap0, heap64.
type shop struct {
	st   store.Reader
	runs map[string][]store.Profile
}

func loadShop(t *testing.T) *shop {
	t.Helper()
	files, err := filepath.Glob("testdata/shop/*.pprof")
	if err != nil || len(files) == 0 {
		t.Fatal("no profiles", err)
	}
	st := mem.New()
	for _, file := range files {
		src := ingest.FSSource(os.DirFS("testdata/shop"), filepath.Base(file))
		src.Label = ingest.Label{Group: "shop", Benchmark: "process_cpu", Metrics: []testrun.Metric{testrun.NewOperations(60, false)},
			Run: testrun.Run{Key: strings.TrimSuffix(filepath.Base(file), ".pprof")}}
		_, err := ingest.Run(t.Context(), st, []ingest.Source{src}, ingest.Options{Workers: 1}, func(r ingest.Result) {
			if r.Err != nil {
				t.Error(r.Err)
			}
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	list, err := st.Profiles(t.Context(), store.Query{Types: []string{"cpu"}})
	if err != nil {
		t.Fatal(err)
	}
	s := &shop{st, map[string][]store.Profile{}}
	for _, p := range list {
		kind, _, _ := strings.Cut(p.Run.Key, "-")
		s.runs[kind] = append(s.runs[kind], p)
	}
	return s
}

// changes compares two releases and returns the confirmed costs and gains, and whether the
// share of the environment changed.
func (s *shop) changes(t *testing.T, base, head []store.Profile) (list []regression.Finding, environment bool) {
	t.Helper()
	req := regression.Request{}
	req.Service = true
	c, err := gate.Compare(t.Context(), s.st, gate.Sides{Base: slices.Clone(base), Head: slices.Clone(head)}, req)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range c.Findings {
		environment = environment || f.Kind == regression.Environment
		if f.Status == regression.Confirmed && (f.Kind.Costs() || f.Kind == regression.Improvement) {
			list = append(list, f)
		}
	}
	return list, environment
}

// TestShop compares recorded profiles of a small Go service as releases, 6 runs a side: draws
// of one version, a version that is slower in a function, and one version with a small and
// with a large heap, of which the collector alone works less.
func TestShop(t *testing.T) {
	s := loadShop(t)
	const side, draws = 6, 200
	r := rand.New(rand.NewPCG(1, 2))
	steady := s.runs["steady"]
	draw := func(n int) (list []store.Profile) {
		for _, i := range r.Perm(len(steady))[:n] {
			list = append(list, steady[i])
		}
		return list
	}
	changed := 0
	for range draws {
		runs := draw(2 * side)
		if list, _ := s.changes(t, runs[:side], runs[side:]); len(list) > 0 {
			changed++
		}
	}
	if changed > draws/50 {
		t.Errorf("%d of %d comparisons of one version have a finding", changed, draws)
	}
	for range draws / 10 {
		list, _ := s.changes(t, draw(side), s.runs["quad"])
		if len(list) != 1 || list[0].Headline == nil || list[0].Headline.Function != "main.(*shop).match" {
			t.Errorf("findings of a slower match: %+v", list)
		}
	}
	for _, kinds := range [][2]string{{"heap0", "heap64"}, {"heap64", "heap0"}} {
		list, environment := s.changes(t, s.runs[kinds[0]], s.runs[kinds[1]])
		for _, f := range list {
			t.Errorf("%s against %s: %s of %s by %+.1f%%, place %s", kinds[1], kinds[0], f.Kind, f.Headline.Function, 100*f.Delta.Share, f.Function)
		}
		if !environment {
			t.Errorf("%s against %s: the collector's work is no finding", kinds[1], kinds[0])
		}
	}
}
