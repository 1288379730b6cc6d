package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path"
	"testing"
	"time"

	"github.com/dendroprof/dendro/app/internal/server"
	"github.com/dendroprof/dendro/continuous"
	"github.com/dendroprof/dendro/store/mem"
	"github.com/dendroprof/dendro/test/storetest"
)

// TestMissing: a partition whose services are not known is named itself, also if it had none when
// its worker was asked last. What the lake has is not missing.
func TestMissing(t *testing.T) {
	at := func(hour int) time.Time { return time.Date(2026, 11, 28, hour, 0, 0, 0, time.UTC) }
	until := func(hour int, lost ...int) continuous.Reach {
		reach := continuous.Reach{Until: at(hour)}
		for i := 0; i < len(lost); i += 2 {
			reach.Lost = append(reach.Lost, continuous.Span{From: at(lost[i]), Until: at(lost[i+1])})
		}
		return reach
	}
	for _, c := range []struct {
		reach  map[int32]continuous.Reach
		places map[int32]held
		want   string
	}{
		{nil, nil, "services cart, shop are missing; partitions 1, 2 are missing"},
		{map[int32]continuous.Reach{}, nil, "services cart, shop are missing; partitions 1, 2 are missing"},
		{map[int32]continuous.Reach{0: until(14), 1: until(14), 2: until(9)}, nil,
			"services cart, shop end at 2026-11-28 14:00 UTC; partition 2 ends at 2026-11-28 09:00 UTC; partition 1 ends at 2026-11-28 14:00 UTC"},
		{map[int32]continuous.Reach{0: until(14), 2: until(14)}, map[int32]held{0: {place: place{Complete: true, Read: at(16)}},
			1: {place: place{Complete: true}}, 2: {place: place{Complete: true, Read: at(14), From: at(15)}}},
			"services cart, shop lack 2026-11-28 14:00 UTC to 2026-11-28 16:00 UTC"},
		{map[int32]continuous.Reach{}, map[int32]held{0: {place: place{Next: 3, End: 7}}, 1: {place: place{Complete: true, Read: at(1)}},
			2: {place: place{Complete: true}}},
			"partition 0 is being read again (record 3 of 7); services cart, shop may lack windows; " +
				"partition 1 lacks the first window to 2026-11-28 01:00 UTC"},
		{map[int32]continuous.Reach{0: until(17, 11, 12, 14, 16), 1: until(17, 3, 4), 2: until(17, 5, 6)},
			map[int32]held{0: {place: place{Complete: true, Read: at(16)}}, 2: {place: place{Complete: true}}},
			"services cart, shop lack 2026-11-28 11:00 UTC to 2026-11-28 12:00 UTC, lack 2026-11-28 14:00 UTC to 2026-11-28 16:00 UTC; " +
				"partition 1 lacks 2026-11-28 03:00 UTC to 2026-11-28 04:00 UTC, ends at 2026-11-28 17:00 UTC"},
	} {
		r := NewReader(ReaderOptions{})
		r.total, r.services, r.reach = 3, map[int32][]string{0: {"shop", "cart"}, 1: {}}, c.reach
		r.say(c.places)
		if got := r.Missing(); got != c.want {
			t.Errorf("%v, %v:\n%s, want\n%s", c.reach, c.places, got, c.want)
		}
	}
}

// lakeOf is a lake that says what it is asked for.
type lakeOf struct {
	*mem.Store
	asked map[int32]time.Time
	down  bool
}

var errDown = errors.New("connection refused")

func (l *lakeOf) Series(ctx context.Context, q continuous.Query) ([]continuous.Series, error) {
	if l.down {
		return nil, errDown
	}
	return l.Store.Series(ctx, q)
}

func (l *lakeOf) Before(until map[int32]time.Time) continuous.Store {
	l.asked = until
	return l
}

func (l *lakeOf) late(t *testing.T) *Late[Lake] {
	opened, err := OpenLate(t.Context(), func(err error) bool { return errors.Is(err, errDown) },
		func(context.Context) (Lake, error) { return l, nil })
	if err != nil {
		t.Fatal(err)
	}
	return opened
}

func (l *lakeOf) Reach(context.Context) (map[int32]continuous.Reach, error) { return nil, nil }

// TestLake: the lake is asked for what workers do not have, and not at all if they have everything.
func TestLake(t *testing.T) {
	from := time.Date(2026, 11, 28, 14, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		total int32
		from  []time.Time // of the partitions that a worker holds
		want  string
	}{
		{2, []time.Time{{}, {}}, "map[]"},
		{2, []time.Time{{}, from}, fmt.Sprint(map[int32]time.Time{0: {}, 1: from})},
		{2, []time.Time{{}}, fmt.Sprint(map[int32]time.Time{0: {}})},
		{1, nil, "map[]"},
	} {
		lake := &lakeOf{Store: mem.New()}
		r := NewReader(ReaderOptions{Lake: lake.late(t), Workers: []string{"http://127.0.0.1:1"}})
		r.total = c.total
		s := &status{}
		for i, from := range c.from {
			s.Partitions = append(s.Partitions, place{Partition: int32(i), Complete: true, From: from})
		}
		r.workers[0].status = s
		parts, _, err := r.parts(t.Context())
		if err != nil || fmt.Sprint(lake.asked) != c.want || (len(parts) > len(c.from)) != (lake.asked != nil) {
			t.Errorf("%d partitions from %v: the lake was asked for %v, want %v (%d parts, %v)", c.total, c.from, lake.asked, c.want, len(parts), err)
		}
	}
}

// TestFullDay: a day that the lake has is read from there as a whole, once no window can be late for it.
func TestFullDay(t *testing.T) {
	today := continuous.DayOf(time.Now())
	day := func(days, hours int) time.Time {
		return today.AddDate(0, 0, days).Add(time.Duration(hours) * time.Hour)
	}
	for _, c := range []struct{ from, until, want time.Time }{
		{time.Time{}, day(0, 0), time.Time{}},
		{day(-9, 7), day(-8, 0), day(-8, 0)},
		{day(-9, 7), day(-9, 23), day(-9, 7)}, // the lake does not have the rest
		{day(-9, 0), day(0, 0), day(-9, 0)},
		{day(-2, 7), day(0, 0), day(-2, 7)},
	} {
		if got := fullDay(c.from, continuous.Reach{Until: c.until}); !got.Equal(c.want) {
			t.Errorf("windows from %s, the lake until %s: read from %s, want %s", c.from, c.until, got, c.want)
		}
	}
}

// TestLakeOfSums: a reader of workers and a lake refuses a label that hours of the lake lack, also
// where a worker has windows with it: the rest of an answer would be missing.
func TestLakeOfSums(t *testing.T) {
	lake, windows, begin := &lakeOf{Store: mem.New()}, mem.New(), time.Date(2026, 11, 28, 14, 0, 0, 0, time.UTC)
	m, noon := storetest.NewWindowMaker(), begin.Add(22*time.Hour)
	for _, st := range []*mem.Store{lake.Store, windows} {
		w := m.Window("shop", begin, []string{"pod", "p1"}, storetest.Sample{Stack: []string{"main"}, Value: 5})
		if st == windows {
			w.Start = noon
		}
		if _, err := st.PutWindows(t.Context(), []*continuous.Window{w}); err != nil {
			t.Fatal(err)
		}
	}
	policy := continuous.Policy{Keep: [3]time.Duration{time.Hour}, Instance: []string{"pod"}}
	if _, err := lake.RollUp(t.Context(), noon, policy); err != nil {
		t.Fatal(err)
	}
	worker := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var q question
		if err := json.NewDecoder(r.Body).Decode(&q); err != nil {
			t.Error(err)
		}
		answer, err := answers[path.Base(r.URL.Path)](r.Context(), windows, &q)
		if err != nil {
			t.Error(err)
		}
		server.WriteJSON(w, http.StatusOK, answer)
	}))
	defer worker.Close()
	r := NewReader(ReaderOptions{Lake: lake.late(t), Workers: []string{worker.URL}, Client: worker.Client(),
		Logger: slog.New(slog.DiscardHandler)})
	r.workers[0].told(&status{Total: 1, Partitions: []place{{Complete: true, From: noon}}}, nil)
	all, err := r.Windows().Tree(t.Context(), continuous.Query{})
	if err != nil || all.Parts != 2 || all.Instances != 1 {
		t.Errorf("%v (%v), want both windows of the instance", all, err)
	}
	pod := continuous.Query{Matchers: []continuous.Matcher{{Name: "pod", Op: continuous.Equal, Value: "p1"}}}
	var summed *continuous.SummedError
	if got, err := r.Windows().Tree(t.Context(), pod); !errors.As(err, &summed) || summed.Label != "pod" {
		t.Errorf("a pod: %v, %v, want it refused", got, err)
	}
	lake.down = true
	list, err := r.Windows().Series(t.Context(), continuous.Query{})
	if want := "the lake does not answer: hours before 2026-11-29 12:00 UTC are missing"; err != nil || len(list) != 1 || r.Missing() != want {
		t.Errorf("without the lake: %v, %v; missing: %q, want %q", list, err, r.Missing(), want)
	}
	pod.From = summed.Since
	if got, err := r.Windows().Tree(t.Context(), pod); err != nil || got.Parts != 1 {
		t.Errorf("a pod where it is kept: %v, %v", got, err)
	}
}
