package detection_test

import (
	"cmp"
	"flag"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/dendroprof/dendro/analysis/regression"
	"github.com/dendroprof/dendro/query/judge"
	"github.com/dendroprof/dendro/store/mem"
	"github.com/dendroprof/dendro/test/detection"
)

var power = flag.Bool("power", false, "simulate all rows of TestPower")

var days = flag.Int("days", 3, "simulated days of a service, clean ones and ones with a change each")

var seed = flag.Uint64("seed", 0, "seed of the first simulated day; each has the next")

// judged counts what a search finds in simulated days: findings, and clean days with one.
type judged struct{ found, beside, clean int }

// judgedDay compares the versions of a simulated service, and returns the function that is slower.
func judgedDay(t *testing.T, s detection.Service) (*judge.RegressionsResult, string) {
	t.Helper()
	st := mem.New()
	slower, err := s.Push(t.Context(), st)
	if err != nil {
		t.Fatal(err)
	}
	r := &judge.RegressionsRequest{}
	r.Service = "shop"
	res, err := judge.Regressions(t.Context(), st, r)
	if err != nil {
		t.Fatal(err)
	}
	return res, slower
}

// finds reports whether a finding names a function.
func finds(f *regression.Finding, function string) bool {
	return f.Function == function || f.Headline != nil && f.Headline.Function == function
}

// search judges simulated days of a service, a clean one and one with a change each.
func search(t *testing.T, s detection.Service, days int) (n judged) {
	t.Helper()
	changed := s
	s.Impact, s.Slower = 0, 0
	for day := range days {
		for _, s := range []detection.Service{s, changed} {
			s.Seed = *seed + uint64(day)
			res, slower := judgedDay(t, s)
			isClean, wrong := s.Impact+s.Slower == 0, 0
			for _, f := range res.Findings {
				if !f.Kind.Costs() {
					continue
				}
				if testing.Verbose() {
					t.Logf("day %d, clean %v, %s: %s of %s by %+.4f%%, score %.1f %s", day, isClean, slower, f.Status, f.Function, 100*f.Delta.Share,
						f.Score, f.Note)
				}
				if f.Status != regression.Confirmed {
					continue
				}
				switch {
				case isClean:
					wrong = 1
				case finds(&f, slower):
					n.found++
				default:
					n.beside++
				}
			}
			n.clean += wrong
		}
	}
	t.Logf("%d days: found %d, beside %d, clean days with a finding %d", days, n.found, n.beside, n.clean)
	return n
}

// TestReleases lets a service of 200 instances run for a day, with a new version on some
// of them or on all of them the next day, and expects the slower function and nothing
// else. Run with -days 60 for the figures of test/detection/RESULTS.md.
func TestReleases(t *testing.T) {
	for _, x := range []struct {
		name   string
		canary int
	}{{"canary", 20}, {"half", 100}, {"next day", 0}} {
		t.Run(x.name, func(t *testing.T) {
			n := search(t, detection.Service{Instances: 200, Canary: x.canary, Nodes: 300, Hours: 24, Impact: 0.005}, *days)
			if least := *days * 8 / 10; n.found < least || n.clean*20 > *days || n.beside*20 > *days {
				t.Errorf("of %d days the change is found in %d (least %d), with %d findings beside it, and %d clean days have one", *days, n.found, least, n.beside, n.clean)
			}
		})
	}
}

// TestPower finds functions that are slower by little themselves, for the table of
// test/detection/RESULTS.md (-days 60 -power); by default one of its rows.
func TestPower(t *testing.T) {
	type row struct {
		instances, canary int
		share, jitter     float64
	}
	rows, changes := []row{{200, 100, 0.05, 0.005}}, []float64{0.005}
	if *power {
		for _, jitter := range []float64{0.01, 0.02, 0.05} {
			rows = append(rows, row{200, 100, 0.05, jitter})
		}
		rows = append(rows, row{200, 100, 0.01, 0.01}, row{200, 100, 0.15, 0.01}, row{200, 20, 0.05, 0.01}, row{40, 20, 0.05, 0.01},
			row{1000, 500, 0.05, 0.01})
		changes = []float64{0.0025, 0.005, 0.01, 0.02, 0.05}
	}
	for _, x := range rows {
		for _, slower := range changes {
			name := fmt.Sprintf("%d of %d instances, %g%% between them, %g%% slower of %g%%", x.canary, x.instances, 100*x.jitter, 100*slower,
				100*x.share)
			t.Run(name, func(t *testing.T) {
				s := detection.Service{Instances: x.instances, Canary: x.canary, Nodes: 300, Hours: 24, Step: 6, Jitter: x.jitter, Share: x.share,
					Slower: slower}
				n := search(t, s, *days)
				if n.clean*20 > *days || !*power && n.found < *days/2 {
					t.Errorf("of %d days the change is found in %d, and %d clean days have a finding", *days, n.found, n.clean)
				}
			})
		}
	}
}

// young is a service whose new version is 50 minutes old, with a warm-up, and the one before 5 hours.
func young(s detection.Service) detection.Service {
	s.Warm, s.Before, s.Length, s.Minutes = 10*time.Minute, 5*time.Hour, 50*time.Minute, 5
	return s
}

// TestConditions lets the instances of two versions differ in more than their code. Nothing of it is a cost of the
// release; what is must still be found. Run with -days 20 for the figures of RESULTS.md, with -seed for others.
//
// Floors are shares of the days. The young are 50 minutes old: the limit that docs/method/releases.md computes for
// them is above 5% of the function, so few of these are found, and twice the limit nearly always. Where most
// functions differ for another reason than the code, no single one is found.
func TestConditions(t *testing.T) {
	few := detection.Service{Instances: 8, Canary: 4, Nodes: 300, Hours: 6, Minutes: 15, Jitter: 0.01, Share: 0.04, Slower: 0.05}
	many := few
	many.Instances, many.Canary, many.Slower = 40, 20, 0.02
	for _, x := range []struct {
		name  string
		of    detection.Service
		set   func(s *detection.Service)
		least float64 // of the changes
	}{
		{"alike", few, func(*detection.Service) {}, 0.85},
		{"alike, many", many, func(*detection.Service) {}, 0.8},
		{"warm-up", few, func(s *detection.Service) { s.Warm = 5 * time.Minute }, 0.85},
		{"rollout", few, func(s *detection.Service) { s.Warm, s.Rollout = 10*time.Minute, 2*time.Hour }, 0.8},
		{"rollout, many", many, func(s *detection.Service) { s.Warm, s.Rollout = 10*time.Minute, 2*time.Hour }, 0.8},
		{"young", few, func(s *detection.Service) { *s = young(*s) }, 0.05},
		{"young, 20% slower", few, func(s *detection.Service) { *s = young(*s); s.Slower = 0.2 }, 0.85},
		{"young, many, 20% slower", many, func(s *detection.Service) { *s = young(*s); s.Rollout, s.Slower = 20*time.Minute, 0.2 }, 0.8},
		{"load", few, func(s *detection.Service) { s.Load = 1.5 }, 0.85},
		{"requests", few, func(s *detection.Service) { s.Load, s.Mix = 1.5, 0.1 }, 0},
		{"machine", few, func(s *detection.Service) { s.Machine = 0.1 }, 0},
	} {
		t.Run(x.name, func(t *testing.T) {
			x.set(&x.of)
			days := max(*days, 5, 160/x.of.Instances) // 20 of the few
			n := search(t, x.of, days)
			if n.clean*20 > days || float64(n.found) < x.least*float64(days) {
				t.Errorf("of %d days the change is found in %d, and %d clean days have a finding", days, n.found, n.clean)
			}
		})
	}
}

// TestLimits plants the change that the output says is found in 80% of cases. Run with -days 40 for the
// figures of RESULTS.md.
func TestLimits(t *testing.T) {
	found, all := 0, 0
	for _, s := range []detection.Service{
		{Instances: 8, Canary: 4, Jitter: 0.01}, {Instances: 12, Canary: 6, Jitter: 0.03}, {Instances: 20, Canary: 10, Jitter: 0.02},
		{Instances: 40, Canary: 20, Jitter: 0.01}, {Instances: 40, Canary: 20, Jitter: 0.05}, {Instances: 100, Canary: 10, Jitter: 0.02},
		young(detection.Service{Instances: 8, Canary: 4, Jitter: 0.01}), young(detection.Service{Instances: 40, Canary: 20, Jitter: 0.01}),
	} {
		s.Nodes, s.Hours, s.Minutes, s.Share = 300, 6, cmp.Or(s.Minutes, 15), 0.05
		before := found
		for day := range *days {
			s.Seed, s.Slower = uint64(100+day), 0
			clean, _ := judgedDay(t, s)
			list := clean.Benchmarks[0].Analyses
			limit := list[len(list)-1].Detectable.Changes[1]
			s.Slower = limit.Change / limit.Share
			res, slower := judgedDay(t, s)
			all++
			if slices.ContainsFunc(res.Findings, func(f regression.Finding) bool {
				return f.Kind.Costs() && f.Status == regression.Confirmed && finds(&f, slower)
			}) {
				found++
			}
		}
		t.Logf("%d of %d instances, %g%% between them, windows of %d min: found %d of %d, limit of the last %.1f%% of the function", s.Canary, s.Instances, 100*s.Jitter, s.Minutes, found-before, *days, 100*s.Slower)
	}
	if found*4 < all*3 {
		t.Errorf("%d of %d changes are found that are as large as the printed limit", found, all)
	}
}
