package folded

import (
	"bytes"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/test/readtest"
)

// truth is what other tools say about a recording, see testdata/README.md.
type truth struct {
	file    string
	lines   int
	total   int64
	leaves  int    // distinct leaf frames, compile modes aside
	top     string // leaf with the largest self value
	topSelf int64
	share   string // of the total, in percent
	threads map[string]int64
}

var truths = []truth{
	{"ap29-cpu-threads-ann", 213, 456, 152, "shop/demo/ShopServer$Ledger.work", 159, "34.9",
		map[string]int64{`alloc worker; "quoted"`: 84, "pricing-1": 68, "ledger-1": 64, "C2 CompilerThre": 64}},
	{"ap29-multi.expect-alloc-total", 48, 692584448, 24, "byte[]", 434634752, "62.8", nil},
	{"ap29-multi.expect-alloc", 48, 1321, 24, "byte[]", 829, "62.8", nil},
	{"ap29-multi.expect-cpu", 164, 439, 145, "shop/demo/ShopServer$Ledger.work", 157, "35.8",
		map[string]int64{`alloc worker; "quoted"`: 84, "ledger-1": 69, "pricing-2": 65, "C2 CompilerThre": 56}},
	{"ap29-multi.expect-lock-total", 16, 5454993524, 4, "java.lang.Object", 3311388477, "60.7", nil},
	{"ap46-alloc-threads-ann", 75, 1348, 18, "byte[]", 880, "65.3",
		map[string]int64{`alloc worker; "quoted"`: 1261, "pricing-1": 40, "pricing-2": 39, "ledger-1": 4}},
	{"ap46-alloc-total", 64, 528744448, 20, "byte[]", 353632256, "66.9", nil},
	{"ap46-cpu-threads-ann", 268, 484, 181, "shop/demo/ShopServer$Ledger.work", 171, "35.3",
		map[string]int64{`alloc worker; "quoted"`: 77, "pricing-1": 73, "ledger-2": 65, "ledger-1": 60}},
	{"ap46-cpu-total", 232, 1712312279, 183, "shop/demo/ShopServer$Ledger.work", 365548436, "21.3", nil},
	{"ap46-cpu.expect-cpu-lines", 214, 483, 194, "shop/demo/ShopServer$Ledger.work:20", 124, "25.7", nil},
	{"ap46-cpu.expect-cpu-norm-dot", 210, 483, 190, "shop.demo.ShopServer$Ledger.work", 124, "25.7", nil},
	{"ap46-cpu.expect-cpu", 222, 483, 190, "shop/demo/ShopServer$Ledger.work", 124, "25.7",
		map[string]int64{`alloc worker; "quoted"`: 88, "pricing-1": 85, "pricing-2": 74, "C2 CompilerThre": 56}},
	{"ap46-itimer-plain", 200, 428, 155, "shop/demo/ShopServer$Ledger.work", 140, "32.7", nil},
	{"ap46-multi.expect-alloc-total", 47, 564133888, 16, "byte[]", 369098752, "65.4", nil},
	{"ap46-multi.expect-alloc", 47, 1076, 16, "byte[]", 704, "65.4", nil},
	{"ap46-multi.expect-cpu", 195, 458, 168, "shop/demo/ShopServer$Ledger.work", 149, "32.5",
		map[string]int64{"pricing-1": 71, `alloc worker; "quoted"`: 70, "C2 CompilerThre": 61, "pricing-2": 61}},
	{"ap46-multi.expect-lock-total", 18, 4755763550, 4, "java.lang.Object", 3115240325, "65.5", nil},
	{"ap46-multi.expect-wall", 155, 1075, 71, "__futex_abstimed_wait_common", 864, "80.4",
		map[string]int64{"Signal Dispatcher": 51, "Async-profiler Timer": 51, "java": 51, "DestroyJavaVM": 51}},
	{"ap46-wall-threads", 330, 2411, 149, "__futex_abstimed_wait_common", 1978, "82.0",
		map[string]int64{"java": 126, "Signal Dispatcher": 126, "Finalizer": 126, "Notification Thread": 126}},
	{"ap46-wall.expect-wall", 279, 2504, 147, "__futex_abstimed_wait_common", 1987, "79.4",
		map[string]int64{"java": 120, "DestroyJavaVM": 120, "Finalizer": 120, "Monitor Deflati": 120}},
}

func TestRecordings(t *testing.T) {
	shared := NewDecoder()
	symbols := profile.NewSymbols()
	for _, want := range truths {
		t.Run(want.file, func(t *testing.T) {
			text := readtest.File(t, want.file+".collapsed.gz")
			if !Sniff(text) {
				t.Error("not recognised")
			}
			p, err := shared.Decode(bytes.NewReader(text), symbols, profile.Limits{})
			if err != nil {
				t.Fatal(err)
			}
			checkTruth(t, p, want)
			if cold := decode(t, string(text)); cold.Hash(0) != p.Hash(0) {
				t.Error("a warm decoder reads something else")
			}
			if len(p.Warnings) > 0 {
				t.Errorf("warnings %q", p.Warnings)
			}
			if diff := cmp.Diff(addedLines(t, string(text)), addedLines(t, encode(t, p, -1))); diff != "" {
				t.Errorf("not written back as it was (-want +got):\n%s", diff)
			}
		})
	}
}

func checkTruth(t *testing.T, p *profile.Profile, want truth) {
	t.Helper()
	table := &p.Tables[0]
	if table.Len() != want.lines || table.Total() != want.total {
		t.Errorf("%d lines, total %d; want %d, %d", table.Len(), table.Total(), want.lines, want.total)
	}
	self := map[string]int64{}
	threads := map[string]int64{}
	for n, st := range table.Stack {
		f := p.Symbols.Frames[p.Symbols.Leaf(st)]
		f.Type = profile.FrameUnknown
		self[formatFrame(&p.Symbols.Functions[f.Function], f, true)] += table.Value[n]
		if table.Thread != nil {
			threads[p.Threads[table.Thread[n]].Name] += table.Value[n]
		}
	}
	if len(self) != want.leaves {
		t.Errorf("%d distinct leaves, want %d", len(self), want.leaves)
	}
	if got := self[want.top]; got != want.topSelf {
		t.Errorf("%s has self %d, want %d", want.top, got, want.topSelf)
	}
	if got := fmt.Sprintf("%.1f", 100*float64(self[want.top])/float64(table.Total())); got != want.share {
		t.Errorf("%s has %s %%, want %s", want.top, got, want.share)
	}
	for name, v := range self {
		if v > want.topSelf {
			t.Errorf("%s has self %d, more than %s", name, v, want.top)
		}
	}
	for name, v := range want.threads {
		if threads[name] != v {
			t.Errorf("thread %q has %d, want %d", name, threads[name], v)
		}
	}
	if want.threads == nil && table.Thread != nil {
		t.Errorf("threads %v", threads)
	}
}

// TestRecordedModes checks that compile modes, kinds and lines of a recording
// arrive.
func TestRecordedModes(t *testing.T) {
	p := decode(t, string(readtest.File(t, "ap46-cpu.expect-cpu-lines.collapsed.gz")))
	modes := map[profile.FrameType]int{}
	kinds := map[profile.Kind]int{}
	lines := 0
	for _, f := range p.Symbols.Frames {
		fn := p.Symbols.Functions[f.Function]
		modes[f.Type]++
		kinds[fn.Kind]++
		if f.Line > 0 {
			lines++
		}
		if strings.Contains(fn.Name, "_[") || fn.Kind == profile.KindJava && strings.Contains(fn.Name, ":") {
			t.Errorf("name %q", fn.Name)
		}
	}
	for _, m := range []profile.FrameType{profile.FrameUnknown, profile.FrameInterpreted, profile.FrameC1, profile.FrameJIT,
		profile.FrameInlined} {
		if modes[m] == 0 {
			t.Errorf("no frame of type %q", m)
		}
	}
	for _, k := range []profile.Kind{profile.KindJava, profile.KindCPP, profile.KindNative} {
		if kinds[k] == 0 {
			t.Errorf("no function of kind %s", k)
		}
	}
	if lines < 100 {
		t.Errorf("%d frames with lines", lines)
	}
	p = decode(t, string(readtest.File(t, "ap46-alloc-total.collapsed.gz")))
	for _, st := range p.Tables[0].Stack {
		if fn := p.Symbols.Functions[p.Symbols.Frames[p.Symbols.Leaf(st)].Function]; fn.Kind != profile.KindClass {
			t.Errorf("%s is of kind %s", fn.Name, fn.Kind)
		}
	}
}

func TestPythonRecording(t *testing.T) {
	text := string(readtest.File(t, "pyspy-raw.collapsed"))
	p := decode(t, text)
	if p.Tables[0].Len() != 11 || p.Tables[0].Total() != 250 {
		t.Errorf("%d lines, total %d", p.Tables[0].Len(), p.Tables[0].Total())
	}
	self := map[string]int64{}
	for n, st := range p.Tables[0].Stack {
		for ; st != profile.NoStack; st = p.Symbols.Parent(st) {
			f := p.Symbols.Frames[p.Symbols.Leaf(st)]
			fn := p.Symbols.Functions[f.Function]
			if fn.Kind != profile.KindPython || !strings.HasSuffix(fn.File, ".py") || f.Line == 0 || strings.Contains(fn.Name, "(") {
				t.Errorf("function %+v", fn)
			}
			if st == p.Tables[0].Stack[n] {
				self[fn.Name+" "+fn.File] += p.Tables[0].Value[n]
			}
		}
	}
	if self["hot_loop shop.py"] != 118 || self["sort_it shop.py"] != 59 {
		t.Errorf("self %v", self)
	}
	if got := encode(t, p, -1); sortedLines(got) != sortedLines(text) {
		t.Error("not written back as it was")
	}
}

func TestSmallRecording(t *testing.T) {
	checkDecode(t, string(readtest.File(t, "folded-async-profiler.txt")), `
			cpu-samples/count
				{main|1|} <Foo.main java jit> > <Foo.bar java inlined> > <malloc> > 3
				{worker|7|} <java/lang/Thread.run java interpreted> > <Foo.baz java c1> > <entry_SYSCALL_64 kernel kernel> > 2`)
}

// sampleNames returns all recordings in testdata.
func sampleNames(t testing.TB) []string {
	t.Helper()
	names, err := filepath.Glob("testdata/*ed*")
	if err != nil || len(names) < len(truths) {
		t.Fatalf("%d recordings, %v", len(names), err)
	}
	for i := range names {
		names[i] = filepath.Base(names[i])
	}
	slices.Sort(names)
	return names
}
