package threaddump

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/test/readtest"
)

// states counts the samples of each state.
func states(p *profile.Profile) map[string]int {
	n := map[string]int{}
	for _, s := range p.Tables[0].State {
		n[p.States[s]]++
	}
	return n
}

// TestStatesAreWhatGrepCounts counts the state lines of every sample of HotSpot
// with a regular expression.
func TestStatesAreWhatGrepCounts(t *testing.T) {
	line := regexp.MustCompile(`(?m)^ +java\.lang\.Thread\.State: (\w+)`)
	header := regexp.MustCompile(`(?m)^.*tid=0x.*nid=|^ +Mounted|(?m)^.*tid=0x.* {2}\[0x`)
	for _, name := range samples(t) {
		text := readtest.File(t, name)
		want := map[string]int{}
		for _, m := range line.FindAllSubmatch(text, -1) {
			want[string(m[1])]++
		}
		if len(want) == 0 {
			continue
		}
		t.Run(name, func(t *testing.T) {
			p := decode(t, string(text))
			got := states(p)
			got["RUNNABLE"] += got[string(inNativeWait)]
			for state, n := range want {
				if got[state] != n {
					t.Errorf("%d samples %s, want %d", got[state], state, n)
				}
			}
			if n := len(header.FindAll(text, -1)); p.Tables[0].Len() != n {
				t.Errorf("%d samples of %d threads", p.Tables[0].Len(), n)
			}
		})
	}
}

// TestSections reads dumps one after the other. A date holds until another dump has one; the
// process and the locks are of one dump only, as jcmd writes them above each.
func TestSections(t *testing.T) {
	thread := func(cpu string) string {
		return "Full thread dump V (1 x):\n\n\"a\" #1 prio=5 cpu=" + cpu + "ms tid=0x1 nid=7 waiting\n   java.lang.Thread.State: BLOCKED (x)\n\tat m.F.f(F.java:3)\n\t- waiting to lock <0x5> (a X)\n\n"
	}
	p := decode(t, "12:\n2026-11-20 23:24:18\n"+thread("10")+"\"b\" #2 prio=5 tid=0x2 nid=8 runnable\n\tat m.F.g(F.java:4)\n\t- locked <0x5> (a X)\n\n12:\n"+thread("15")+"12:\n2026-11-20 23:24:20\n"+thread("25"))
	table := &p.Tables[0]
	if want := []int64{0, 0, 0, 2e9}; !cmp.Equal(want, table.Time) {
		t.Errorf("times %v, want %v", table.Time, want)
	}
	var got []string
	for row := range table.Stack {
		set := p.LabelSets[table.Labels[row]]
		got = append(got, fmt.Sprint(p.Threads[table.Thread[row]], len(set)))
	}
	if want := []string{"{a 7 12 } 4", "{b 8 12 } 2", "{a 7 12 } 3", "{a 7 12 } 3"}; !cmp.Equal(want, got) {
		t.Errorf("threads and labels %v, want %v", got, want)
	}
	if p.Tables[1].Total() != 15_000_000 {
		t.Errorf("processor time %d", p.Tables[1].Total())
	}
}

// TestTruths checks what is known of the recorded program beforehand.
func TestTruths(t *testing.T) {
	for _, name := range []string{"jstack-jdk17.txt.gz", "jstack-jdk25.txt.gz", "jstack-l-e-jdk25.txt.gz", "dump_to_file-jdk25.json.gz"} {
		t.Run(name, func(t *testing.T) {
			text := readtest.File(t, name)
			p, err := NewDecoder().Decode(bytes.NewReader(text), nil, profile.Limits{})
			if err != nil {
				t.Fatal(err)
			}
			picture := picture(p)
			for _, want := range []string{
				`"holder" \S+ (of \d+ )?TIMED_WAITING .*holds=java.lang.Object@`,
				`"blocked-1" .*BLOCKED .*lock=java.lang.Object@\S+ owner=holder`,
				`"blocked-3" .*BLOCKED .*owner=holder`,
				`"waiter \\"inbox\\" #7" .*WAITING .*lock=java.lang.Object@`,
				`"parker" .*WAITING .*lock=java.util.concurrent.locks.ReentrantLock\$NonfairSync@`,
				`"dead-A" .*BLOCKED .*owner=dead-B`,
				`"dead-B" .*BLOCKED .*owner=dead-A`,
				`"spinner" \S+ (of \d+ )?RUNNABLE`,
				`    shop.demo.Stuck.spin Stuck.java:20`,
			} {
				if !regexp.MustCompile(want).MatchString(picture) {
					t.Errorf("no %s", want)
				}
			}
			if jstack := strings.HasPrefix(name, "jstack"); jstack != strings.Contains(picture, "deadlock=1") {
				t.Error("deadlock")
			}
		})
	}
	x4 := decode(t, string(readtest.File(t, "threadprint-x4-jdk17.txt.gz")))
	perDump := map[int64]int{}
	for _, at := range x4.Tables[0].Time {
		perDump[at/1e9]++
	}
	if diff := cmp.Diff(map[int64]int{0: 28, 1: 28, 2: 28, 3: 28}, perDump); diff != "" {
		t.Errorf("samples by second:\n%s", diff)
	}
	if len(x4.Tables) != 2 || x4.Tables[1].Type.Name != profile.CPU {
		t.Error("four dumps with cpu= give no table cpu")
	}
}

const oneThread = `2026-11-20 23:24:18
Full thread dump OpenJDK 64-Bit Server VM (25.0.3 mixed mode):

"a" #1 [7] prio=5 os_prio=0 cpu=%sms elapsed=5s tid=0x01 nid=7 runnable  [0x02]
   java.lang.Thread.State: RUNNABLE
	at shop.Work.run(Work.java:%d)

`

func TestProcessorTime(t *testing.T) {
	text := ""
	for i, cpu := range []string{"1.00", "2.50", "2.50", "0.25", "1000.26"} {
		text += strings.Replace(fmt.Sprintf(oneThread, cpu, i+1), "23:24:18", fmt.Sprintf("23:24:%d", 18+i), 1)
	}
	p := decode(t, text)
	var got []string
	s := &p.Tables[1]
	for i := range s.Stack {
		got = append(got, fmt.Sprintf("%dns at %ds line %d", s.Value[i], s.Time[i]/1e9, p.Symbols.Frames[p.Symbols.Leaf(s.Stack[i])].Line))
	}
	// Nothing in the third dump; in the fourth it is another thread of that name.
	if diff := cmp.Diff([]string{"1500000ns at 1s line 2", "1000010000ns at 4s line 5"}, got); diff != "" {
		t.Error(diff)
	}
	if one := decode(t, fmt.Sprintf(oneThread, "1.00", 1)); len(one.Tables) != 1 {
		t.Error("one dump gives processor time")
	}
}

// TestCarrierTime checks that what a carrier used goes to the stack it carried.
func TestCarrierTime(t *testing.T) {
	dump := func(second int, cpu string, body string) string {
		return fmt.Sprintf("2026-11-20 23:24:%02d\nFull thread dump X (1 mixed mode):\n\n\"c\" #1 [7] daemon prio=5 cpu=%sms tid=0x01  [0x02]\n%s\n", second, cpu, body)
	}
	carry := func(n int) string {
		return fmt.Sprintf("   Carrying virtual thread #%d\n\tat a.Carrier.run(C.java:1)\n   Mounted virtual thread #%d\n\tat b.Work%d.run(W.java:2)\n", n, n, n)
	}
	p := decode(t, dump(1, "1", carry(7))+dump(2, "3", carry(8))+dump(3, "4", "   java.lang.Thread.State: WAITING (parking)\n\tat a.Carrier.park(C.java:9)\n"))
	s := &p.Tables[1]
	var got []string
	for i := range s.Stack {
		f := p.Symbols.Functions[p.Symbols.Frames[p.Symbols.Leaf(s.Stack[i])].Function]
		got = append(got, fmt.Sprintf("%d %s %s", s.Value[i], p.Threads[s.Thread[i]].Name, f.Name))
	}
	if diff := cmp.Diff([]string{"2000000 c b.Work8.run", "1000000 c a.Carrier.park"}, got); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(map[string]int{"CARRYING": 2, "MOUNTED": 2, "WAITING": 1}, states(p)); diff != "" {
		t.Error(diff)
	}
}

func TestErrors(t *testing.T) {
	deep := "Full thread dump X (1):\n\n\"a\" #1 tid=0x1 nid=1 runnable\n" + strings.Repeat("\tat a.B.c(B.java:1)\n", 11)
	for _, c := range []struct {
		name, text string
		limits     profile.Limits
		want       error
		message    string
	}{
		{"empty", "", profile.Limits{}, profile.ErrMalformed, "there is no thread dump in it"},
		{"log", "a\n\tat b.C.d(C.java:1)\n", profile.Limits{}, profile.ErrMalformed, "line 2: malformed: there is no thread dump in it"},
		{"deep", deep, profile.Limits{Depth: 10}, profile.ErrTooLarge, "line 14: stack deeper than 10"},
		{"long", deep, profile.Limits{Line: 20}, profile.ErrTooLarge, "line 1: line longer than 20"},
		{"JSON cut", `{"threadDump": {"threadContainers": [{"threads": [{"tid": 1`, profile.Limits{}, profile.ErrMalformed, "byte"},
		{"JSON without frames", `{"threadDump": {"threadContainers": [{"threads": [{"stack": ["x"]}]}]}}`, profile.Limits{}, profile.ErrMalformed, "not a frame"},
		{"other JSON", `{"a": 1}`, profile.Limits{}, profile.ErrMalformed, "there is no thread dump"},
	} {
		_, err := NewDecoder().Decode(strings.NewReader(c.text), nil, c.limits)
		readtest.Refused(t, c.name, err, c.want, c.message)
	}
	if _, err := NewDecoder().Decode(strings.NewReader(deep), nil, profile.Limits{Depth: 11}); err != nil {
		t.Error(err)
	}
}

// TestCollector adds dumps to a profile that has threads, states and samples of
// its own, as the reader of recordings does.
func TestCollector(t *testing.T) {
	p := profile.New(nil)
	p.Start = time.Unix(1000, 0)
	p.Threads = append(p.Threads, profile.Thread{Name: "other"})
	p.States = append(p.States, "STATE_RUNNABLE")
	p.Tables = []profile.Samples{{Type: profile.NamedType(profile.CPUSamples)}}
	c := NewCollector(p, profile.Limits{})
	for i := range 3 {
		if err := c.Add(fmt.Sprintf(oneThread, fmt.Sprint(i*2), i+1), time.Unix(1005+int64(i), 0)); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.Add("no dump", time.Unix(2000, 0)); !errors.Is(err, profile.ErrMalformed) {
		t.Errorf("no dump: %v", err)
	}
	c.Finish()
	if err := p.Check(); err != nil {
		t.Fatal(err)
	}
	if !p.Start.Equal(time.Unix(1000, 0)) || len(p.Tables) != 3 {
		t.Fatalf("start %v, %d tables", p.Start, len(p.Tables))
	}
	if diff := cmp.Diff([]int64{5e9, 6e9, 7e9}, p.Tables[1].Time); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]int64{2e6, 2e6}, p.Tables[2].Value); diff != "" {
		t.Error(diff)
	}
	if name := p.Threads[p.Tables[1].Thread[0]].Name; name != "a" {
		t.Errorf("thread %q", name)
	}
}

// TestDumpsWithoutDates keeps the order of dumps that do not tell when they were
// taken.
func TestDumpsWithoutDates(t *testing.T) {
	undated := strings.SplitN(fmt.Sprintf(oneThread, "1", 1), "\n", 2)[1]
	p := decode(t, undated+undated)
	if s := &p.Tables[0]; s.Len() != 2 || s.Time != nil || !p.Start.IsZero() {
		t.Errorf("%d samples, times %v, start %v", s.Len(), s.Time, p.Start)
	}
	p = decode(t, undated+fmt.Sprintf(oneThread, "1", 1)+undated)
	if diff := cmp.Diff([]int64{0, 0, 0}, p.Tables[0].Time); diff != "" || p.Start.IsZero() {
		t.Errorf("start %v: %s", p.Start, diff)
	}
}

func TestSniff(t *testing.T) {
	for _, text := range []string{
		"2026\nlog\nFull thread dump X (1 mixed mode):\n",
		`"a" #1 prio=5 os_prio=0 tid=0x00 nid=0x1 runnable [0x1]`,
		"1\n2026-11-20T20:04:06.9Z\n3\n\n#1 \"main\"\n",
		" {\n \"threadDump\": {",
	} {
		if !Sniff([]byte(text)) {
			t.Errorf("not recognised: %q", text)
		}
	}
	for _, text := range []string{"", "{}", "# 1 \"a\"", "#1 \"a\"\n", "#1 a", "how to read a Full thread dump X (1)", "Full thread dumps",
		`"a" #1`, "a;b 3\n"} {
		if Sniff([]byte(text)) {
			t.Errorf("recognised: %q", text)
		}
	}
}

// TestNobodyOwnsWhatItWaitsFor has the keys of JSON in an unusual order.
func TestNobodyOwnsWhatItWaitsFor(t *testing.T) {
	p := decode(t, `{"threadDump": {"threadContainers": [{"threads": [
		{"tid": 1, "name": "a", "monitorsOwned": [{"locks": ["x.Y@1"]}], "waitingOn": "x.Y@1"}]}]}}`)
	if got := picture(p); strings.Contains(got, "owner=") {
		t.Error(got)
	}
}

// TestTornHeaders has headers whose name never ends, before threads that are whole.
func TestTornHeaders(t *testing.T) {
	const head = "Full thread dump X (1 mixed mode):\n\n"
	const whole = "\"b\" #2 tid=0x1 nid=2 runnable\n   java.lang.Thread.State: RUNNABLE\n\tat b.C.d(C.java:1)\n"
	for _, torn := range []string{"\"a\n", "\"a\n\n", "\"a\nb\n" + strings.Repeat("x", 5000) + "\n", "#1 \"a\n", "#1 \"a\n\n"} {
		p := decode(t, head+torn+whole)
		if n := states(p)["RUNNABLE"]; n != 1 || p.Tables[0].Len() != 1 || len(p.Warnings) != 1 {
			t.Errorf("%.20q: %d samples, %v", torn, p.Tables[0].Len(), p.Warnings)
		}
	}
}

// TestLayout reads dumps with other line ends, and without indentation, as mails
// and tickets show them.
func TestLayout(t *testing.T) {
	for _, name := range samples(t) {
		if !strings.Contains(name, ".txt") || strings.HasPrefix(name, "javacore") {
			continue
		}
		text := string(readtest.File(t, name))
		want := picture(decode(t, text))
		if got := picture(decode(t, strings.ReplaceAll(text, "\n", "\r\n"))); got != want {
			t.Errorf("%s with CRLF: %s", name, cmp.Diff(want, got))
		}
		if got := picture(decode(t, regexp.MustCompile(`(?m)^[ \t]+`).ReplaceAllString(text, ""))); got != want {
			t.Errorf("%s without indentation: %s", name, cmp.Diff(want, got))
		}
	}
}

// TestStackRange reads headers of JDK 5 on HP-UX, whose range of addresses is no part of the
// state.
func TestStackRange(t *testing.T) {
	const dump = `Full thread dump [1 3 15 14:48:56 KST 2008] (Java HotSpot(TM) Server VM 1.5.0 mixed mode):

"w13" prio=10 tid=60000000044e3840 nid=1194 lwp_id=9992026 runnable [9fffffffb6f00000..9fffffffb6f00a40]
	at java.net.SocketInputStream.socketRead0(Native Method)

"gc" prio=8 tid=60000000000c1a40 nid=10 in Object.wait() [0x9fff..0x9ffff]
	at java.lang.Object.wait(Native Method)
`
	p, err := NewDecoder().Decode(strings.NewReader(dump), nil, profile.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(p.States[1:], ","); got != "runnable,in Object.wait()" {
		t.Errorf("states %q", got)
	}
}

// TestOwnerOfDeadlock reads who holds a synchronizer from the list of deadlocks: without
// jstack -l the threads do not say it.
func TestOwnerOfDeadlock(t *testing.T) {
	thread := func(name, nid, wants string) string {
		return `"` + name + `" #14 prio=5 os_prio=0 cpu=0.20ms elapsed=3.52s tid=0x00007f85d011ae30 nid=` + nid + ` waiting on condition  [0x00007f859d4fb000]
   java.lang.Thread.State: WAITING (parking)
	at jdk.internal.misc.Unsafe.park(java.base@17.0.15/Native Method)
	- parking to wait for  <` + wants + `> (a java.util.concurrent.locks.ReentrantLock$NonfairSync)
	at Dead.reserve(Dead.java:11)

`
	}
	p := decode(t, `2026-11-26 00:41:43
Full thread dump OpenJDK 64-Bit Server VM (17.0.15+6-Debian-1deb12u1 mixed mode, sharing):

`+thread("reserve-1", "0x22e2", "0x000000069ec1aa08")+thread("reserve-2", "0x22e3", "0x000000069ec1a9d8")+thread("other", "0x22e4",
		"0x000000069ec1ffff")+`
Found one Java-level deadlock:
=============================
"reserve-1":
  waiting for ownable synchronizer 0x000000069ec1aa08, (a java.util.concurrent.locks.ReentrantLock$NonfairSync),
  which is held by "reserve-2"

"reserve-2":
  waiting for ownable synchronizer 0x000000069ec1a9d8, (a java.util.concurrent.locks.ReentrantLock$NonfairSync),
  which is held by "reserve-1"

Java stack information for the threads listed above:
===================================================
"reserve-1":
	at jdk.internal.misc.Unsafe.park(java.base@17.0.15/Native Method)

Found 1 deadlock.
`)
	owners := map[string]string{}
	s := &p.Tables[0]
	for i := range s.Len() {
		for _, l := range p.LabelSets[s.Tags(i).Labels] {
			if l.Key == profile.LabelOwner {
				owners[p.Threads[s.Thread[i]].Name] = l.Text
			}
		}
	}
	if diff := cmp.Diff(map[string]string{"reserve-1": "reserve-2", "reserve-2": "reserve-1"}, owners); diff != "" {
		t.Error(diff)
	}
}
