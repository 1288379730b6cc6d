package format_test

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"runtime"
	"runtime/metrics"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/dendroprof/dendro/format"
	"github.com/dendroprof/dendro/profile"
)

// large is content of any size: head, then repeated body, then tail. Each body is
// one that a profiler writes for some samples. Where times rise, each writes the i-th.
// Formats in columns have a second one, behind middle, with as many bodies.
type large struct {
	head, body, tail string
	each             func(i int) string
	middle, second   string
	column           int // memory grows with the content: at most that many bytes for each of it; 0: it does not
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
	n := max(1, (size-len(l.head)-len(l.tail))/(len(l.body)+len(l.second)))
	column := func(text string) io.Reader {
		block := min(n, 1+1<<20/len(l.body))
		return &repeated{text: strings.Repeat(text, block), left: n / block * block * len(text)}
	}
	return io.MultiReader(strings.NewReader(l.head), column(l.body), strings.NewReader(l.middle), column(l.second), strings.NewReader(l.tail))
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
	"folded": {body: "[worker-1 tid=7];" + frames(30, func(i int) string { return fmt.Sprintf("shop/demo/Ledger.step%d_[j];", i) }) +
		"leaf 1\n"},
	"folded short": {body: "a;b;c 1\n"},
	"perfscript": {body: "java 100/101 [002] 10.000100: 1000 cycles:\n" +
		frames(10, func(i int) string { return fmt.Sprintf("\t7f00%04x step%d+0x10 (/usr/lib/libshop.so)\n", i, i) }) + "\n"},
	"threaddump": {body: "2024-05-01 10:00:00\nFull thread dump OpenJDK 64-Bit Server VM (17.0.1):\n\n" +
		frames(5, func(t int) string {
			return fmt.Sprintf("\"worker-%d\" #%d prio=5 os_prio=0 cpu=1.20ms elapsed=3.00s tid=0x0001 nid=0x1 runnable [0x1]\n   java.lang.Thread.State: RUNNABLE\n", t, t) +
				frames(10, func(i int) string { return fmt.Sprintf("\tat shop.Ledger.step%d(Ledger.java:%d)\n", i, i) }) + "\n"
		})},
	"goroutine": {body: "goroutine 24 [chan receive]:\n" + frames(10,
		func(i int) string { return fmt.Sprintf("main.step%d(...)\n\tshop/main.go:%d\n", i, i) }) + "\n"},
	"goroutine counts": {head: "goroutine profile: total 1\n", body: "1 @ 0x1 0x2\n" +
		frames(10, func(i int) string { return fmt.Sprintf("#\t0x%x\tmain.step%d+0x1\tshop/main.go:%d\n", i, i, i) }) + "\n"},
	"pyspy": {head: "Process 1: python shop.py\nPython v3.11.2 (/usr/bin/python3)\n\n", body: "Thread 12 (active): \"pricing\"\n" +
		frames(10, func(i int) string { return fmt.Sprintf("    step%d (shop.py:%d)\n", i, i) }) + "\n"},
	"austin": {head: "# austin: 3.7.0\n# mode: full\n\n",
		body: "P1;T0:2;" + frames(30, func(i int) string { return fmt.Sprintf("/srv/shop/shop.py:step%d:%d;", i, i) }) + "x.py:leaf:3 10,0,-5\n"},
	"rprof": {head: "memory profiling: line profiling: sample.interval=10000\n#File 1: /srv/shop.R\n", body: ":1:2:30:4:" +
		frames(10, func(i int) string { return fmt.Sprintf("1#%d \"step%d\" ", i+1, i) }) + "\n"},
	"callgrind": {head: "# callgrind format\nevents: Ir\n", body: "fn=(1) main\n1 10\ncfn=(2) step\ncalls=1 1\n2 30\nfn=(2)\n3 30\n"},
	"speedscope": {head: `{"$schema":"https://www.speedscope.app/file-format-schema.json","shared":{"frames":[{"name":"a"},{"name":"b"},{"name":"c"}]},` +
		`"profiles":[{"type":"sampled","name":"t","unit":"none","startValue":0,"endValue":1,"samples":[`, body: "[0,1,2,0,1,2,0,1,2,0,1,2,0,1,2,0,1,2],", tail: `[0]]}]}`},
	"speedscope evented": {column: 2, head: `{"$schema":"https://www.speedscope.app/file-format-schema.json","shared":{"frames":[{"name":"a"},{"name":"b"},{"name":"c"}]},` +
		`"profiles":[{"type":"evented","name":"t","unit":"milliseconds","startValue":0,"endValue":1e9,"events":[`,
		each: func(i int) string {
			return fmt.Sprintf(`{"type":"O","frame":0,"at":%d},{"type":"O","frame":1,"at":%d.25},{"type":"C","frame":1,"at":%d.5},{"type":"C","frame":0,"at":%d.75},`, i, i, i, i)
		}, tail: `{"type":"O","frame":0,"at":900000000},{"type":"C","frame":0,"at":900000001}]}]}`},
	"chrome": {head: `[`, each: func(i int) string {
		return fmt.Sprintf(`{"name":"step","cat":"function","ph":"X","ts":%d.5,"dur":0.25,"pid":1,"tid":2,"args":{"url":"https://shop.example/cart?item=1234"}},`+"\n", 1_000_000+i)
	}, tail: `{"name":"end","ph":"X","ts":1,"dur":1,"pid":1,"tid":2}]`},
	"cpuprofile": {column: 8, head: `{"nodes":[{"id":1,"callFrame":{"functionName":"(root)","scriptId":"0","url":"","lineNumber":-1,"columnNumber":-1},"children":[2]},` +
		`{"id":2,"callFrame":{"functionName":"step","scriptId":"1","url":"a.js","lineNumber":1,"columnNumber":1}}],"startTime":0,"endTime":9,"samples":[`,
		body: "2,1,2,2,", middle: `2],"timeDeltas":[`, second: "125,130,99,201,", tail: `1]}`},
	"firefox": {column: 12, head: `{"meta":{"preprocessedProfileVersion":57,"interval":1,"startTime":0,"categories":[{"name":"Other","color":"grey","subcategories":["Other"]}],"markerSchema":[]},` +
		`"shared":{"stringArray":["A","B","C"]},"threads":[{"name":"t","funcTable":{"name":[0,1,2],"isJS":[false,false,false],"relevantForJS":[false,false,false],"resource":[-1,-1,-1]},` +
		`"frameTable":{"func":[0,1,2]},"stackTable":{"frame":[0,1,2],"prefix":[null,0,0]},"samples":{"stack":[`,
		body: "0,1,2,2,", middle: `0],"timeDeltas":[`, second: "1.25,1,0.99,1.01,", tail: `1]}}]}`},
	"gecko": {column: 6, head: `{"meta":{"version":30,"interval":1,"startTime":0,"categories":[{"name":"Other","color":"grey","subcategories":["Other"]}]},"threads":[{"name":"t","processType":"default","pid":1,"tid":1,` +
		`"stringTable":["A","B"],"frameTable":{"schema":{"location":0,"relevantForJS":1,"innerWindowID":2,"implementation":3,"line":4,"column":5,"category":6,"subcategory":7},"data":[[0],[1]]},` +
		`"stackTable":{"schema":{"prefix":0,"frame":1},"data":[[null,0],[0,1]]},"markers":{"schema":{"name":0,"startTime":1,"endTime":2,"phase":3,"category":4,"data":5},"data":[]},` +
		`"samples":{"schema":{"stack":0,"time":1,"eventDelay":2},"data":[`,
		each: func(i int) string { return fmt.Sprintf("[1,%d.5,0.25],", i) }, tail: `[0,2000000000,0]]}}]}`},
	"otlp": {column: 6, head: `{"resourceProfiles":[{"scopeProfiles":[{"profiles":[{"sampleType":{"typeStrindex":1,"unitStrindex":2},"samples":[`,
		body: `{"stackIndex":1,"values":["1"],"timestampsUnixNano":["1795216842000000100"]},`,
		tail: `{"stackIndex":1,"values":["1"]}]}]}]}],"dictionary":{"stringTable":["","cpu","nanoseconds","main"],"functionTable":[{},{"nameStrindex":3}],"locationTable":[{},{"lines":[{"functionIndex":1}]}],"stackTable":[{},{"locationIndices":[1]}]}}`},
	"hermes": {column: 6, head: `{"traceEvents":[],"samples":[`, each: func(i int) string {
		return fmt.Sprintf(`{"cpu":"-1","name":"","ts":"%d","pid":7512,"tid":"1","weight":"1","sf":1},`, 11552125241+i*10000)
	}, tail: `{"cpu":"-1","name":"","ts":"99911552125241","pid":7512,"tid":"1","weight":"1","sf":1}],"stackFrames":{"1":{"name":"[root]","category":"root"}}}`},
	"sentry": {column: 6, head: `{"version":"1","platform":"node","event_id":"a","profile":{"frames":[{"function":"main","filename":"app.js"},{"function":"work","filename":"app.js"}],"stacks":[[1,0],[0]],"samples":[`,
		each: func(i int) string {
			return fmt.Sprintf(`{"stack_id":%d,"thread_id":"0","elapsed_since_start_ns":"%d"},`, i%2, i*10_000_000)
		}, tail: `{"stack_id":1,"thread_id":"0","elapsed_since_start_ns":"9000000000000000"}]}}`},
	"dart": {column: 6, head: `{"type":"CpuSamples","samplePeriod":1000,"functions":[{"kind":"Dart","function":{"name":"main"}},{"kind":"Dart","function":{"name":"total"}}],"samples":[`,
		each: func(i int) string { return fmt.Sprintf(`{"tid":7,"timestamp":%d,"stack":[%d,0]},`, 1000*i, i%2) },
		tail: `{"tid":7,"timestamp":900000000000,"stack":[0]}]}`},
	"hierarchy": {head: `{"name":"root","value":0,"children":[`, body: `{"name":"main","value":10,"children":[{"name":"parse","value":6},{"name":"render","value":4}]},`, tail: `{"name":"end","value":1}]}`},
	"memray":    {head: "allocator,num_allocations,size,tid,thread_name,stack_trace\n", body: "MALLOC,2,3000,1,0x1,load;/srv/shop/cart.py;12|main;/srv/shop/app.py;4\nCALLOC,1,500,1,0x1,main;/srv/shop/app.py;5\n"},
	"phpspy":    {body: "0 Cart::total /srv/shop/Cart.php:12\n1 <main> /srv/shop/index.php:4\n# trace_ts = 1700000000.25\n\n"},
	"safari": {head: `{"version":1,"recording":{"displayName":"r","startTime":4,"endTime":6,"instrumentTypes":[],"records":[],"markers":[],"sampleStackTraces":[`, each: func(i int) string {
		return fmt.Sprintf(`{"timestamp":%d.5,"stackFrames":[{"sourceID":"8","name":"gamma","line":20,"column":15,"url":"file:///simple.js","expressionLocation":{"line":22,"column":19}}]},`, 4+i)
	}, tail: `{"timestamp":900000000,"stackFrames":[]}],"sampleDurations":[]}}`},
	"pyinstrument": {column: 6, head: `{"start_time":1795217221.8,"duration":1.06,"sample_count":234,"target_description":"shop","cpu_time":0.3,"root_frame":{"function":"<module>","file_path_short":"shop.py","file_path":"/srv/shop/shop.py","line_no":1,"time":1000,"children":[`,
		body: `{"function":"step","file_path_short":"shop.py","file_path":"/srv/shop/shop.py","line_no":18,"time":0.000001,"await_time":0.000000,"is_application_code":true,"children":[]},`,
		tail: `{"function":"last","file_path_short":"shop.py","file_path":"/srv/shop/shop.py","line_no":18,"time":1,"children":[]}]}}`},
	"pprof": {column: 2, head: "\x0a\x04\x08\x01\x10\x02", body: "\x12\x06\x0a\x01\x01\x12\x01\x05",
		tail: "\x22\x06\x08\x01\x22\x02\x08\x01\x2a\x04\x08\x01\x10\x03\x32\x00\x32\x03cpu\x32\x0bnanoseconds\x32\x04main"},
	"stackprof": {column: 14, head: `{"version":1.2,"mode":"wall","interval":1000,"samples":87,"gc_samples":3,"missed_samples":1,"metadata":{},"frames":{"7":{"name":"Shop#fib","file":"/srv/shop/shop.rb","line":8,"total_samples":35,"samples":35}},"raw":[`,
		body: "3,7,7,7,1,", tail: `1,7,1]}`},
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
			if peak > most+int64(content.column*size) { // most are the rows before they are summed
				t.Errorf("a heap of %d MiB for %d MiB", peak>>20, size>>20)
			}
			if samples < 2 && name != "callgrind" {
				t.Errorf("%d samples", samples)
			}
		})
	}
}

// BenchmarkDecodeTexts has a row for each of these readers.
func BenchmarkDecodeTexts(b *testing.B) {
	for _, name := range slices.Sorted(maps.Keys(largeTexts)) {
		content, err := io.ReadAll(largeTexts[name].reader(4 << 20))
		if err != nil {
			b.Fatal(err)
		}
		b.Run("format="+name, func(b *testing.B) {
			b.SetBytes(int64(len(content)))
			for b.Loop() {
				for _, err := range format.NewReader(profile.Limits{Sums: true}).Read(name, bytes.NewReader(content)) {
					if err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
}

// TestMaxMemoryOfColumns reads content of the formats that keep columns with less memory than they
// need.
func TestMaxMemoryOfColumns(t *testing.T) {
	for name, content := range largeTexts {
		if content.column == 0 || name == "pprof" { // whose message is bounded by --max-message
			continue
		}
		t.Run(name, func(t *testing.T) {
			in := content.reader(1 << 30)
			for _, err := range format.NewReader(profile.Limits{Sums: true, Memory: 56 << 20}).Read(name, in) {
				if !errors.Is(err, profile.ErrTooLarge) || !strings.Contains(err.Error(), "--max-memory") {
					t.Error(err)
				}
			}
			if pipe, ok := in.(io.Closer); ok {
				pipe.Close()
			}
		})
	}
}
