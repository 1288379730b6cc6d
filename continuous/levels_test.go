package continuous

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestPartsReadOnce pushes windows, in time and late, sums and removes, and reads ranges: what a
// range has of the finest level that is kept is read once, from whatever level.
func TestPartsReadOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		at := rapid.Int64Range(0, 6*dayMillis)
		p := NewProgress()
		policy := &Policy{}
		policy.Keep[Raw] = time.Duration(rapid.IntRange(0, 30).Draw(t, "raw")) * time.Hour
		policy.Keep[Hour] = time.Duration(rapid.IntRange(0, 4).Draw(t, "hour")) * Day.Length()
		starts := []int64{-1}         // by the number of the window, from 1
		var stored [3]map[int64][]int // by level and start: the windows
		for l := range stored {
			stored[l] = map[int64][]int{}
		}
		var now int64
		for range rapid.IntRange(2, 6).Draw(t, "steps") {
			now += rapid.Int64Range(1, 2*dayMillis).Draw(t, "later")
			push := func() {
				for _, s := range rapid.SliceOfN(rapid.Int64Range(0, now), 4, 12).Draw(t, "starts") {
					stored[Raw][s] = append(stored[Raw][s], len(starts))
					starts = append(starts, s)
				}
			}
			push()
			next := p.Advance(time.UnixMilli(now), int64(len(starts)-1))
			for _, from := range []Level{Raw, Hour} {
				for start, list := range stored[from] {
					for _, w := range list {
						for _, l := range p.Sums(&next, from, start, int64(w)) {
							stored[l][l.Begin(start)] = append(stored[l][l.Begin(start)], w)
						}
					}
				}
			}
			var err error
			if p, _, err = next.Expire(time.UnixMilli(now), policy, nil, nil); err != nil {
				t.Fatal(err)
			}
			for l := range stored {
				for start := range stored[l] {
					if start < p.Kept[l] {
						delete(stored[l], start)
					}
				}
			}
			push()
			r := Range{at.Draw(t, "from"), at.Draw(t, "until")}
			read := make([]int, len(starts))
			for _, part := range p.Parts(r, Level(rapid.IntRange(0, 2).Draw(t, "coarsest"))) {
				for start, list := range stored[part.Level] {
					for _, w := range list {
						if part.From <= start && start < part.Until && (!part.Late || int64(w) > p.Seq) {
							read[w]++
						}
					}
				}
			}
			want := make([]int, len(starts))
			for w, start := range starts[1:] {
				finest := Level(slices.IndexFunc(p.Kept[:], func(kept int64) bool { return kept <= start }))
				if begin := finest.Begin(start); r.From <= begin && begin < r.Until {
					want[w+1] = 1
				}
			}
			if !slices.Equal(read, want) {
				t.Fatalf("%v of windows %v by %+v is read %v times, want %v", r, starts, p, read, want)
			}
		}
	})
}

// TestBeyond: what a policy removed by its age is in no lake either; a store that removed more needs it.
func TestBeyond(t *testing.T) {
	now := time.Date(2026, 11, 29, 13, 0, 0, 0, time.UTC)
	day := func(n int) time.Time { return DayOf(now).AddDate(0, 0, n) }
	policy := &Policy{Keep: [3]time.Duration{Day: 10 * Day.Length()}}
	for kept, want := range map[time.Time]time.Time{{}: {}, day(-11): {}, day(-10): {}, day(-9): day(-9)} {
		if got := policy.Beyond(kept, now); !got.Equal(want) {
			t.Errorf("kept from %s: %s, want %s", kept, got, want)
		}
	}
	if got := new(Policy).Beyond(day(-900), now); !got.Equal(day(-900)) {
		t.Errorf("of a policy that keeps everything: %s", got)
	}
}
