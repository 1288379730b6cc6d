package perfscript

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/test/readtest"
)

// recorded are the real texts in testdata.
var recorded = []string{"perf-script.txt.gz", "perf-script-short.txt.gz", "perf-script-node.txt.gz"}

func text(tb testing.TB, name string) string {
	tb.Helper()
	return string(readtest.File(tb, name))
}

func decode(text string) (*profile.Profile, error) {
	return NewDecoder().Decode(strings.NewReader(text), nil, profile.Limits{})
}

func mustDecode(tb testing.TB, text string) *profile.Profile {
	tb.Helper()
	p, err := decode(text)
	if err != nil {
		tb.Fatal(err)
	}
	return p
}

// rows draws the samples of a profile: type, thread, labels, time, value and
// stack, outermost first.
func rows(p *profile.Profile) (list []string) {
	for i := range p.Tables {
		t := &p.Tables[i]
		for n, v := range t.Value {
			var b strings.Builder
			fmt.Fprintf(&b, "%s %d", t.Type.Key(), v)
			if t.Time != nil {
				fmt.Fprintf(&b, " @%d", t.Time[n])
			}
			if t.Thread != nil {
				th := p.Threads[t.Thread[n]]
				fmt.Fprintf(&b, " %s|%s|%s", th.Name, th.Process, th.ID)
			}
			if t.Labels != nil {
				for _, l := range p.LabelSets[t.Labels[n]] {
					fmt.Fprintf(&b, " %s=%d", l.Key, l.Num)
				}
			}
			b.WriteString(":")
			for _, id := range p.Symbols.Path(t.Stack[n], nil) {
				fr := p.Symbols.Frames[id]
				fn := p.Symbols.Functions[fr.Function]
				fmt.Fprintf(&b, " %s", fn.Name)
				if fn.Module != "" {
					fmt.Fprintf(&b, "(%s)", fn.Module)
				}
				if fn.File != "" {
					fmt.Fprintf(&b, "(%s:%d)", fn.File, fr.Line)
				}
				if fr.InlineDepth > 0 {
					fmt.Fprintf(&b, "+%d", fr.InlineDepth)
				}
			}
			list = append(list, b.String())
		}
	}
	return list
}

func TestTexts(t *testing.T) {
	const head = "app 7/8 [003] 10.000001:  5 cycles:u: "
	for _, tt := range []struct {
		name, text string
		want       []string
	}{
		{"default", "db writer 14 2433.389768:    50 cpu-clock: \n\t 1b84 post+0x14 (/srv/mix)\n\t 891f5 main+0x1 (/lib/libc.so.6)\n\n" +
			"db writer 14 2433.389769:    50 cpu-clock: \n\t 1b85 post+0x15 (/srv/mix)\n\n",
			[]string{"cpu/nanoseconds@50nanoseconds 50 @0 db writer||14: main(libc.so.6) post(mix)", "cpu/nanoseconds@50nanoseconds 50 @1000 db writer||14: post(mix)"}},
		{"pid, tid, processor", head + "\n\t10 a+0x1 ([kernel.kallsyms])\n\n", []string{"cycles/count 5 @0 app|7|8 cpu=3: a([kernel.kallsyms])"}},
		{"events apart", head + "\n\t10 a (/x)\n\n" + strings.Replace(head, "cycles:u", "instructions", 1) + "\n\t10 a (/x)\n\n" +
			strings.Replace(head, "cycles:u", "cycles", 1) + "\n\t10 b (/x)\n",
			[]string{"cycles/count 5 @0 app|7|8 cpu=3: a(x)", "instructions/count 5 @0 app|7|8 cpu=3: a(x)",
				"cycles-samples/count 5 @0 app|7|8 cpu=3: b(x)"}},
		{"no periods", "app 8 1.0: cycles: \n\t10 a (/x)\n\napp 8 2.5: cpu-clock: \n\t10 a (/x)\n",
			[]string{"cycles-samples/count 1 @0 app||8: a(x)", "cpu-samples/count 1 @1500000000 app||8: a(x)"}},
		{"no time", "my app 8  50 cycles: \n\t10 a (/x)\n\nmy app 8 cycles: \n\t10 a (/x)\n\n50 cycles:\n\t10 a\n",
			[]string{"cycles/count 50 my app||8: a(x)", "cycles/count 50 ||: a", "cycles-samples/count 1 my app||8: a(x)"}},
		{"no head", "\t10 a (/x)\n\t20 main (/x)\n\n\t10 b (/x)\n", []string{"cpu-samples/count 1: main(x) a(x)", "cpu-samples/count 1: b(x)"}},
		{"name alone", "my app \n\t10 a (/x)\n", []string{"cpu-samples/count 1 my app||: a(x)"}},
		{"name and id", "my app 12 \n\t10 a (/x)\n", []string{"cpu-samples/count 1 my app||12: a(x)"}},
		{"no stack", head + "\n\n" + head + "\n\t10 a (/x)\n",
			[]string{"cycles/count 5 @0 app|7|8 cpu=3: (no stack)", "cycles/count 5 @0 app|7|8 cpu=3: a(x)"}},
		{"in the head line", "              dd  8 1.0:  5 cycles:  ffff00 a b+0x1 (/x)\n              dd  8 1.5:  5 cycles:  ffff00 a (/x)\n",
			[]string{"cycles/count 5 @0 dd||8: a b(x)", "cycles/count 5 @500000000 dd||8: a(x)"}},
		{"trace point", "app 8 1.0: sched:sched_switch: prev_comm=app prev_pid=8 ==> next_comm=x\n\t10 schedule ([kernel.kallsyms])\n\n", []string{"sched:sched_switch-samples/count 1 @0 app||8: schedule([kernel.kallsyms])"}},
		{"address of the event", "app 8 1.0: 3 page-faults: 7f00 x\n\t10 a (/x)\n\n", []string{"page-faults/count 3 @0 app||8: a(x)"}},
		{"comments", "# ========\n# captured on    : Tue Nov 10 12:00:00 2026\n# perf version : 6.1.187\n# ========\n#\n" + head + "\n\t10 a (/x)\n", []string{"cycles/count 5 @0 app|7|8 cpu=3: a(x)"}},
		{"spelled lines", "app 8 1.0: 5 cycles/u: \r\n\t10 operator()(int (*)(char), x) const+0x12 (/a b/x (deleted))\r\n\t20 f(int)\r\n\t30 [unknown] ([unknown])\r\n\t40 \r\n\r\n",
			[]string{"cycles/u/count 5 @0 app||8: 0x40 [unknown] f(int) operator()(int (*)(char), x) const(x)"}},
		{"sources", "app 8 1.0: 5 cycles: \n\t10 a+0x1 (/x)\n  a.cpp:12\n\t20 b (/x)\n  b+12\n\t30 c (/x)\n\n", []string{"cycles/count 5 @0 app||8: c(x) b(x) a(x)(a.cpp:12)"}},
		{"inlined", head + "\n\t10 c (inlined)\n\t10 b (inlined)\n\t10 a+0x5 (/x)\n\t20 main (/y)\n\n" + head + "\n\t10 b (inlined)\n\t10 a+0x5 (/z)\n\n",
			[]string{"cycles/count 5 @0 app|7|8 cpu=3: main(y) a(x) b(x)+1 c(x)+2", "cycles/count 5 @0 app|7|8 cpu=3: a(z) b(z)+1"}},
		{"chains", head + "\n\t10 La;::x->Lb;::y->Lc;::z+0x4 (/tmp/perf-7.map)\n\t20 p::operator->() (/x)\n\t30 p::operator->()->b (/tmp/perf-7.map)\n\n" + head + "\n\t10 La;::x->Lb;::y->Lc;::z+0x4 (/tmp/perf-7.map)\n\n",
			[]string{"cycles/count 5 @0 app|7|8 cpu=3: p::operator->()->b(perf-7.map) p::operator->()(x) La;::x(perf-7.map) Lb;::y(perf-7.map)+1 Lc;::z(perf-7.map)+2",
				"cycles/count 5 @0 app|7|8 cpu=3: La;::x(perf-7.map) Lb;::y(perf-7.map)+1 Lc;::z(perf-7.map)+2"}},
		{"other records", "app 7/8 1.0: PERF_RECORD_MMAP2 7/8: [0x1(0x2) @ 0]: r-xp /x\n" + head + "\n\t10 a (/x)\n", []string{"cycles/count 5 @0 app|7|8 cpu=3: a(x)"}},
		{"strange names", "a: 1.5: b 8 2.5:  5 cycles: \n\t10 a (/x)\n\n:-1 -1/-1 2.5: 5 cycles: \n\t10 a (/x)\n", []string{"cycles/count 5 @0 a: 1.5: b||8: a(x)", "cycles/count 5 @0 :-1|-1|-1: a(x)"}},
		{"messages of perf", "WARNING: no kernel map\n" + head + "\n\t10 a (/x)\n\nWARNING: something odd\n" + head +
			"\n\t10 a (/x)\n\nerror: more\n\n" + head + "\n\t10 b (/x)\n",
			[]string{"cycles/count 5 @0 app|7|8 cpu=3: a(x)", "cycles/count 5 @0 app|7|8 cpu=3: a(x)", "cycles/count 5 @0 app|7|8 cpu=3: b(x)"}},
		{"nothing", "# nothing\n", nil},
	} {
		p, err := decode(tt.text)
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		if diff := cmp.Diff(tt.want, rows(p)); diff != "" {
			t.Errorf("%s: %s", tt.name, diff)
		}
		vague := map[string]bool{"no head": true, "name alone": true, "name and id": true, "nothing": true}
		if Sniff([]byte(tt.text)) == vague[tt.name] {
			t.Errorf("%s: recognised %v", tt.name, !vague[tt.name])
		}
	}
}

func TestHead(t *testing.T) {
	p := mustDecode(t, "# captured on    : Tue Nov 10 12:00:00 2026\n# perf version : 6.1.187\n# cmdline : /usr/bin/perf record -g ./mix\n"+
		"app 8 1.0: 10 cpu-clock: \n\t10 a (/x)\n\napp 8 3.0: PERF_RECORD_LOST lost 5\napp 8 3.5: 10 cpu-clock: \n\t10 a")
	if p.ProfilerVersion != "6.1.187" || p.Start.Format(time.RFC3339) != "2026-11-10T12:00:00Z" || p.Duration != 2500*time.Millisecond ||
		p.Interval != 10 ||
		!cmp.Equal(p.Comments, []string{"/usr/bin/perf record -g ./mix"}) {
		t.Errorf("%+v", p)
	}
	var warnings []string
	for _, w := range p.Warnings {
		warnings = append(warnings, w.String())
	}
	want := []string{"line 7: an event that is no sample was left out", "line 9: the text ends within a line: its last sample may be cut"}
	if diff := cmp.Diff(want, warnings); diff != "" {
		t.Error(diff)
	}
}

// TestReport compares self times per process and symbol with what perf report
// printed of the same recording.
func TestReport(t *testing.T) {
	p := mustDecode(t, text(t, "perf-script.txt.gz"))
	s := &p.Tables[0]
	if len(p.Tables) != 1 || s.Len() != 469 || s.Total() != 2356783625 || s.Type.Key() != "cpu/nanoseconds@5025125nanoseconds" {
		t.Fatalf("%d tables, %d samples, %d of %s", len(p.Tables), s.Len(), s.Total(), s.Type.Key())
	}
	self := map[string]int64{}
	for i, v := range s.Value {
		fr := p.Symbols.Frames[p.Symbols.Leaf(s.Stack[i])]
		mode := "[.]"
		if fr.Type == profile.FrameKernel {
			mode = "[k]"
		}
		self[p.Threads[s.Thread[i]].Name+" "+mode+" "+p.Symbols.Functions[fr.Function].Name] += v
	}
	f, err := os.Open("testdata/perf-report.expect.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	row := regexp.MustCompile(`^ +([0-9.]+)%  (.*?) +(\[.\]) (.*)$`)
	n := 0
	for sc := bufio.NewScanner(f); sc.Scan(); {
		m := row.FindStringSubmatch(sc.Text())
		if m == nil {
			continue
		}
		n++
		key := m[2] + " " + m[3] + " " + strings.TrimSpace(m[4])
		if got := fmt.Sprintf("%.2f", 100*float64(self[key])/float64(s.Total())); got != m[1] {
			t.Errorf("%s: %s %%, want %s", key, got, m[1])
		}
		delete(self, key)
	}
	if n < 25 || len(self) > 0 {
		t.Errorf("%d rows compared, left over: %v", n, self)
	}
}

// naive reads the default fields with regular expressions.
func naive(text string) (list []string) {
	head := regexp.MustCompile(`^(.*?) +(\d+) +(\d+)\.(\d{6}): +(?:(\d+) )?cpu-clock: $`)
	frame := regexp.MustCompile(`^\s+[0-9a-f]+ (.*?)(?:\+0x[0-9a-f]+)?(?: \(([^()]*)\))?$`)
	first := int64(-1)
	for record := range strings.SplitSeq(strings.TrimSpace(text), "\n\n") {
		lines := strings.Split(record, "\n")
		h := head.FindStringSubmatch(lines[0])
		s, _ := strconv.ParseInt(h[3], 10, 64)
		us, _ := strconv.ParseInt(h[4], 10, 64)
		at := s*1e9 + us*1000
		if first < 0 {
			first = at
		}
		what := "cpu-samples/count 1"
		if h[5] != "" {
			what = "cpu/nanoseconds@" + h[5] + "nanoseconds " + h[5]
		}
		stack := ""
		for _, l := range lines[1:] {
			m := frame.FindStringSubmatch(l)
			name := m[1]
			if m[2] != "" {
				name += "(" + m[2][strings.LastIndexByte(m[2], '/')+1:] + ")"
			}
			stack = " " + name + stack
		}
		list = append(list, fmt.Sprintf("%s @%d %s||%s:%s", what, at-first, h[1], h[2], stack))
	}
	return list
}

func TestAgainstNaive(t *testing.T) {
	for _, name := range recorded {
		text := text(t, name)
		got, want := rows(mustDecode(t, text)), naive(text)
		for i := range want {
			want[i] = strings.ReplaceAll(want[i], "[unknown]([unknown])", "[unknown]")
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if !Sniff([]byte(text)) {
			t.Errorf("%s is not recognised", name)
		}
	}
}

// TestWarm reads texts one after the other: what is remembered changes nothing.
func TestWarm(t *testing.T) {
	d, s := NewDecoder(), profile.NewSymbols()
	for range 2 {
		for _, name := range recorded {
			text := text(t, name)
			p, err := d.Decode(strings.NewReader(text), s, profile.Limits{})
			if err != nil {
				t.Fatal(err)
			}
			if p.Hash(0) != mustDecode(t, text).Hash(0) {
				t.Errorf("%s reads differently", name)
			}
		}
	}
}

func TestErrors(t *testing.T) {
	const good = "app 8 1.0: 5 cycles: \n\t10 a (/x)\n\n"
	for _, tt := range []struct {
		name, text string
		limits     profile.Limits
		is         error
		line       int
		offset     int64
	}{
		{"no header", good + "what is this\nand what this\n", profile.Limits{}, profile.ErrMalformed, 4, 34},
		{"frame without a record", good + "\t10 a (/x)\n\t10 a (/x)\n", profile.Limits{}, profile.ErrMalformed, 4, 34},
		{"source without a frame", "app 8 1.0: 5 cycles: \n  a.cpp:12\n  a.cpp:13\n", profile.Limits{}, profile.ErrMalformed, 2, -2},
		{"nothing about it", "app\n\n", profile.Limits{}, profile.ErrMalformed, 2, -2},
		{"period", "app 8 1.0: 99999999999999999999 cycles: \n\t10 a (/x)\n\n", profile.Limits{}, profile.ErrMalformed, 1, 0},
		{"sum", strings.Repeat("app 8 1.0: 5999999999999999999 cycles: \n\t10 a (/x)\n\n", 2), profile.Limits{}, profile.ErrMalformed, 6, -2},
		{"depth", "app 8 1.0: 5 cycles: \n" + strings.Repeat("\t10 a (/x)\n", 11), profile.Limits{Depth: 10}, profile.ErrTooLarge, 12, -2},
		{"long line", good + "app " + strings.Repeat("x", 100), profile.Limits{Line: 50}, profile.ErrTooLarge, 4, -2},
	} {
		p, err := NewDecoder().Decode(strings.NewReader(tt.text), nil, tt.limits)
		var pe *profile.ParseError
		if p != nil || !errors.As(err, &pe) || !errors.Is(err, tt.is) || pe.Line != tt.line || tt.offset != -2 && pe.Offset != tt.offset {
			t.Errorf("%s: %#v %v", tt.name, err, err)
		}
	}
	var many strings.Builder
	for i := range maxEvents + 1 {
		fmt.Fprintf(&many, "app 8 1.0: 5 e%d: \n\n", i)
	}
	if _, err := decode(many.String()); !errors.Is(err, profile.ErrMalformed) {
		t.Errorf("too many events: %v", err)
	}
}

// TestOddLines reads texts in which a line is of something else.
func TestOddLines(t *testing.T) {
	for _, text := range []string{
		"app 8 1.0: 5 cycles: \n\t10 a (/x)\n\nLost 17 events!\n\napp 8 2.0: 5 cycles: \n\t10 a (/x)\n\n",
		"app 8 1.0: 5 cycles: \n instruction trace error\n\t10 a (/x)\n\napp 8 2.0: 5 cycles: \n\t10 a (/x)\n\n",
	} {
		p := mustDecode(t, text)
		if p.Tables[0].Total() != 10 || len(p.Warnings) != 1 || p.Warnings[0].Line == 0 {
			t.Errorf("%q: %d, %v", text, p.Tables[0].Total(), p.Warnings)
		}
	}
}

// TestTabs reads what simpleperf's report_sample.py prints, with tabs for blanks.
func TestTabs(t *testing.T) {
	const text = "Gecko\t25122 [007] 115539.936601:\t\t1000000 task-clock:u:\n" +
		"        b3cea6c4\tLock::unlock() (/system/lib/libc.so)\n        b3cea535\tmain (/system/bin/app)\n\n" +
		"Gecko\t25122 [007] 115539.946601:\t\t2000000 task-clock:u:\n        b3cea535\tmain (/system/bin/app)\n\n"
	if !Sniff([]byte(text)) {
		t.Error("not recognised")
	}
	p := mustDecode(t, text)
	costs := readtest.Costs(p, 0)
	if costs["main"] != (readtest.Cost{Self: 2_000_000, Total: 3_000_000}) || costs["Lock::unlock()"].Self != 1_000_000 ||
		p.Threads[1].Name != "Gecko" {
		t.Error(costs, p.Threads)
	}
}

func TestSniffOthers(t *testing.T) {
	for _, text := range []string{
		"", "\n", "a;b 1\n", "# comment\n", "It was: a dark\n and stormy: night\n", "2026-11-21 12:00:00.5: x 1: y\n", `{"a": 1.5: }`,
		"goroutine 1 [running]:\nmain.main()\n\t/x/y.go:12 +0x1d\n",
		"[worker tid=7];a;b 12\n[worker tid=7];a 1\n", "Full thread dump\n\"main\" #1\n",
	} {
		if Sniff([]byte(text)) {
			t.Errorf("%q is taken for perf script", text)
		}
	}
}

// TestFixedPeriod reads samples that do not repeat the period which `perf record -c` gave
// their event. A frequency is no period.
func TestFixedPeriod(t *testing.T) {
	event := func(name, period string) string {
		return "# event : name = " + name + ", , id = { 5, 6 }, type = 1, { sample_period, sample_freq } = " + period + ", sample_type = IP, inherit = 1\n"
	}
	got := mustDecode(t, "# ========\n"+event("cpu-clock", "1000000")+event("cycles", "99, freq = 1")+
		"a 1 1.5: cpu-clock: \n\t1a f (x)\n\na 1 1.6: cycles: \n\t1a f (x)\n\na 1 1.7: cpu-clock: \n\t1a f (x)\n")
	var types []string
	for i := range got.Tables {
		types = append(types, fmt.Sprintf("%s %d", got.Tables[i].Type.Key(), got.Tables[i].Total()))
	}
	if diff := cmp.Diff([]string{"cpu/nanoseconds@1000000nanoseconds 2000000", "cycles-samples/count 1"}, types); diff != "" {
		t.Error(diff)
	}
}

// TestHeader reads what `perf script --header` prints: the comments change nothing in
// the samples, though some of them end in a colon as events do.
func TestHeader(t *testing.T) {
	with := text(t, "perf-script-header.txt.gz")
	at := strings.LastIndex(with, "\n#") + 3
	got, want := mustDecode(t, with), mustDecode(t, with[at:])
	if len(got.Tables) != 1 || got.Tables[0].Len() < 20 || got.ProfilerVersion == "" || got.Start.IsZero() {
		t.Errorf("%d tables, version %q, start %s", len(got.Tables), got.ProfilerVersion, got.Start)
	}
	if diff := cmp.Diff(rows(want), rows(got)); diff != "" {
		t.Error(diff)
	}
	for _, comment := range []string{
		"# captured on: Thu Aug 17 14:14:43 2017", "# pmu mappings: cpu = 4, software = 1", "# missing features: TRACING_DATA", "#",
		"# 1 2.5: x:", "#1.5: a:",
	} {
		p := mustDecode(t, comment+"\n"+with[at:])
		if diff := cmp.Diff(rows(want), rows(p)); diff != "" {
			t.Errorf("%q: %s", comment, diff)
		}
	}
	if p := mustDecode(t, "#1 7 1.5: cycles:\n\t1a f (x)\n"); len(p.Threads) != 2 || p.Tables[0].Len() != 1 {
		t.Errorf("a process called #1: %v, %d samples", p.Threads, p.Tables[0].Len())
	}
}

// TestNoIndent reads frames that lost the blanks in front of them.
func TestNoIndent(t *testing.T) {
	const record = "java 19983 cycles:\nffffffff8103d0ca native_write_msr ([kernel.kallsyms])\n7f01 start (/usr/lib/libjvm.so)\n\n"
	if !Sniff([]byte(record)) {
		t.Error("not recognised")
	}
	if diff := cmp.Diff([]string{"cycles-samples/count 1 java||19983: start(libjvm.so) native_write_msr([kernel.kallsyms])"}, rows(mustDecode(t, record))); diff != "" {
		t.Error(diff)
	}
}
