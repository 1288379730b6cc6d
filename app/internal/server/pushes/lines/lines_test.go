package lines

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	googlepprof "github.com/google/pprof/profile"

	"github.com/dendroprof/dendro/continuous"
	"github.com/dendroprof/dendro/continuous/intake"
	"github.com/dendroprof/dendro/format/pprof"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/store/mem"
)

var (
	cpu   = continuous.Type{Name: "process_cpu", SampleType: "cpu", SampleUnit: "nanoseconds", PeriodType: "cpu", PeriodUnit: "nanoseconds"}
	start = time.Date(2026, 11, 28, 10, 0, 0, 0, time.UTC)
)

// stack is a pprof sample: frames `function:line`, outermost first, `+` before inlined ones.
type stack struct {
	frames string
	value  int64
}

// pprofOf returns stacks as a pprof file.
func pprofOf(t testing.TB, stacks ...stack) []byte {
	t.Helper()
	p := &googlepprof.Profile{SampleType: []*googlepprof.ValueType{{Type: "cpu", Unit: "nanoseconds"}},
		PeriodType: &googlepprof.ValueType{Type: "cpu", Unit: "nanoseconds"}, Period: 1}
	functions := map[string]*googlepprof.Function{}
	for _, s := range stacks {
		sample := &googlepprof.Sample{Value: []int64{s.value}}
		for text := range strings.SplitSeq(s.frames, ";") {
			inlined := strings.HasPrefix(text, "+")
			name, number, _ := strings.Cut(strings.TrimPrefix(text, "+"), ":")
			fn := functions[name]
			if fn == nil {
				fn = &googlepprof.Function{ID: uint64(len(functions) + 1), Name: name, SystemName: name, Filename: "/src/" + name + ".go",
					StartLine: 7}
				functions[name], p.Function = fn, append(p.Function, fn)
			}
			line := googlepprof.Line{Function: fn}
			fmt.Sscan(number, &line.Line)
			if inlined {
				at := sample.Location[0]
				at.Line = append([]googlepprof.Line{line}, at.Line...)
				continue
			}
			at := &googlepprof.Location{ID: uint64(len(p.Location) + 1), Address: uint64(0x1000 + 16*len(p.Location)),
				Line: []googlepprof.Line{line}}
			p.Location, sample.Location = append(p.Location, at), slices.Insert(sample.Location, 0, at)
		}
		p.Sample = append(p.Sample, sample)
	}
	var b bytes.Buffer
	if err := p.WriteUncompressed(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// lab is an intake whose lines a keeper stores.
type lab struct {
	t    testing.TB
	in   *intake.Intake
	st   *mem.Store
	keep *Keeper
	n    int
}

func newLab(t testing.TB, o intake.Options, room continuous.LineRoom) *lab {
	o.Lines, o.Now = true, func() time.Time { return start }
	l := &lab{t: t, st: mem.New()}
	l.in = intake.New(l.st, o)
	t.Cleanup(func() { l.in.Close(context.Background()) })
	l.keep = NewKeeper(l.in, l.st, room)
	return l
}

// push pushes a window of a service and version.
func (l *lab) push(service, version string, at time.Time, stacks ...stack) {
	l.t.Helper()
	l.n++
	content := pprofOf(l.t, stacks...)
	err := l.in.Push(l.t.Context(), "", func(w *intake.Worker) error {
		p, err := w.Decode("pprof", content, func() profile.Decoder { return pprof.NewDecoder() })
		if err != nil {
			return err
		}
		labels := intake.Labels([]continuous.Label{{Name: "pod", Value: fmt.Sprint(l.n)}, {Name: "version", Value: version}})
		return w.Add(&intake.Profile{Profile: p, Service: service, Labels: labels, Start: at.Add(time.Duration(l.n) * time.Second),
			Length: 15 * time.Second, Type: func(int) (continuous.Type, bool) { return cpu, true }})
	})
	if err != nil {
		l.t.Fatal(err)
	}
}

func (l *lab) write(now time.Time, all bool) int {
	l.t.Helper()
	n, err := l.keep.Keep(l.t.Context(), now, all)
	if err != nil {
		l.t.Fatal(err)
	}
	return n
}

// drawn draws what is stored, as google/pprof reads it: frames with lines and start lines.
func (l *lab) drawn() string {
	l.t.Helper()
	list, err := l.st.Lines(l.t.Context(), continuous.Query{})
	if err != nil {
		l.t.Fatal(err)
	}
	var b strings.Builder
	for i := range list {
		one := &list[i]
		fmt.Fprintf(&b, "%s %s %s: %d windows, %s\n", one.Series.Service, one.Series.Labels.Get("version"), one.Day.Format("01-02"), one.Windows,
			one.Covered)
		p, err := googlepprof.ParseData(one.Profile)
		if err != nil {
			l.t.Fatal(err)
		}
		var rows []string
		for _, s := range p.Sample {
			var frames []string
			for _, at := range slices.Backward(s.Location) {
				for i, line := range slices.Backward(at.Line) {
					name := fmt.Sprintf("%s:%d", line.Function.Name, line.Line)
					if line.Line > 0 && line.Function.StartLine != 7 {
						l.t.Errorf("%s has the start line %d", name, line.Function.StartLine)
					}
					if i < len(at.Line)-1 {
						name = "+" + name
					}
					frames = append(frames, name)
				}
			}
			rows = append(rows, fmt.Sprintf("  %s %d\n", strings.Join(frames, ";"), s.Value[0]))
		}
		slices.Sort(rows)
		b.WriteString(strings.Join(rows, ""))
	}
	return b.String()
}

func (l *lab) same(want string) {
	l.t.Helper()
	if got := l.drawn(); got != want {
		l.t.Errorf("stored:\n%s\nwant:\n%s", got, want)
	}
}

// TestLines: pushes of all pods become one profile a version and day, with lines and what was
// inlined; the next minute is added.
func TestLines(t *testing.T) {
	l := newLab(t, intake.Options{}, continuous.LineRoom{})
	l.push("shop", "1", start, stack{"main:10;work:20", 5}, stack{"main:10;work:21;+price:3", 7})
	l.push("shop", "1", start, stack{"main:10;work:20", 1})
	l.push("shop", "2", start, stack{"main:11", 2})
	l.push("shop", "1", start.Add(14*time.Hour), stack{"main:10", 9})
	l.push("texts", "1", start, stack{"main:0;work:0", 4})
	if n := l.write(start, false); n != 3 {
		t.Errorf("%d profiles were written", n)
	}
	first := "shop 1 11-28: 2 windows, 30s\n  main:10;work:20 6\n  main:10;work:21;+price:3 7\nshop 2 11-28: 1 windows, 15s\n  main:11 2\n"
	l.same(first + "shop 1 11-29: 1 windows, 15s\n  main:10 9\n")
	l.push("shop", "2", start, stack{"main:11", 2}, stack{"main:12", 3})
	if n := l.write(start.Add(Every-1), false); n != 0 {
		t.Errorf("%d profiles were written before they are due", n)
	}
	if n := l.write(start.Add(Every), false); n != 1 {
		t.Errorf("%d profiles were written", n)
	}
	l.same(strings.Replace(first, "shop 2 11-28: 1 windows, 15s\n  main:11 2\n", "shop 2 11-28: 2 windows, 30s\n  main:11 4\n  main:12 3\n", 1) +
		"shop 1 11-29: 1 windows, 15s\n  main:10 9\n")
	if n := l.write(start.Add(Every), true); n != 0 {
		t.Errorf("%d profiles were written twice", n)
	}
}

// TestDue: a profile is written more and more seldom, at last each hour.
func TestDue(t *testing.T) {
	l := newLab(t, intake.Options{MaxAge: 48 * time.Hour}, continuous.LineRoom{})
	written := 0
	for minute := range 6 * 60 {
		l.push("shop", "1", start.Add(-8*time.Hour), stack{"main:10", 1})
		written += l.write(start.Add(time.Duration(minute)*time.Minute), false)
	}
	if written < 6 || written > 13 {
		t.Errorf("%d writes in 6 hours", written)
	}
	l.write(start, true)
	l.same("shop 1 11-28: 360 windows, 1h30m0s\n  main:10 360\n")
}

// TestBounds: profiles keep their largest stacks, and the sum stays.
func TestBounds(t *testing.T) {
	for name, stacks := range map[string]func(rnd *rand.Rand) []stack{
		"stacks": func(rnd *rand.Rand) (list []stack) {
			for i := range 3 * maxStacks {
				list = append(list, stack{fmt.Sprintf("main:10;work:%d", i+1), 1 + rnd.Int64N(5)})
			}
			return list
		},
		"frames": func(rnd *rand.Rand) (list []stack) {
			deep := strings.Repeat(";recurse:7", 500)
			for i := range maxFrames / 400 {
				list = append(list, stack{fmt.Sprintf("main:%d%s", i+1, deep), 1 + rnd.Int64N(5)})
			}
			return list
		},
		"texts": func(rnd *rand.Rand) (list []stack) {
			long := strings.Repeat("x", 10_000)
			for i := range 3 * maxText / 20_000 {
				list = append(list, stack{fmt.Sprintf("main:10;f%d%s:7", i, long), 1 + rnd.Int64N(5)})
			}
			return list
		},
	} {
		t.Run(name, func(t *testing.T) {
			rnd := rand.New(rand.NewPCG(1, 2))
			l := newLab(t, intake.Options{MaxShare: 100, MaxBytes: 256 << 20, MaxRate: 1 << 40}, continuous.LineRoom{})
			list := stacks(rnd)
			list = append(list, stack{"main:10;hot:1", 1 << 40})
			sum := int64(0)
			for _, s := range list {
				sum += s.value
			}
			l.push("shop", "1", start, list...)
			l.write(start, true)
			stored, err := l.st.Lines(t.Context(), continuous.Query{})
			if err != nil || len(stored) != 1 {
				t.Fatal(err)
			}
			p, err := decode(stored[0].Profile)
			if err != nil {
				t.Fatal(err)
			}
			text := 0
			for _, f := range p.Symbols.Functions {
				text += len(f.Name) + len(f.File) + len(f.Module) + len(f.SystemName)
			}
			if n, frames := p.Tables[0].Len(), p.Symbols.Stacks.Len(); n > maxStacks+1 || frames > maxFrames+1 || text > maxText+1000 {
				t.Errorf("%d stacks, %d frames, %d bytes of names", n, frames, text)
			}
			if p.Tables[0].Total() != sum {
				t.Errorf("the sum is %d of %d", p.Tables[0].Total(), sum)
			}
			if text := l.drawn(); !strings.Contains(text, "main:10;hot:1 1099511627776\n") || !strings.Contains(text, "  (other):0 ") {
				t.Error("the largest stack, or the others together, are missing")
			}
		})
	}
}

// TestWaitingLines: lines that wait have a limit, of which a service has a share; the windows are
// stored.
func TestWaitingLines(t *testing.T) {
	l := newLab(t, intake.Options{Workers: 1, MaxBytes: 1 << 20}, continuous.LineRoom{}) // 26,214 stacks, 5,242 of a service
	var list []stack
	for i := range 8_000 {
		list = append(list, stack{fmt.Sprintf("main:10;work:%d", i+1), 1})
	}
	l.push("loud", "1", start, list...)
	l.push("quiet", "1", start, stack{"main:10", 3})
	if n := l.in.Metrics().LostLines; n < 2_700 || n > 2_800 {
		t.Errorf("%d samples have lost their lines", n)
	}
	l.write(start, true)
	if text := l.drawn(); !strings.Contains(text, "quiet 1 11-28: 1 windows, 15s\n  main:10 3\n") {
		t.Error("a service has lost its lines because of another one")
	}
	stats, err := l.st.WindowStats(t.Context())
	if err != nil || stats.Windows[0] != 2 {
		t.Errorf("%d windows, %v", stats.Windows[0], err)
	}
	l.push("loud", "1", start, list[:5000]...) // there is room again
	if n := l.in.Metrics().LostLines; n > 2_800 {
		t.Errorf("%d samples have lost their lines", n)
	}
}

// TestDamagedLines: a stored profile that cannot be read is replaced.
func TestDamagedLines(t *testing.T) {
	l := newLab(t, intake.Options{}, continuous.LineRoom{})
	of := continuous.Series{Service: "shop", Type: cpu, Labels: continuous.Labels{{Name: "version", Value: "1"}}}
	if err := l.st.PutLines(t.Context(), []*continuous.Lines{{Series: of, Day: continuous.DayOf(start), Profile: []byte("x")}},
		continuous.LineRoom{}); err != nil {
		t.Fatal(err)
	}
	l.push("shop", "1", start, stack{"main:10", 1})
	l.write(start, true)
	l.same("shop 1 11-28: 1 windows, 15s\n  main:10 1\n")
}
