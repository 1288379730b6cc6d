package endpoint

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/dendroprof/dendro/ingest"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/query/document"
	"github.com/dendroprof/dendro/query/judge"
	"github.com/dendroprof/dendro/query/param"
	"github.com/dendroprof/dendro/query/tasks"
	"github.com/dendroprof/dendro/query/trees"
	"github.com/dendroprof/dendro/report/flame"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/store/mem"
	"github.com/dendroprof/dendro/test/tracetest"
	"github.com/dendroprof/dendro/testrun"
	"github.com/dendroprof/dendro/traceprof"
)

// needs are the parameters without which a request makes no sense.
var needs = map[string][]string{
	"find": {"pattern=work"}, "lines": {"function=work"}, "completions": {"parameter=benchmark"},
	"diff": {"base-run=1", "head-run=2"}, "diffPage": {"base-run=1", "head-run=2"}, "original": {"run=1"},
	"export": {"format=folded", "plain=true"},
	"task":   {"task=last"}, "taskLogs": {"task=last"}, "taskCoverage": {"task=last"}, "taskWhy": {"task=last"}, "taskSegments": {"task=last"},
	"snapshots": {"task=1700000000000_shop"}, "analysis": {"task=last"}, "traceProfile": {"task=last"},
	"traceArchive": {"task=last", "trace=t"},
	"link":         {"link=" + store.LinkID("/")},
	"segment":      {"segment=a"}, "endpoints": {"service=shop"},
}

// unanswered are questions to which this store has no answer.
var unanswered = []string{"pushedSeries"}

// prepared returns a question with what it needs, or one that changes something or has no answer.
func prepared(t *testing.T, e Any) Question {
	t.Helper()
	q := e.Blank()
	for _, p := range param.Of(q.Request) {
		for _, need := range needs[q.ID] {
			if name, value, _ := strings.Cut(need, "="); name == p.Name {
				if err := p.Set(value); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	return q
}

func full(t *testing.T) *Local {
	t.Helper()
	st := mem.New()
	im := ingest.New(st, ingest.Options{KeepSource: true, Workers: 1})
	for run := range 6 {
		text := fmt.Sprintf("app 7/7 [000] 1.000: %d cycles:\n\t1 work (/bin/app)\n\t2 main (/bin/app)\n\napp 7/7 [001] 1.010: 300 cycles:\n\t3 wait (/bin/app)\n\t2 main (/bin/app)\n\n", 100+run)
		source := ingest.MemorySource(fmt.Sprint(run, ".perf"), []byte(text))
		source.Label = ingest.Label{Benchmark: "app", Run: testrun.Run{Key: fmt.Sprint(run)},
			Metrics: []testrun.Metric{{Name: "time", Mean: 10 + float64(run%3), Unit: "ms"}}}
		if _, err := im.Import(t.Context(), []ingest.Source{source}, func(r ingest.Result) {
			if r.Err != nil {
				t.Fatal(r.Err)
			}
		}); err != nil {
			t.Fatal(err)
		}
	}
	if err := st.KeepLink(t.Context(), "/", 1); err != nil {
		t.Fatal(err)
	}
	task, err := st.CreateTask(t.Context(), traceprof.Task{Kind: traceprof.TraceKind, Service: "shop", ServiceID: "shop", Endpoint: "/",
		Created: 1_700_000_000_000,
		Start:   1_700_000_000_000, Duration: traceprof.Minute, Period: tracetest.Period, MaxSegments: 5})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(st.PutSegments(t.Context(), traceprof.Segment{ID: "a", Trace: "t", Service: "shop", Start: 1, End: 100}),
		st.PutSnapshots(t.Context(), tracetest.Picture(task.ID, "a", "A A A-B A-B A"))); err != nil {
		t.Fatal(err)
	}
	return NewLocal(st, profile.Limits{})
}

// TestAll asks every question that only reads: a document that is decoded as Remote does, and
// written again, is the same; tables have a row of names; files are not empty.
func TestAll(t *testing.T) {
	l := full(t)
	ids := map[string]bool{}
	for _, e := range All {
		q := prepared(t, e)
		if ids[q.ID] {
			t.Errorf("two endpoints are named %s", q.ID)
		}
		ids[q.ID] = true
		if q.Changes || slices.Contains(unanswered, q.ID) {
			continue
		}
		if q.Form == FormFile {
			f, err := l.File(t.Context(), q)
			if err != nil {
				t.Errorf("%s: %v", q.ID, err)
				continue
			}
			var b bytes.Buffer
			if err := f.Write(&b); err != nil || b.Len() == 0 || f.Name == "" || f.Type == "" {
				t.Errorf("%s: %s of %d bytes, %v", q.ID, f.Name, b.Len(), err)
			}
			continue
		}
		result, err := l.Ask(t.Context(), q)
		if err != nil {
			t.Errorf("%s: %v", q.ID, err)
			continue
		}
		var first, second bytes.Buffer
		if err := document.Write(&first, result, document.Form{Client: true}); err != nil {
			t.Errorf("%s: %v", q.ID, err)
		}
		read := q.empty()
		if err := json.Unmarshal(first.Bytes(), read); err != nil {
			t.Errorf("%s: %v", q.ID, err)
		}
		if err := document.Write(&second, read, document.Form{Client: true}); err != nil {
			t.Errorf("%s: %v", q.ID, err)
		}
		if !bytes.Equal(first.Bytes(), second.Bytes()) {
			t.Errorf("%s: the document\n%s\nis read as\n%s", q.ID, &first, &second)
		}
		if f, err := l.Sheet(t.Context(), q, "tsv"); err == nil {
			var b bytes.Buffer
			if err := f.Write(&b); err != nil || !strings.Contains(b.String(), "\n") {
				t.Errorf("%s.tsv: %q, %v", q.ID, b.String(), err)
			}
		}
	}
	for _, id := range append(slices.Collect(maps.Keys(needs)), unanswered...) {
		if !ids[id] {
			t.Errorf("no endpoint is named %s", id)
		}
	}
}

// TestForms: an endpoint says what it answers with, and only that.
func TestForms(t *testing.T) {
	for _, e := range All {
		q := e.Blank()
		if got := [...]bool{q.Form == FormRows, q.Form == FormReport, q.Form == FormFile}; got !=
			[...]bool{len(q.Results) > 0, q.Report != nil, len(q.Types) > 0} {
			t.Errorf("%s answers with %s: results %v, files %v, report %v", q.ID, q.Form, q.Results, q.Types, q.Report)
		}
		if (q.Created != nil) != (q.ID == "createTask") {
			t.Errorf("%s: what does it create?", q.ID)
		}
	}
	var created tasks.CreatedTask
	if created.ID = "a/b"; CreateTask.Created(&created) != "/api/v1/tasks/a%2Fb" {
		t.Error(CreateTask.Created(&created))
	}
}

// TestPrepare: what a store is asked for is in the requests that it answers.
func TestPrepare(t *testing.T) {
	l := full(t)
	l.Limits.Depth, l.Version, l.RowsOnly, l.Page = 7, "v1", true, true
	var flame FlameRequest
	var check judge.CheckRequest
	var page PageRequest[trees.DiffRequest]
	for _, q := range []Question{Flame.Of(&flame), Check.Of(&check), DiffPage.Of(&page)} {
		_, _ = q.answer(t.Context(), l) // some lack a selection
	}
	if flame.Limits.Depth != 7 || !flame.RowsOnly || page.Page.Limits.Depth != 7 {
		t.Errorf("%+v, %+v", flame, page)
	}
	if check.Version != "v1" || !check.Page {
		t.Errorf("%+v", check)
	}
}

// TestPictureOmits wants a picture to say that it lacks boxes, if it does.
func TestPictureOmits(t *testing.T) {
	for more, want := range map[int]string{0: "", 2: "2 narrowest boxes omitted"} {
		g := &flame.Graph{Boxes: make([]flame.Box, pictureBoxes+more)}
		Picture(g)
		if got := strings.Join(g.Notes, "; "); got != want || len(g.Boxes) != pictureBoxes {
			t.Errorf("%d boxes more than fit: %q and %d boxes", more, got, len(g.Boxes))
		}
	}
}
