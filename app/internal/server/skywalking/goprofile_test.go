package skywalking_test

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	pprofile "github.com/google/pprof/profile"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	commonv3 "skywalking.apache.org/repo/goapi/collect/common/v3"
	profilev3 "skywalking.apache.org/repo/goapi/collect/language/profile/v3"

	"github.com/dendroprof/dendro/app/internal/server/skywalking"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/test/readtest"
	"github.com/dendroprof/dendro/traceprof"
)

// labelled returns a CPU profile of a Go program whose samples carry segments.
func labelled(t *testing.T) []byte { return labelledEvery(t, "nanoseconds", 10_000_000) }

// labelledEvery returns the profile with a period.
func labelledEvery(t *testing.T, unit string, period int64) []byte {
	t.Helper()
	line := func(id uint64, name string, n int64) pprofile.Line {
		return pprofile.Line{Line: n, Function: &pprofile.Function{ID: id, Name: name}}
	}
	main := &pprofile.Location{ID: 1, Line: []pprofile.Line{line(1, "main.main", 10)}}
	work := &pprofile.Location{ID: 2, Line: []pprofile.Line{line(3, "main.inlined", 33), line(2, "main.work", 20)}} // innermost first
	sample := func(label, segment string, count int64, at ...*pprofile.Location) *pprofile.Sample {
		s := &pprofile.Sample{Location: at, Value: []int64{count, count * 10_000_000}}
		if label != "" {
			s.Label = map[string][]string{label: {segment}, "traceID": {"t"}}
		}
		return s
	}
	p := &pprofile.Profile{
		SampleType: []*pprofile.ValueType{{Type: "samples", Unit: "count"}, {Type: "cpu", Unit: "nanoseconds"}},
		PeriodType: &pprofile.ValueType{Type: "cpu", Unit: unit}, Period: period, TimeNanos: start * 1_000_000,
		Sample: []*pprofile.Sample{
			sample("traceSegmentID", "s1", 3, work, main), sample("traceSegmentID", "s2", 1, main),
			sample("", "", 100, main), sample("segment_id", "s1", 2, main), sample("other", "s9", 5, main),
		},
		Location: []*pprofile.Location{main, work},
		Function: []*pprofile.Function{main.Line[0].Function, work.Line[0].Function, work.Line[1].Function},
	}
	var file bytes.Buffer
	if err := p.Write(&file); err != nil {
		t.Fatal(err)
	}
	return file.Bytes()
}

const goProfileReport = "/skywalking.v3.ProfileTask/goProfileReport"

// goRows returns what is held of a task, a line a sample.
func (b *bench) goRows(task string) (rows []string) {
	for _, id := range []string{"s1", "s2", "s9"} {
		s, ok := b.snapshots(task)[id]
		if !ok {
			continue
		}
		for i := range s.Len() {
			rows = append(rows, fmt.Sprintf("%s %d at %d: %d = %d ns %s", id, s.Sequence[i], s.Time[i]-start, s.Count[i], s.Nanos[i],
				strings.Join(names(s, i), "-")))
		}
		if s.Language != traceprof.GoProfiles {
			b.Errorf("segment %s is of language %d", id, s.Language)
		}
	}
	return rows
}

var wantRows = []string{
	"s1 0 at 0: 3 = 30000000 ns main.main:10-main.work:20-main.inlined:33",
	"s1 1 at 0: 2 = 20000000 ns main.main:10",
	"s2 0 at 0: 1 = 10000000 ns main.main:10",
}

// TestGoProfiles sends profiles in pieces over a stream that stays open, with all
// that can be wrong between them.
func TestGoProfiles(t *testing.T) {
	b := newBench(t)
	file := labelled(t)
	stream := b.open(goProfileReport)
	part := func(task string, payload []byte, last bool) {
		t.Helper()
		if err := stream.SendMsg(&profilev3.GoProfileData{TaskId: task, Payload: payload, IsLast: last}); err != nil {
			t.Fatal(err)
		}
	}
	half := len(file) / 2
	part("", file, true)                 // of no task
	part("garbage", []byte("not"), true) // no profile
	part("other", file[:half], false)    // never ends
	part("t1", file[:half], false)
	part("t1", file[half:], false)
	part("t1", nil, true)
	part("t2", file, true)
	eventually(t, "both profiles are stored while the stream is open",
		func() bool { return len(b.goRows("t1")) == 3 && len(b.goRows("t2")) == 3 })
	for _, task := range []string{"t1", "t2"} {
		if diff := cmp.Diff(wantRows, b.goRows(task)); diff != "" {
			t.Errorf("%s: %s", task, diff)
		}
	}
	for _, task := range []string{"", "other", "garbage"} {
		if got := b.goRows(task); len(got) > 0 {
			t.Errorf("task %q has %q", task, got)
		}
	}
	if err := stream.CloseSend(); err != nil {
		t.Fatal(err)
	}
	if err := stream.RecvMsg(new(commonv3.Commands)); err != nil {
		t.Error(err)
	}
}

// TestGoPeriods: a sample stands for the period of its profile.
func TestGoPeriods(t *testing.T) {
	b := newBench(t)
	for _, c := range []struct {
		unit         string
		period, want int64 // want: ns of the first row, of three samples
	}{
		{"nanoseconds", 2_000_000, 6_000_000}, {"microseconds", 2000, 6_000_000}, {"milliseconds", 5, 15_000_000},
		{"nanoseconds", 0, 30_000_000}, {"bytes", 7, 30_000_000},
	} {
		task := fmt.Sprint(c.unit, c.period)
		if err := b.agents.NewSession(true).GoProfile(t.Context(), task, labelledEvery(t, c.unit, c.period)); err != nil {
			t.Fatal(err)
		}
		s := b.snapshots(task)["s1"]
		if s.Len() != 2 || s.Nanos[0] != c.want {
			t.Errorf("%d %s: %v ns, want %d", c.period, c.unit, s.Nanos, c.want)
		}
	}
}

// TestGoProfileTooLarge: a profile is given up when it is larger than any can be,
// and the stream goes on.
func TestGoProfileTooLarge(t *testing.T) {
	b := newBench(t)
	stream := b.open(goProfileReport)
	chunk := make([]byte, 4<<20)
	for i := range 9 {
		if err := stream.SendMsg(&profilev3.GoProfileData{TaskId: "large", Payload: chunk, IsLast: i == 8}); err != nil {
			t.Fatal(err)
		}
	}
	if err := stream.SendMsg(&profilev3.GoProfileData{TaskId: "t", Payload: labelled(t), IsLast: true}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the next profile is stored", func() bool { return len(b.goRows("t")) == 3 })
}

// TestGoProfileBomb: a profile that grows far beyond any is refused.
func TestGoProfileBomb(t *testing.T) {
	b := newBench(t)
	samples := append([]byte("\x0a\x04\x08\x01\x10\x02"), bytes.Repeat([]byte("\x12\x03\x12\x01\x01"), 70<<20/5)...)
	packed := readtest.Gzip(append(samples, "\x32\x00\x32\x03cpu"...))
	if err := b.agents.NewSession(true).GoProfile(t.Context(), "t", packed); !errors.Is(err, skywalking.ErrMalformed) ||
		!errors.Is(err, profile.ErrTooLarge) {
		t.Error(err)
	}
}

// TestGoProfileNotStored: the stream goes on, and its end says that something is
// missing.
func TestGoProfileNotStored(t *testing.T) {
	b := newBench(t)
	stream := b.open(goProfileReport)
	b.store.broken.Store(true)
	send := func(task string) {
		t.Helper()
		if err := stream.SendMsg(&profilev3.GoProfileData{TaskId: task, Payload: labelled(t), IsLast: true}); err != nil {
			t.Fatal(err)
		}
	}
	send("lost")
	eventually(t, "the stream has seen the store fail", func() bool { return b.store.failures.Load() > 0 })
	b.store.broken.Store(false)
	eventually(t, "the next profile is stored", func() bool { send("kept"); return len(b.goRows("kept")) == 3 })
	if err := stream.CloseSend(); err != nil {
		t.Fatal(err)
	}
	if err := stream.RecvMsg(new(commonv3.Commands)); status.Code(err) != codes.Internal {
		t.Errorf("the end of the stream: %v", err)
	}
}
