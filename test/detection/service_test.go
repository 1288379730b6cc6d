package detection_test

import (
	"flag"
	"testing"

	"github.com/dendroprof/dendro/query/judge"
	"github.com/dendroprof/dendro/store/mem"
	"github.com/dendroprof/dendro/test/detection"
)

var days = flag.Int("days", 3, "simulated days of a service, clean ones and ones with a change each")

// TestReleases lets a service of 200 instances run for a day, with a new version on some
// of them or on all of them the next day, and expects the slower function and nothing
// else. Run with -days 100 for the figures of docs/method/releases.md.
func TestReleases(t *testing.T) {
	for _, x := range []struct {
		name   string
		canary int
	}{{"canary", 20}, {"half", 100}, {"next day", 0}} {
		t.Run(x.name, func(t *testing.T) {
			found, wrong, clean := 0, 0, 0
			for day := range *days {
				for _, impact := range []float64{0, 0.005} {
					s := &detection.Service{Seed: uint64(day), Instances: 200, Canary: x.canary, Nodes: 300, Hours: 24, Impact: impact}
					st := mem.New()
					slower, err := s.Push(t.Context(), st)
					if err != nil {
						t.Fatal(err)
					}
					r := &judge.RegressionsRequest{}
					r.Service = "shop"
					r.MinShare = 0.001
					res, err := judge.Regressions(t.Context(), st, r)
					if err != nil {
						t.Fatal(err)
					}
					for _, f := range res.Findings {
						if !f.Kind.Costs() {
							continue
						}
						if testing.Verbose() {
							t.Logf("day %d, impact %.3f in %s: %s %s %s %+.4f score %.1f %s %s", day, impact, slower, f.Status, f.Kind, f.Function, f.Delta.Share, f.Score, f.Headline.Function, f.Note)
						}
						switch {
						case impact == 0:
							clean++
						case f.Function == slower || f.Headline != nil && f.Headline.Function == slower:
							found++
						default:
							wrong++
						}
					}
				}
			}
			t.Logf("%d days: found %d, beside %d, false findings of clean days %d", *days, found, wrong, clean)
			if least := *days * 6 / 10; found < least || clean*20 > *days || wrong*20 > *days {
				t.Errorf("of %d days the change is found in %d (least %d), with %d findings beside it and %d on clean days", *days, found, least, wrong, clean)
			}
		})
	}
}
