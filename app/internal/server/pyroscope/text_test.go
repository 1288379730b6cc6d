package pyroscope

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/dendroprof/dendro/app/internal/server"
	"github.com/dendroprof/dendro/continuous"
	"github.com/dendroprof/dendro/continuous/intake"
	"github.com/dendroprof/dendro/internal/wire"
	"github.com/dendroprof/dendro/store/mem"
	"github.com/dendroprof/dendro/test/readtest"
)

// preorder encodes nodes: name, value, children.
func preorder(list ...any) []byte {
	var b []byte
	for i := 0; i < len(list); i += 3 {
		name := list[i].(string)
		b = append(binary.AppendUvarint(b, uint64(len(name))), name...)
		b = binary.AppendUvarint(b, uint64(list[i+1].(int)))
		b = binary.AppendUvarint(b, uint64(list[i+2].(int)))
	}
	return b
}

func TestText(t *testing.T) {
	const window = "&from=1795622600&until=1795622610&spyName=x"
	for _, c := range []struct{ name, query, contentType, body, want string }{
		{"groups", "name=app&sampleRate=100", "", "a;b 2\na;b;c 1\n", `
process_cpu:cpu:nanoseconds:cpu:nanoseconds{service_name="app",pyroscope_spy="x"}
  a;b 20000000
  a;b;c 10000000`},
		{"folded", "name=app.cpu&format=folded&sampleRate=0", "", "a;b 2\n", `
process_cpu:cpu:nanoseconds:cpu:nanoseconds{service_name="app",pyroscope_spy="x"}
  a;b 2`},
		{"lines", "name=my.app.alloc_space%7Ba=b%7D&format=lines", "", "a;b\na;b\r\n\na", `
memory:alloc_space:bytes::{service_name="my.app",a="b",pyroscope_spy="x"}
  a 1
  a;b 2`},
		{"unknown type", "name=my.app&sampleRate=1000000000", "", "a;b 3\n", `
process_cpu:cpu:nanoseconds:cpu:nanoseconds{service_name="my.app",pyroscope_spy="x"}
  a;b 3`},
		{"requests", "name=app.requests", "", "requests 1200\n", `
requests:requests:count::{service_name="app",pyroscope_spy="x"}
  requests 1200`},
		{"tree", "name=app.mutex_duration&format=tree", "", string(preorder("", 0, 2, "a", 1, 1, "b", 2, 0, "c", 4, 0)), `
mutex:delay:nanoseconds::{service_name="app",pyroscope_spy="x"}
  a 1
  a;b 2
  c 4`},
		{"trie", "name=app.inuse_objects", "binary/octet-stream+trie",
			string(preorder("", 0, 1, "ma", 0, 2, "in;wo", 0, 2, "rk", 1, 0, "od", 2, 0, "p", 4, 0)), `
memory:inuse_objects:count::{service_name="app",pyroscope_spy="x"}
  main;wood 2
  main;work 1
  map 4`},
		{"speedscope", "name=app.seconds&format=speedscope", "", speedscopeFile, `
wall:wall:nanoseconds::{service_name="app",pyroscope_spy="x"}
  a 2000000
  a;b 3000000`},
		{"speedscope with its own unit", "name=app&format=speedscope", "", speedscopeFile, `
wall:wall:nanoseconds::{service_name="app",pyroscope_spy="x"}
  a 2000000
  a;b 3000000`},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, intake.Options{Now: func() time.Time { return time.Unix(1795622700, 0) }})
			w.accepted(w.post("/ingest?"+c.query+window, c.contentType, []byte(c.body)))
			got := strings.ReplaceAll(w.stored(), " [] 16:03:20.000 .. 16:03:30.000", "")
			w.same(got, c.want)
		})
	}
}

// TestTextPeriod: where values count samples, what a sample stands for is known, as of pprof files;
// with values in nanoseconds it is not.
func TestTextPeriod(t *testing.T) {
	w := newWorld(t, intake.Options{})
	const day = "&from=1795622600&until=1795622610"
	for _, c := range []struct{ name, rate, service, want string }{
		{"rated", "&sampleRate=100", "rated", "cpu 10000000 nanoseconds"},
		{"usual.wall", "", "usual", "wall 10000000 nanoseconds"},
		{"unscaled", "&sampleRate=1000000000", "unscaled", " 0 "},
		{"heap.inuse_space", "", "heap", " 0 "},
	} {
		w.accepted(w.post("/ingest?name="+c.name+c.rate+day, "", []byte("a;b 2\n")))
		merged, err := w.st.Tree(t.Context(), continuous.Query{
			Matchers: []continuous.Matcher{{Name: continuous.ServiceLabel, Op: continuous.Equal, Value: c.service}}})
		if err != nil {
			t.Fatal(err)
		}
		typ := merged.Tree.Type
		if got := fmt.Sprint(typ.PeriodName, " ", typ.Period, " ", typ.PeriodUnit); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

const speedscopeFile = `{"$schema":"https://www.speedscope.app/file-format-schema.json","shared":{"frames":[{"name":"a"},{"name":"b"}]},
"profiles":[{"type":"sampled","name":"p","unit":"milliseconds","startValue":0,"endValue":5,"samples":[[0],[0,1]],"weights":[2,3]}]}`

func TestDamagedText(t *testing.T) {
	w := newWorld(t, intake.Options{})
	long := preorder("", 0, 1)
	for range 20_000 {
		long = append(long, preorder(strings.Repeat("x", 50), 1, 1)...)
	}
	for name, body := range map[string][]byte{
		"tree":       preorder("", 0, 2, "a", 1, 0),
		"trie":       long,
		"speedscope": []byte("{"),
		"groups":     []byte("a;b x\n"),
		"jfr":        []byte("FLR"),
	} {
		if out := w.post("/ingest?name=a&format="+name, "", body); out.Code != 400 {
			t.Errorf("%s: %d %s", name, out.Code, out.Body)
		}
	}
	if got := w.stored(); got != "" {
		t.Errorf("stored:\n%s", got)
	}
}

// TestJava: a recording with the labels of its contexts, as the agent sends it.
func TestJava(t *testing.T) {
	w := newWorld(t, intake.Options{Now: func() time.Time { return time.Unix(1795622800, 0) }})
	recording, err := os.ReadFile("../../../../format/jfr/testdata/ap46-multi.jfr.gz")
	if err != nil {
		t.Fatal(err)
	}
	r := recorded(t, "java")[0]
	contentType, body := form("jfr", string(recording), "labels", string(readtest.Gzip(snapshot())))
	w.accepted(w.post("/ingest?"+query(r), contentType, body))
	got := w.stored()
	for _, want := range []string{
		`process_cpu:cpu:nanoseconds:cpu:nanoseconds{service_name="rec.java.app",pyroscope_spy="javaspy",region="eu-1",service_version="1.2.3"} [otel.scope.name=com.grafana.pyroscope/java otel.scope.version=2.9.2 process.runtime.name=OpenJDK Runtime Environment process.runtime.version=17.0.15+6-Debian-1deb12u1] 16:05:38.000 .. 16:05:47.000`,
		"memory:alloc_in_new_tlab_bytes:bytes:space:bytes{", "memory:alloc_in_new_tlab_objects:count:space:bytes{",
		"mutex:contentions:count:mutex:count{", "mutex:delay:nanoseconds:mutex:count{",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%s is not in\n%.3000s", want, got)
		}
	}
	contexts, err := readContexts(snapshot(), func(int64) error { return nil })
	if err != nil || len(contexts) != 1 || fmt.Sprint(contexts[7]) != "[{controller checkout 0 } {{\"x\"} <b> 0 }]" {
		t.Errorf("contexts %v, %v", contexts, err)
	}
}

// snapshot is a LabelsSnapshot: context 7 has two labels.
func snapshot() []byte {
	entry := func(key uint64, value []byte) []byte { return append(wire.AppendInt(nil, 1, key), value...) }
	var b []byte
	for i, text := range []string{"controller", "checkout", `{"x"}`, "<b>"} {
		b = wire.AppendBytes(b, 2, entry(uint64(i+1), wire.AppendBytes(nil, 2, text)))
	}
	context := wire.AppendBytes(nil, 1, entry(1, wire.AppendInt(nil, 2, 2)))
	context = wire.AppendBytes(context, 1, entry(3, wire.AppendInt(nil, 2, 4)))
	return wire.AppendBytes(b, 1, entry(7, wire.AppendBytes(nil, 2, context)))
}

// FuzzIngest: whatever arrives, a push has an answer, and no reader panics.
func FuzzIngest(f *testing.F) {
	contentType, body := form("jfr", "FLR\x00", "labels", string(snapshot()))
	f.Add("name=a&format=jfr", contentType, body)
	f.Add("name=a&format=trie&from=now-1h&until=20261125", "", preorder("", 0, 1, "ma", 3, 0))
	f.Add("name=a.b%7Bc=d%7D&format=tree&sampleRate=-1", "", preorder("", 0, 1, "ma", 3, 0))
	f.Add("name=a&format=lines", "", []byte("a;b\n"))
	f.Add("name=a", "", []byte("a;b 1\n"))
	f.Add("name=a&format=speedscope", "", []byte(speedscopeFile))
	f.Add("name=a&format=pprof", "", pprofOf(f, "cpu/nanoseconds", "cpu/nanoseconds", "main 1 k=v"))
	s, in := fuzzed(f)
	f.Fuzz(func(t *testing.T, query, contentType string, body []byte) {
		r := httptest.NewRequest("POST", "http://localhost/ingest", bytes.NewReader(body))
		r.URL.RawQuery = query
		r.Header.Set("Content-Type", contentType)
		answered(t, s, in, r)
	})
}

// FuzzPush does the same for push.v1.
func FuzzPush(f *testing.F) {
	sample := message(2, wire.AppendBytes(nil, 1, pprofOf(f, "cpu/nanoseconds", "cpu/nanoseconds", "main 1 k=v")))
	f.Add(message(1, label("__name__", "process_cpu"), label("service_name", "a"), sample))
	s, in := fuzzed(f)
	f.Fuzz(func(t *testing.T, body []byte) {
		r := httptest.NewRequest("POST", "http://localhost/push.v1.PusherService/Push", bytes.NewReader(body))
		r.Header.Set("Content-Type", "application/proto")
		answered(t, s, in, r)
	})
}

func fuzzed(f *testing.F) (http.Handler, *intake.Intake) {
	in := intake.New(mem.New(), intake.Options{MaxDelay: time.Nanosecond})
	f.Cleanup(func() { in.Close(context.Background()) })
	s, err := server.New(server.Options{}, New(in).Part())
	if err != nil {
		f.Fatal(err)
	}
	return s.Handler(), in
}

func answered(t *testing.T, h http.Handler, in *intake.Intake, r *http.Request) {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	if w.Code >= http.StatusInternalServerError || w.Code == http.StatusOK && w.Body.Len() > 0 {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if n := in.Metrics().Panics; n != 0 {
		t.Errorf("%d panics", n)
	}
}
