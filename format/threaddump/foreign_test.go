package threaddump

import (
	"regexp"
	"testing"

	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/test/readtest"
)

// TestForeign checks the spellings that have no line of HotSpot: how many threads and
// stacks there are, as grep counts them, and one of each kind of fact.
func TestForeign(t *testing.T) {
	for name, want := range map[string]struct {
		threads, empty int
		facts          []string
	}{
		"threadinfo-jdk17.txt": {9, 2, []string{`"stock-2" #13 BLOCKED .*lock=java.lang.Object@4617c264 owner=stock-1`, `"stock-1" .*holds=java.lang.Object@4617c264`, `Shop.take Shop.java:4`}},
		"jhsdb-jdk17.txt":      {8, 1, []string{`"stock-1" \d+ TIMED_WAITING .*holds=java.lang.Object@`, `Shop.take`}},
		"gdb-13.txt":           {3, 0, []string{`"pricing" 26657`, `price shop.c native:6`}},
		"jstack-F-jdk8.txt":    {3, 1, []string{`"" 4730 BLOCKED`, `shop.Stock.take`}},
		"anr.txt":              {5, 0, []string{`"main" 4711 of 4711 Blocked .*lock=java.lang.Object@0x0c1cf6b5 owner=stock`, `"main" 900 of 900 Native`, `art::DumpNativeStack`, `MainActivity.java:12`, `0x61aa0`}},
		"actuator.json.txt": {3, 1, []string{`"http-nio-8080-exec-1" #42 BLOCKED .*lock=java.lang.Object@4617c264`,
			`"stock" #43 .*holds=java.lang.Object@4617c264`, `java.lang.Thread.run java.base Thread.java:840`}},
	} {
		text := readtest.File(t, name)
		if !Sniff(text) {
			t.Errorf("%s is not recognised", name)
		}
		p := decode(t, string(text))
		empty := 0
		for _, st := range p.Tables[0].Stack {
			if st == profile.NoStack {
				empty++
			}
		}
		if p.Tables[0].Len() != want.threads || empty != want.empty {
			t.Errorf("%s: %d threads, %d without a stack", name, p.Tables[0].Len(), empty)
		}
		all := picture(p)
		for _, fact := range want.facts {
			if !regexp.MustCompile(fact).MatchString(all) {
				t.Errorf("%s: no %s in\n%s", name, fact, all)
			}
		}
	}
}

// TestRepeatedForeign reads two dumps of spellings without a first line: a thread that
// comes again begins the next one.
func TestRepeatedForeign(t *testing.T) {
	for _, name := range []string{"threadinfo-jdk17.txt", "gdb-13.txt", "jstack-F-jdk8.txt"} {
		text := string(readtest.File(t, name))
		once, twice := decode(t, text), decode(t, text+"\n"+text)
		if twice.Tables[0].Len() != 2*once.Tables[0].Len() || len(twice.Threads) != len(once.Threads) {
			t.Errorf("%s: %d and %d samples", name, once.Tables[0].Len(), twice.Tables[0].Len())
		}
	}
}

func TestNativeFrames(t *testing.T) {
	for text, want := range map[string]string{
		"#1  0x00007f2d in __GI___nanosleep (req=req@entry=0x7f, rem=0x7f) at ../sysdeps/nanosleep.c:25": "__GI___nanosleep ../sysdeps/nanosleep.c:25",
		"#0  price (n=5) at shop.c:6":                                          "price shop.c:6",
		"#2  0x00007f in poll () from /lib/libc.so.6":                          "poll libc.so.6",
		"#3  0x0000000000401240 in ?? ()":                                      "0x0000000000401240",
		"#4  std::function<void (int)>::operator() (this=0x1, x=(2)) at f.h:9": "std::function<void (int)>::operator() f.h:9",
		"#5  <signal handler called>":                                          "<signal handler called>",
		`#6  0x1 in log (text=0x1 "a (b") at log.c:3`:                          "log log.c:3",
		"#01 pc 0000000000061aa0  /system/lib64/libc.so (__epoll_pwait+8)":     "__epoll_pwait libc.so",
	} {
		f, ok := parseFrame([]byte(text))
		got := f.Function.Name
		if f.Function.File != "" {
			got += " " + f.Function.File + ":" + regexp.MustCompile(`\d+$`).FindString(text)
		}
		if f.Function.Module != "" {
			got += " " + f.Function.Module
		}
		if !ok || got != want {
			t.Errorf("%s is %q", text, got)
		}
	}
}
