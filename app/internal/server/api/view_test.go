package api

import (
	"bytes"
	"fmt"
	"mime/multipart"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"

	pprof "github.com/google/pprof/profile"
)

// twoTypes returns a profile of two value types with lines, as Go writes it.
func twoTypes() []byte {
	fn := &pprof.Function{ID: 1, Name: "slow", Filename: "slow.go"}
	fast := &pprof.Function{ID: 2, Name: "fast", Filename: "slow.go"}
	at := []*pprof.Location{{ID: 1, Line: []pprof.Line{{Function: fn, Line: 7}}}, {ID: 2, Line: []pprof.Line{{Function: fast, Line: 3}}}}
	p := &pprof.Profile{SampleType: []*pprof.ValueType{{Type: "samples", Unit: "count"}, {Type: "cpu", Unit: "nanoseconds"}},
		Sample:   []*pprof.Sample{{Location: at[:1], Value: []int64{9, 90}}, {Location: at[1:], Value: []int64{1, 10}}},
		Location: at, Function: []*pprof.Function{fn, fast}, DefaultSampleType: "cpu"}
	var b bytes.Buffer
	if err := p.Write(&b); err != nil {
		panic(err)
	}
	return b.Bytes()
}

func TestView(t *testing.T) {
	l := newLab(t)
	l.put()
	before, err := l.st.Info(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	const folded = "main;a 3\nmain;b 1\n"
	const twoThreads = "w 1 1.000: 1 cpu:\n\t0 a (x)\n\nw 1 1.010: 1 cpu:\n\t0 b (x)\n\nother 2 1.010: 1 cpu:\n\t0 c (x)\n\n"
	archive := zipOf([2]string{"one.folded", folded}, [2]string{"README", "nothing to see"}, [2]string{"two.folded", "main;a 4\n"})
	for _, x := range []struct {
		target string
		body   []byte
		code   int
		want   string
	}{
		{"/api/v1/view?name=x.folded", []byte(folded), 200, `{"profiles":1,"type":"cpu-samples","unit":"count","rootTotal":4,`},
		{"/api/v1/view?name=x.folded&form=columns", []byte(folded), 200, `"total":[4,3,1]`},
		{"/api/v1/view?view=functions&invert=true", []byte(folded), 200, `"function":"main"`},
		{"/api/v1/view?name=x.zip", archive, 200, `"profiles":2,"type":"cpu-samples","unit":"count","rootTotal":8,`},
		{"/api/v1/view?name=x.folded&format=html", []byte(folded), 200, `id="dendro-data">`},
		{"/api/v1/view?name=x.folded&format=folded&transform=drop-function:a", []byte(folded), 200, "main;b 1\n"},
		{"/api/v1/view/lines?name=x.pb.gz&function=slow", twoTypes(), 200, `"type":"cpu","unit":"nanoseconds","rootTotal":100,"types":["cpu","cpu-samples"],"notes":[],"omitted":{"rows":0},"rows":[{"function":"slow","file":"slow.go","module":"","total":90,"self":90,"lines":[{"line":7,"total":90,"self":90}]}]}`},
		{"/api/v1/view/lines?name=x.pb.gz&function=slow&type=cpu-samples", twoTypes(), 200, `"lines":[{"line":7,"total":9,"self":9}]`},
		{"/api/v1/view/lines?function=nosuch", twoTypes(), 404, "nosuch"},
		{"/api/v1/view/lines", twoTypes(), 400, "function is missing"},
		{"/api/v1/view?form=compact", twoTypes(), 200, `"types":["cpu","cpu-samples"]`},
		{"/api/v1/view?name=x.perf&activity=true&thread=w", []byte(twoThreads), 200, `"rootTotal":2,"notes":[],"omitted":{"rows":0},"activity":{"profiles":1,`},
		{"/api/v1/view?name=x.perf&activity=true&thread=w", []byte(twoThreads), 200, `"name":"other"`}, // of the whole file
		{"/api/v1/view?name=x.zip&activity=true", archive, 200, `"omitted":{"rows":0},"rows":[`},       // of one profile only
		{"/api/v1/view?format=nonsense", []byte(folded), 400, `nonsense`},
		{"/api/v1/view?nonsense=1", []byte(folded), 400, `no parameter`},
		{"/api/v1/view?transform=nonsense", []byte(folded), 400, `transform`},
		{"/api/v1/view", nil, 422, "unreadable-profile"},
		{"/api/v1/view", []byte("\x00\x01\x02"), 422, "unreadable-profile"},
		{"/api/v1/view?name=x.zip", zipOf([2]string{"README", "nothing"}), 422, "unreadable-profile"},
	} {
		w := l.serve(httptest.NewRequest("POST", x.target, bytes.NewReader(x.body)))
		if w.Code != x.code || !strings.Contains(w.Body.String(), x.want) {
			t.Errorf("%s: %d %s", x.target, w.Code, w.Body)
		}
	}
	if after, err := l.st.Info(t.Context()); err != nil || !reflect.DeepEqual(after, before) {
		t.Errorf("the store has %+v, had %+v, %v", after, before, err)
	}
}

func TestViewDiff(t *testing.T) {
	l := newLab(t)
	l.put()
	post := func(target string, parts ...[2]string) *httptest.ResponseRecorder {
		var b bytes.Buffer
		form := multipart.NewWriter(&b)
		for _, p := range parts {
			w, err := form.CreateFormFile(p[0], p[0]+".folded")
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprint(w, p[1])
		}
		if err := form.Close(); err != nil {
			t.Fatal(err)
		}
		r := httptest.NewRequest("POST", target, &b)
		r.Header.Set("Content-Type", form.FormDataContentType())
		return l.serve(r)
	}
	base, now := [2]string{"base", "main;a 3\nmain;b 1\n"}, [2]string{"head", "main;a 5\n"}
	timed := func(side string, thread string) [2]string {
		return [2]string{side, fmt.Sprintf("%[1]s 1 1.000: 1 cpu:\n\t0 a (x)\n\n%[1]s 1 1.010: 1 cpu:\n\t0 b (x)\n\nother 2 1.010: 1 cpu:\n\t0 c (x)\n\n", thread)}
	}
	for _, x := range []struct {
		target string
		parts  [][2]string
		code   int
		want   string
	}{
		{"/api/v1/view/diff", [][2]string{base, now}, 200, `"rootTotal":{"base":4,"head":5,"delta":1,"relative":0.25}`},
		{"/api/v1/view/diff?form=columns&by=share", [][2]string{base, now}, 200, `"baseTotal":[`},
		{"/api/v1/view/diff?format=html", [][2]string{base, now}, 200, `id="dendro-data">`},
		{"/api/v1/view/diff?view=stack-chart&form=columns", [][2]string{timed("base", "w"), timed("head", "v")}, 200,
			`"threads":[{"name":"w","base":2,"head":0},{"name":"other","base":1,"head":1},{"name":"v","base":0,"head":2}],"columns":{"base":{"depth":[`},
		{"/api/v1/view/diff?view=stack-chart&format=html", [][2]string{timed("base", "w"), timed("head", "w")}, 200, `id="dendro-data">`},
		{"/api/v1/view/diff", nil, 400, "lacks a file"},
		// A file against a part of the store, on either side.
		{"/api/v1/view/diff?benchmark=checkout&head-run=r1", [][2]string{base}, 200, `"rootTotal":{"base":4,"head":10,"delta":6,"relative":1.5}`},
		{"/api/v1/view/diff?benchmark=checkout&base-run=r2", [][2]string{{"head", "main;load 4\n"}}, 200, `"rootTotal":{"base":13,"head":4,`},
		{"/api/v1/view/diff?benchmark=checkout&by=value", [][2]string{base}, 200, `"rootTotal":{"base":4,"head":23,`},
		{"/api/v1/view/diff?benchmark=checkout&head-run=r1&format=html", [][2]string{base}, 200, `id="dendro-data">`},
		{"/api/v1/view/diff?benchmark=nosuch", [][2]string{base}, 404, "nosuch"},
		// Two ranges of one recording: a in the first 10 ms, b and c after it.
		{"/api/v1/view/diff?base-range=0..5&head-range=5..20", [][2]string{timed("base", "w"), timed("head", "w")}, 200,
			`"rootTotal":{"base":1,"head":2,`},
		{"/api/v1/view/diff?base-range=5..0", [][2]string{timed("base", "w"), timed("head", "w")}, 400, "range"},
		{"/api/v1/view/diff", [][2]string{{"old", ""}}, 400, "base and head"},
		{"/api/v1/view/diff", [][2]string{base, {"head", "\x00\x01"}}, 422, "unreadable-profile"},
	} {
		if w := post(x.target, x.parts...); w.Code != x.code || !strings.Contains(w.Body.String(), x.want) {
			t.Errorf("%s %v: %d %.300s", x.target, x.parts, w.Code, w.Body)
		}
	}
}

func TestPages(t *testing.T) {
	l := newLab(t)
	l.put()
	for _, target := range []string{"/api/v1/page/tree?type=cpu-samples", "/api/v1/page/diff?type=cpu-samples&last=1",
		"/api/v1/report?type=cpu-samples&format=html"} {
		w := l.serve(httptest.NewRequest("GET", target, nil))
		body := w.Body.String()
		if w.Code != 200 || !strings.HasPrefix(body, "<!doctype html>") || !strings.HasSuffix(strings.TrimSpace(body), "</html>") ||
			!strings.HasPrefix(w.Header().Get("Content-Disposition"), "attachment") || !strings.Contains(body, `id="dendro-data">`) {
			t.Errorf("%s: %d %.300s", target, w.Code, body)
		}
	}
	if w := l.serve(httptest.NewRequest("GET", "/api/v1/page/tree?group=nowhere", nil)); w.Code != 404 {
		t.Errorf("of nothing: %d", w.Code)
	}
}
