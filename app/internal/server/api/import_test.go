package api

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/dendroprof/dendro/app/internal/server"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/store/mem"
	"github.com/dendroprof/dendro/test/readtest"
)

// line is a line of the answer to an import.
type importLine struct {
	File, Status, Run, Group, Benchmark string
	Problem                             *struct{ Type string }
	Summary                             *struct{ Files, Profiles, Unchanged, Skipped, Failed int }
}

func importLines(t *testing.T, w *httptest.ResponseRecorder) (list []importLine) {
	t.Helper()
	if w.Code != http.StatusOK {
		t.Fatalf("import: %d %s", w.Code, w.Body)
	}
	for text := range strings.Lines(w.Body.String()) {
		var l importLine
		if err := json.Unmarshal([]byte(text), &l); err != nil {
			t.Fatal(err)
		}
		list = append(list, l)
	}
	return list
}

// drawn writes lines as "file status group/benchmark run kind-of-problem".
func drawn(list []importLine) string {
	var b strings.Builder
	for _, l := range list {
		if l.Summary != nil {
			fmt.Fprintf(&b, "%+v", *l.Summary)
		} else {
			fmt.Fprintf(&b, "%s %s %s/%s %s", l.File, l.Status, l.Group, l.Benchmark, l.Run)
		}
		if l.Problem != nil {
			b.WriteString(" " + strings.TrimPrefix(l.Problem.Type, "urn:dendro:problem:"))
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func zipOf(files ...[2]string) []byte {
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, f := range files {
		member, err := w.Create(f[0])
		if err == nil {
			_, err = io.WriteString(member, f[1])
		}
		if err != nil {
			panic(err)
		}
	}
	w.Close()
	return b.Bytes()
}

func TestImport(t *testing.T) {
	const good, other = "main;a 3\nmain;b 2\n", "main;a 3\nmain;c 9\n"
	for _, test := range []struct {
		name, query, body, contentType string
		want                           string
	}{
		{name: "labels", query: "?run=r1&group=g&benchmark=b&commit=abc&attr=k=v&metric=time=3ms", body: good, want: "upload stored g/b r1\n{Files:1 Profiles:1 Unchanged:0 Skipped:0 Failed:0}\n"},
		{name: "the name says the benchmark", query: "?run=r1&name=shop/cart.folded", body: good, want: "shop/cart.folded stored shop/cart r1\n{Files:1 Profiles:1 Unchanged:0 Skipped:0 Failed:0}\n"},
		{name: "layout", query: "?name=r7/g/b.folded&layout=%7Brun%7D/%7Bgroup%7D/%7Bbenchmark%7D.%7Bext%7D", body: good, want: "r7/g/b.folded stored g/b r7\n{Files:1 Profiles:1 Unchanged:0 Skipped:0 Failed:0}\n"},
		{name: "compressed file", query: "?run=r1&name=a.folded.gz", body: readtest.Gzip(good), want: "a.folded.gz stored /a r1\n{Files:1 Profiles:1 Unchanged:0 Skipped:0 Failed:0}\n"},
		{name: "archive", query: "?run=r1&name=all.zip",
			body: string(zipOf([2]string{"a.folded", good}, [2]string{"README.md", "# words"}, [2]string{"b.folded", "main;x y z\n"})),
			want: "all.zip: a.folded stored all.zip/a r1\nall.zip: README.md skipped / \nall.zip: b.folded failed /  unreadable-profile\n{Files:1 Profiles:1 Unchanged:0 Skipped:1 Failed:1}\n"},
		{name: "dry run", query: "?run=r1&dry-run", body: good, want: "upload stored /upload r1\n{Files:1 Profiles:1 Unchanged:0 Skipped:0 Failed:0}\n"},
		{name: "no profile", query: "?run=r1", body: "# just words\n", want: "upload failed /  unreadable-profile\n{Files:0 Profiles:0 Unchanged:0 Skipped:0 Failed:1}\n"},
		{name: "nothing", query: "?run=r1", body: "", want: "upload failed /  unreadable-profile\n{Files:0 Profiles:0 Unchanged:0 Skipped:0 Failed:1}\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			l := newLab(t)
			got := drawn(importLines(t, l.post("/api/v1/import"+test.query, "application/octet-stream", strings.NewReader(test.body))))
			if got != test.want {
				t.Errorf("lines:\n%s\nwant:\n%s", got, test.want)
			}
		})
	}
	l := newLab(t)
	do := func(query, body string) string {
		return drawn(importLines(t, l.post("/api/v1/import?run=r1&benchmark=b"+query, "application/octet-stream", strings.NewReader(body))))
	}
	for _, step := range []struct{ query, body, want string }{
		{"", good, "upload stored /b r1\n"}, {"", good, "upload unchanged /b r1\n"}, {"", other, "upload failed /b r1 conflict\n"},
		{"&conflict=replace", other, "upload stored /b r1\n"}, {"&conflict=add", good, "upload stored /b r1\n"},
	} {
		if got := do(step.query, step.body); !strings.HasPrefix(got, step.want) {
			t.Errorf("import%s: %s, want %s", step.query, got, step.want)
		}
	}
	for _, bad := range []string{"?conflict=yes", "?metric=x", "?layout=%7Bwhat%7D", "?date=then", "?runs=r1"} {
		l.problem(l.post("/api/v1/import"+bad, "application/octet-stream", strings.NewReader(good)), 400, "bad-request")
	}
}

func TestImportForm(t *testing.T) {
	l := newLab(t)
	body, contentType := form([3]string{"labels", "", `{"run":"r1","group":"g","metric":{"name":"time","mean":3,"unit":"ms"}}`}, [3]string{"file", "a.folded", "main;a 1\n"},
		[3]string{"labels", "", `{"run":"r2","group":"h"}`}, [3]string{"file", "b.folded", "main;b 1\n"}, [3]string{"file", "c.txt", "words"})
	want := "a.folded stored g/a r1\nb.folded stored h/b r2\nc.txt failed /  unreadable-profile\n{Files:2 Profiles:2 Unchanged:0 Skipped:0 Failed:1}\n"
	if got := drawn(importLines(t, l.post("/api/v1/import", contentType, body))); got != want {
		t.Errorf("lines:\n%s\nwant:\n%s", got, want)
	}
	list, err := l.st.Profiles(t.Context(), store.Query{Runs: []string{"r1"}})
	if err != nil || len(list) != 1 || len(list[0].Metrics) != 1 {
		t.Errorf("%+v, %v", list, err)
	}
	// A file that is damaged is no upload that broke off: the next one is taken.
	damaged := readtest.Gzip(strings.Repeat("main;a 1\n", 100))
	body, contentType = form([3]string{"file", "d.folded.gz", damaged[:len(damaged)-12]}, [3]string{"file", "e.folded", "main;e 1\n"})
	want = "d.folded.gz failed /  unreadable-profile\ne.folded stored /e r9\n{Files:1 Profiles:1 Unchanged:0 Skipped:0 Failed:1}\n"
	if got := drawn(importLines(t, l.post("/api/v1/import?run=r9", contentType, body))); got != want {
		t.Errorf("lines:\n%s\nwant:\n%s", got, want)
	}
	for _, part := range [][3]string{{"labels", "", `{"run":`}, {"labels", "", `[]`}, {"what", "", "no file"}} {
		body, contentType := form(part)
		l.problem(l.post("/api/v1/import", contentType, body), 400, "bad-request")
	}
	l.problem(l.post("/api/v1/import", "multipart/form-data; boundary=x", strings.NewReader("garbage")), 400, "bad-request")
}

// TestImportLimits uploads too much, wrongly compressed, and what breaks off: what
// was acknowledged before stays.
func TestImportLimits(t *testing.T) {
	l := labOf(t, mem.New(), server.Options{Limits: server.Limits{Upload: 2000, Inflated: 10_000}}, Options{})
	big := strings.Repeat("main;a 1\n", 1000)
	l.problem(l.post("/api/v1/import?run=r", "application/octet-stream", strings.NewReader(big)), 413, "too-large")

	// The client does not say how long it is: the beginning is read, nothing is kept.
	r := httptest.NewRequest("POST", "/api/v1/import?run=r", io.MultiReader(strings.NewReader(big)))
	r.ContentLength = -1
	got := l.serve(r)
	if !strings.Contains(got.Body.String(), "too-large") {
		t.Errorf("endless: %d %s", got.Code, got.Body)
	}
	r = httptest.NewRequest("POST", "/api/v1/import?run=r", strings.NewReader(readtest.Gzip(strings.Repeat(big, 10))))
	r.Header.Set("Content-Encoding", "gzip")
	if got := l.serve(r); !strings.Contains(got.Body.String(), "too-large") {
		t.Errorf("bomb: %d %s", got.Code, got.Body)
	}
	body, contentType := form([3]string{"file", "a.folded", "main;a 1\n"}, [3]string{"file", "b.folded", big})
	r = httptest.NewRequest("POST", "/api/v1/import?run=r", io.MultiReader(body))
	r.ContentLength = -1
	r.Header.Set("Content-Type", contentType)
	lines := importLines(t, l.serve(r))
	if len(lines) != 3 || lines[0].Status != "stored" || lines[1].Status != "failed" || lines[2].Problem == nil {
		t.Errorf("a form that grows too large: %s", drawn(lines))
	}
	list, err := l.st.Profiles(t.Context(), store.Query{})
	if err != nil || len(list) != 1 || list[0].Benchmark.Name != "a" {
		t.Errorf("stored: %+v, %v", list, err)
	}
}

// TestImportFetchesNothing: an address in whatever a client sends is a text. A server would
// read it with its own rights and credentials.
func TestImportFetchesNothing(t *testing.T) {
	inside := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		t.Errorf("the server fetched %s", r.URL)
		io.WriteString(w, "main;a 1\n")
	}))
	defer inside.Close()
	t.Setenv("AWS_ENDPOINT_URL", inside.URL)
	t.Setenv("STORAGE_EMULATOR_HOST", inside.URL)
	t.Setenv("AZURE_STORAGE_CONNECTION_STRING", "DefaultEndpointsProtocol=http;AccountName=a;AccountKey=Zm9v;BlobEndpoint="+inside.URL)
	l := newLab(t)
	for _, address := range []string{inside.URL + "/a.folded", strings.Replace(inside.URL, "http", "https", 1) + "/a.folded",
		"s3://b/a.folded", "gs://b/a.folded", "azblob://b/a.folded"} {
		name := url.QueryEscape(address)
		for _, request := range []string{"/api/v1/import?run=r&dry-run&name=" + name,
			"/api/v1/import?run=r&dry-run&layout=%7Brun%7D&name=" + name} {
			if w := l.post(request, "application/octet-stream", strings.NewReader(address)); strings.Contains(w.Body.String(), `"stored"`) {
				t.Errorf("%s: %s", request, w.Body)
			}
		}
		var form bytes.Buffer
		w := multipart.NewWriter(&form)
		for _, field := range [][2]string{{"file", address}, {"url", address}, {"label", `{"file": "` + address + `", "run": "r"}`},
			{"manifest", `[{"file": "` + address + `", "run": "r"}]`}} {
			if err := w.WriteField(field[0], field[1]); err != nil {
				t.Fatal(err)
			}
		}
		w.Close()
		l.post("/api/v1/import?run=r", w.FormDataContentType(), &form)
	}
}
