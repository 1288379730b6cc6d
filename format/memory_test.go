package format_test

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/metrics"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/dendroprof/dendro/format"
	"github.com/dendroprof/dendro/profile"
)

// large is content of any size: head, then repeated body, then tail. Each body is
// one that a profiler writes for some samples. Where times rise, each writes the i-th.
type large struct {
	head, body, tail string
	each             func(i int) string
}

// reader returns size bytes of the content.
func (l large) reader(size int) io.Reader {
	if l.each != nil {
		pr, pw := io.Pipe()
		go func() {
			w := bufio.NewWriterSize(pw, 1<<20)
			n, _ := w.WriteString(l.head)
			for i := 0; n < size; i++ {
				m, _ := w.WriteString(l.each(i))
				n += m
			}
			w.WriteString(l.tail)
			w.Flush()
			pw.Close()
		}()
		return pr
	}
	n := max(1, (size-len(l.head)-len(l.tail))/len(l.body))
	body := strings.Repeat(l.body, min(n, 1+1<<20/len(l.body)))
	return io.MultiReader(strings.NewReader(l.head), &repeated{text: body, left: n / (len(body) / len(l.body)) * len(body)}, strings.NewReader(l.tail))
}

// repeated repeats a text up to a size.
type repeated struct {
	text     string
	at, left int
}

func (r *repeated) Read(b []byte) (int, error) {
	if r.left == 0 {
		return 0, io.EOF
	}
	n := copy(b[:min(len(b), r.left)], r.text[r.at:])
	r.at, r.left = (r.at+n)%len(r.text), r.left-n
	return n, nil
}

// frames returns n names of functions between separators.
func frames(n int, spell func(i int) string) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(spell(i))
	}
	return b.String()
}

// largeTexts are the formats whose memory does not depend on the number of samples, or
// by a few bytes per sample. Those with columns of JSON keep their columns.
var largeTexts = map[string]large{
	"folded":       {body: "[worker-1 tid=7];" + frames(30, func(i int) string { return fmt.Sprintf("shop/demo/Ledger.step%d_[j];", i) }) + "leaf 1\n"},
	"folded short": {body: "a;b;c 1\n"},
	"perfscript": {body: "java 100/101 [002] 10.000100: 1000 cycles:\n" +
		frames(10, func(i int) string { return fmt.Sprintf("\t7f00%04x step%d+0x10 (/usr/lib/libshop.so)\n", i, i) }) + "\n"},
	"threaddump": {body: "2024-05-01 10:00:00\nFull thread dump OpenJDK 64-Bit Server VM (17.0.1):\n\n" +
		frames(5, func(t int) string {
			return fmt.Sprintf("\"worker-%d\" #%d prio=5 os_prio=0 cpu=1.20ms elapsed=3.00s tid=0x0001 nid=0x1 runnable [0x1]\n   java.lang.Thread.State: RUNNABLE\n", t, t) +
				frames(10, func(i int) string { return fmt.Sprintf("\tat shop.Ledger.step%d(Ledger.java:%d)\n", i, i) }) + "\n"
		})},
	"goroutine": {body: "goroutine 24 [chan receive]:\n" + frames(10, func(i int) string { return fmt.Sprintf("main.step%d(...)\n\tshop/main.go:%d\n", i, i) }) + "\n"},
	"goroutine counts": {head: "goroutine profile: total 1\n", body: "1 @ 0x1 0x2\n" +
		frames(10, func(i int) string { return fmt.Sprintf("#\t0x%x\tmain.step%d+0x1\tshop/main.go:%d\n", i, i, i) }) + "\n"},
	"pyspy": {head: "Process 1: python shop.py\nPython v3.11.2 (/usr/bin/python3)\n\n", body: "Thread 12 (active): \"pricing\"\n" +
		frames(10, func(i int) string { return fmt.Sprintf("    step%d (shop.py:%d)\n", i, i) }) + "\n"},
	"austin": {head: "# austin: 3.7.0\n# mode: full\n\n", body: "P1;T0:2;" + frames(30, func(i int) string { return fmt.Sprintf("/srv/shop/shop.py:step%d:%d;", i, i) }) + "x.py:leaf:3 10,0,-5\n"},
	"rprof": {head: "memory profiling: line profiling: sample.interval=10000\n#File 1: /srv/shop.R\n", body: ":1:2:30:4:" +
		frames(10, func(i int) string { return fmt.Sprintf("1#%d \"step%d\" ", i+1, i) }) + "\n"},
	"callgrind": {head: "# callgrind format\nevents: Ir\n", body: "fn=(1) main\n1 10\ncfn=(2) step\ncalls=1 1\n2 30\nfn=(2)\n3 30\n"},
	"speedscope": {head: `{"$schema":"https://www.speedscope.app/file-format-schema.json","shared":{"frames":[{"name":"a"},{"name":"b"},{"name":"c"}]},` +
		`"profiles":[{"type":"sampled","name":"t","unit":"none","startValue":0,"endValue":1,"samples":[`, body: "[0,1,2,0,1,2,0,1,2,0,1,2,0,1,2,0,1,2],", tail: `[0]]}]}`},
	"speedscope evented": {head: `{"$schema":"https://www.speedscope.app/file-format-schema.json","shared":{"frames":[{"name":"a"},{"name":"b"},{"name":"c"}]},` +
		`"profiles":[{"type":"evented","name":"t","unit":"milliseconds","startValue":0,"endValue":1e9,"events":[`,
		each: func(i int) string {
			return fmt.Sprintf(`{"type":"O","frame":0,"at":%d},{"type":"O","frame":1,"at":%d.25},{"type":"C","frame":1,"at":%d.5},{"type":"C","frame":0,"at":%d.75},`, i, i, i, i)
		}, tail: `{"type":"O","frame":0,"at":900000000},{"type":"C","frame":0,"at":900000001}]}]}`},
	"chrome": {head: `[`, each: func(i int) string {
		return fmt.Sprintf(`{"name":"step","cat":"function","ph":"X","ts":%d.5,"dur":0.25,"pid":1,"tid":2,"args":{"url":"https://shop.example/cart?item=1234"}},`+"\n", 1_000_000+i)
	}, tail: `{"name":"end","ph":"X","ts":1,"dur":1,"pid":1,"tid":2}]`},
}

// heapPeak runs f and returns the largest size of the heap meanwhile, garbage included.
func heapPeak(f func()) int64 {
	heap := func() int64 {
		s := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
		metrics.Read(s)
		return int64(s[0].Value.Uint64())
	}
	runtime.GC()
	before, peak := heap(), int64(0)
	stop, done := make(chan bool), make(chan bool)
	go func() {
		defer close(done)
		for {
			peak = max(peak, heap())
			select {
			case <-stop:
				return
			case <-time.After(time.Millisecond):
			}
		}
	}()
	f()
	close(stop)
	<-done
	return peak - before
}

// TestMemory reads content of 32 MiB of each text format. DENDRO_TEST_MEMORY_MB sets
// another size.
func TestMemory(t *testing.T) {
	size, most := 32<<20, int64(200<<20)
	if mb, err := strconv.Atoi(os.Getenv("DENDRO_TEST_MEMORY_MB")); err == nil {
		size, most = mb<<20, 300<<20
	}
	for name, content := range largeTexts {
		t.Run(name, func(t *testing.T) {
			began := time.Now()
			var samples int64
			peak := heapPeak(func() {
				for d, err := range format.NewReader(profile.Limits{Sums: true}).Read(name, content.reader(size)) {
					if err != nil {
						t.Fatal(err)
					}
					samples = d.Profile.Tables[0].Count()
				}
			})
			t.Logf("%d MiB heap, %d samples, %.0f MB/s", peak>>20, samples, float64(size)/1e6/time.Since(began).Seconds())
			if peak > most {
				t.Errorf("a heap of %d MiB for %d MiB", peak>>20, size>>20)
			}
			if samples < 2 && name != "callgrind" {
				t.Errorf("%d samples", samples)
			}
		})
	}
}
