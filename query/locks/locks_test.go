package locks_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/format"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/query/locks"
	"github.com/dendroprof/dendro/table"
)

const head = "Full thread dump OpenJDK 64-Bit Server VM (17.0.15 mixed mode):\n\n"

// thread is a thread of a dump, blocked in a function that shop.main calls.
func thread(name, in string, locks ...string) string {
	text := "\"" + name + "\" #1 prio=5 os_prio=0 tid=0x01 nid=0x1 waiting for monitor entry  [0x0001]\n" +
		"   java.lang.Thread.State: BLOCKED (on object monitor)\n\tat " + in + "(Shop.java:10)\n"
	for _, l := range locks {
		text += "\t- " + l + "\n"
	}
	return text + "\tat shop.main(Shop.java:1)\n\n"
}

// TestLocks: threads in, locks out.
func TestLocks(t *testing.T) {
	const (
		wants60, has60 = "waiting to lock <0x60> (a A)", "locked <0x60> (a A)"
		wants70, has70 = "waiting to lock <0x70> (a B)", "locked <0x70> (a B)"
	)
	circle := thread("one", "java.lang.Object.hold", wants70, has60) + thread("two", "shop.pay", wants60, has70)
	for _, test := range []struct {
		name, text string
		known      bool
		want       string
	}{
		{"nobody", thread("one", "shop.pay"), false, "dendro: no thread holds a lock or waits for one"},
		{"a holder", thread("one", "java.lang.Object.hold", has60), true, `
waiting  lock    held by  state    in         waiting threads
      0  A@0x60  one      BLOCKED  shop.main`},
		{"a lock that nobody holds", thread("one", "shop.pay", wants60), true, `
waiting  lock    held by  state  in  waiting threads
      1  A@0x60                      one`},
		{"a circle", circle + thread("three", "shop.buy", wants70), true, `
deadlock 1: one waits for B@0x70, held by two, which waits for A@0x60, held by one
waiting  lock    held by  state    in         waiting threads
      2  B@0x70  two      BLOCKED  shop.pay   one, three
      1  A@0x60  one      BLOCKED  shop.main  two`},
		{"two dumps", circle + "2026-11-26 00:41:53\n" + head + circle + thread("three", "shop.buy", wants70), true, `
deadlock 1: one waits for B@0x70, held by two, which waits for A@0x60, held by one (in 2 of 2 dumps)
waiting  dumps  lock    held by  state    in         waiting threads
      2      2  B@0x70  two      BLOCKED  shop.pay   one, three
      1      2  A@0x60  one      BLOCKED  shop.main  two`},
		{"one dump of two", circle + thread("three", "shop.buy", wants70) + "2026-11-26 00:41:53\n" + head +
			thread("two", "shop.pay", has70) + thread("three", "shop.buy", wants70), true, `
deadlock 1: one waits for B@0x70, held by two, which waits for A@0x60, held by one (in 1 of 2 dumps)
waiting  dumps  lock    held by  state    in         waiting threads
      2      2  B@0x70  two      BLOCKED  shop.pay   one, three
      1      1  A@0x60  one      BLOCKED  shop.main  two`},
	} {
		dumps, known := locks.New(), false
		for d, err := range format.NewReader(profile.Limits{}).Read("a.tdump", strings.NewReader("2026-11-26 00:41:43\n"+head+test.text)) {
			if err != nil {
				t.Fatal(test.name, err)
			}
			v := calltree.NewViewer(d.Profile)
			shown, err := v.Show(calltree.View{Table: d.Profile.Default})
			if err != nil {
				t.Fatal(test.name, err)
			}
			own := make([]bool, len(shown.Functions))
			for i := range own {
				own[i] = strings.HasPrefix(shown.Functions[i].Name, "shop.")
			}
			known = dumps.Add(shown, v, own) || known
		}
		found := dumps.Locks()
		var b bytes.Buffer
		if err := found.Table().Print(&table.Output{W: &b, Err: &b, Format: "text"}); err != nil {
			t.Fatal(err)
		}
		if got := strings.TrimSpace(b.String()); known != test.known || got != strings.TrimSpace(test.want) {
			t.Errorf("%s: %t\n%s\nwant %t\n%s", test.name, known, got, test.known, strings.TrimSpace(test.want))
		}
	}
}
