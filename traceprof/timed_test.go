package traceprof_test

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/store/mem"
	"github.com/dendroprof/dendro/test/tracetest"
	"github.com/dendroprof/dendro/traceprof"
)

// frames returns what a snapshot of one stack becomes in a profile, a frame a
// text: "kind name:line", with the file in brackets.
func frames(signatures []string, language traceprof.Language) []string {
	stacks := new(calltree.Forest)
	s := traceprof.Snapshots{
		Task: "t", Segment: "s", Language: language, Stacks: stacks,
		Sequence: []int32{0}, Time: []int64{0}, Path: []int32{tracetest.Path(stacks, signatures...)},
	}
	if language == traceprof.GoProfiles {
		s.Count, s.Nanos = []int64{1}, []int64{10_000_000}
	}
	p := traceprof.Profile(map[string]int64{"t": 10}, []traceprof.Snapshots{s}, nil)
	if err := p.Check(); err != nil {
		return []string{err.Error()}
	}
	var list []string
	for _, id := range p.Symbols.Path(p.Tables[0].Stack[0], nil) {
		f := p.Symbols.Frames[id]
		fn := p.Symbols.Functions[f.Function]
		text := fmt.Sprintf("%s %s:%d", fn.Kind, fn.Name, f.Line)
		if fn.File != "" {
			text += " [" + fn.File + "]"
		}
		if f.Type == profile.FrameNative {
			text += " native"
		}
		list = append(list, text)
	}
	return list
}

func TestProfileFrames(t *testing.T) {
	const enhance = "org.apache.skywalking.apm.agent.core.plugin.interceptor.enhance."
	for _, c := range []struct {
		name             string
		signatures, want []string
	}{
		{"Java", []string{"java.lang.Thread.run:840", "shop.Cart.<init>:-1", "java.lang.Thread.sleep:-2"},
			[]string{"java java.lang.Thread.run:840", "java shop.Cart.<init>:0", "java java.lang.Thread.sleep:0 native"}},
		{"Python", []string{"/usr/lib/python3.11/threading.py.run: 982", "<frozen runpy>._run_module: 88", "/srv/shop.py.<lambda>: 5"},
			[]string{"python run:982 [/usr/lib/python3.11/threading.py]", "python _run_module:88 [<frozen runpy>]",
				"python <lambda>:5 [/srv/shop.py]"}},
		{"an agent's frames", []string{
			"Filter.doFilter:95", "shop.Shop$Handler.handle:-1", enhance + "InstMethodsInter.intercept:95",
			"shop.Shop$Handler$$sw$auxiliary$815cqm1.call:-1",
			"shop.Shop$Handler.$sw$original$handle$eq1kks1$accessor$$sw$kspurn1:-1", "shop.Shop$Handler.$sw$original$handle$eq1kks1:105", "shop.Shop.burn:42",
		}, []string{"java Filter.doFilter:95", "java shop.Shop$Handler.handle:105", "java shop.Shop.burn:42"}},
		{"an older agent's frames", []string{
			"App.main:3", "App.work:-1", enhance + "StaticMethodsInter.intercept:83", "App$auxiliary$Ab12.call:-1",
			"App.work$original$Cd34$accessor$Ef56:-1", "App.work$original$Cd34:21",
		}, []string{"java App.main:3", "java App.work:21"}},
		{"an interceptor at work", []string{"App.work:-1", enhance + "InstMethodsInter.intercept:86",
			"org.example.TomcatInterceptor.beforeMethod:60"},
			[]string{"java App.work:0", "java org.example.TomcatInterceptor.beforeMethod:60"}},
		{"cut at the top", []string{"App$$sw$auxiliary$x.call:-1", "App.$sw$original$work$abc:7"}, []string{"java App.work:7"}},
		{"strange", []string{"main", "a:b", ":5", "x: ", "::7"}, []string{" main:0", " a:b:0", " :5:0", " x: :0", " ::7"}},
	} {
		if got, want := strings.Join(frames(c.signatures, traceprof.Dumps), "\n"), strings.Join(c.want, "\n"); got != want {
			t.Errorf("%s: got\n%s\nwant\n%s", c.name, got, want)
		}
	}
	if got := strings.Join(frames([]string{"main.main:5", "main.(*Cart).total:9"}, traceprof.GoProfiles),
		"\n"); got != "go main.main:5\ngo main.(*Cart).total:9" {
		t.Errorf("Go: %s", got)
	}
}

func TestReadProfile(t *testing.T) {
	st := mem.New()
	task := &traceprof.Task{ID: "t", Kind: traceprof.TraceKind, Period: 20}
	put(t, st, traceprof.Segment{ID: "a", Trace: "x", Instance: "i1", Operation: "op", Endpoint: "GET:/a", Start: 1000, End: 1500},
		tracetest.Picture("t", "a", "@0:1100 A-B . A-C"), tracetest.Picture("other", "a", "X"))
	put(t, st, traceprof.Segment{}, tracetest.Picture("t", "b", "@0:2000 A-B"))
	p, segments, err := traceprof.ReadProfile(t.Context(), st, task)
	if err != nil {
		t.Fatal(err)
	}
	if len(segments) != 1 || segments["a"].Endpoint != "GET:/a" {
		t.Errorf("segments %v", segments)
	}
	if !p.Start.Equal(time.UnixMilli(1000)) || p.Duration != time.Second || p.Interval != 20*time.Millisecond || len(p.Tables) != 1 {
		t.Fatalf("start %v, duration %v, interval %v, %d tables", p.Start, p.Duration, p.Interval, len(p.Tables))
	}
	table := &p.Tables[0]
	if table.Type.Key() != "trace/milliseconds" || table.Total() != 60 {
		t.Errorf("%s of %d", table.Type.Key(), table.Total())
	}
	var got []string
	for i := range table.Len() {
		th := p.Threads[table.Thread[i]]
		got = append(got, fmt.Sprintf("%s/%s/%s %dms", th.Process, th.Name, th.ID, table.Time[i]/1e6))
	}
	if got, want := strings.Join(got, ", "), "i1/op/a 100ms, i1/op/a 110ms, i1/op/a 120ms, /b/b 1000ms"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if len(p.Markers) != 1 || p.Markers[0].Name != "GET:/a" || p.Markers[0].End != 500_000_000 {
		t.Errorf("markers %+v", p.Markers)
	}
	// A view of a range, from the first snapshot, shows the snapshots in it.
	v := calltree.NewViewer(p)
	shown, err := v.Show(calltree.View{Range: calltree.Range{Start: 0, End: 15_000_000}})
	if err != nil {
		t.Fatal(err)
	}
	if got := shown.RootTotal(); got != 20 {
		t.Errorf("%d ms in the range, want 20", got)
	}
}

// TestProfileOfAnything makes valid profiles of whatever clocks and agents say.
func TestProfileOfAnything(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		stacks := new(calltree.Forest)
		s := traceprof.Snapshots{Task: "t", Segment: "s", Stacks: stacks}
		if rapid.Bool().Draw(t, "samples") {
			s.Language = traceprof.GoProfiles
		}
		times := rapid.OneOf(rapid.Int64(), rapid.SampledFrom([]int64{0, math.MinInt64, math.MaxInt64}))
		for i := range rapid.IntRange(0, 5).Draw(t, "snapshots") {
			s.Sequence, s.Time = append(s.Sequence, int32(i)), append(s.Time, times.Draw(t, "time"))
			s.Path = append(s.Path, tracetest.Path(stacks, rapid.SliceOfN(rapid.StringMatching(`[a.:$ 0-9-]*|.*(\$sw\$original\$|\$auxiliary\$).*`),
				0, 4).Draw(t, "stack")...))
			if s.Language == traceprof.GoProfiles {
				s.Count, s.Nanos = append(s.Count, 1), append(s.Nanos, times.Draw(t, "nanos"))
			}
		}
		segments := map[string]*traceprof.Segment{"s": {ID: "s", Start: times.Draw(t, "start"), End: times.Draw(t, "end")}}
		p := traceprof.Profile(map[string]int64{"t": 10}, []traceprof.Snapshots{s}, segments)
		if err := p.Check(); err != nil {
			t.Fatal(err)
		}
		if p.Duration < 0 {
			t.Fatalf("duration %v", p.Duration)
		}
	})
}
