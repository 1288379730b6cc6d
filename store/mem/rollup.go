package mem

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/continuous"
)

// RollUp implements continuous.Store.
func (s *windows) RollUp(ctx context.Context, now time.Time, policy continuous.Policy) (continuous.Rolled, error) {
	if err := ctx.Err(); err != nil {
		return continuous.Rolled{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var rolled continuous.Rolled
	next := s.progress.Advance(now, s.seq)
	changed := map[*window]map[int64]map[*series]bool{}                        // sums, and the series of raw windows of each hour in them
	for _, from := range []continuous.Level{continuous.Raw, continuous.Hour} { // the second one with the sums of the first
		for _, w := range slices.Clone(s.list) {
			if w.Level != from || w.Start.UnixMilli() < policy.Gone(now) {
				continue
			}
			for _, to := range s.progress.Sums(&next, from, w.Start.UnixMilli(), w.seq) {
				sum := s.addTo(to, w, policy.Instance)
				if changed[sum] == nil {
					changed[sum] = map[int64]map[*series]bool{}
				}
				instances := w.Instances
				if from == continuous.Raw {
					hour := continuous.Hour.Begin(w.Start.UnixMilli())
					if changed[sum][hour] == nil {
						changed[sum][hour] = map[*series]bool{}
					}
					changed[sum][hour][w.series] = true
					instances = int64(len(changed[sum][hour]))
				}
				sum.Instances = max(sum.Instances, instances)
			}
		}
	}
	rolled.Made = int64(len(changed))
	next, s.cuts, _ = next.Expire(now, &policy, s.cuts, func(l continuous.Level) ([]continuous.Weight, error) { return s.weigh(l), nil })
	s.progress = next
	before := len(s.list)
	s.list = slices.DeleteFunc(s.list, func(w *window) bool {
		return w.Start.UnixMilli() < next.Of(s.cuts, w.series.Service).Kept[w.Level]
	})
	if rolled.Expired = int64(before - len(s.list)); rolled.Expired > 0 {
		rolled.Swept = s.sweep()
	}
	return rolled, nil
}

// addTo adds a window to the sum of a level that it belongs to, without labels of instances, and
// returns that.
func (s *windows) addTo(level continuous.Level, w *window, instance []string) *window {
	start := time.UnixMilli(level.Begin(w.Start.UnixMilli())).UTC()
	of := w.series
	if described, other := of.Sum(instance); other {
		key := described.Key()
		if s.series[key] == nil {
			s.series[key] = &series{Series: described, typ: of.typ}
		}
		of = s.series[key]
		of.Summed = continuous.Summed(of.Summed, &described)
		slices.Sort(of.Summed)
		if level == continuous.Hour {
			of.First, of.Last = continuous.Earlier(of.First, start), continuous.Later(of.Last, start.Add(level.Length()))
		}
	}
	i := slices.IndexFunc(s.list, func(sum *window) bool {
		return sum.Level == level && sum.series == of && sum.Start.Equal(start)
	})
	if i < 0 {
		i = len(s.list)
		s.list = append(s.list, &window{series: of, Total: continuous.Total{Level: level, Start: start, Length: level.Length()}})
	}
	sum := s.list[i]
	sum.self = calltree.AddVectors(sum.self, w.self)
	sum.Parts, sum.Sum, sum.Covered = sum.Parts+w.Parts, sum.Sum+w.Sum, sum.Covered+w.Covered
	return sum
}

// weigh implements the argument of continuous.Progress.Expire.
func (s *windows) weigh(l continuous.Level) (list []continuous.Weight) {
	for _, w := range s.list {
		if w.Level == l {
			list = append(list, continuous.Weight{Service: w.series.Service, Start: min(l+1, continuous.Day).Begin(w.Start.UnixMilli()),
				Bytes: w.bytes()})
		}
	}
	return list
}

// sweep removes series and paths that no window has any more, and returns the number of
// the paths.
func (s *windows) sweep() int64 {
	used := map[*series]bool{}
	fresh, before := new(calltree.Forest), s.forest.Paths.Len()
	tr := calltree.NewTranslation(interner{fresh, nil})
	for _, w := range s.list {
		used[w.series] = true
		w.self = tr.Vector(s.forest, w.self)
	}
	maps.DeleteFunc(s.series, func(_ continuous.Key, of *series) bool { return !used[of] })
	for of := range used {
		of.First = continuous.Later(of.First, time.UnixMilli(s.progress.Of(s.cuts, of.Service).Kept[continuous.Day]).UTC())
	}
	s.forest, s.translations = fresh, calltree.Translations{}
	return int64(before - fresh.Paths.Len())
}
