package public

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dendroprof/dendro/analysis/regression"
	"github.com/dendroprof/dendro/ingest"
	"github.com/dendroprof/dendro/query/judge"
	"github.com/dendroprof/dendro/report"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/store/mem"
	"github.com/dendroprof/dendro/table"
	"github.com/dendroprof/dendro/testrun"
)

// TestOneVerdict compares what overview, history, regressions, report and check say of
// each benchmark: status, finding, size and onset, of real histories of Go and Java with a
// planted change, and of all pairs. Commands, pages and /api/v1 show these documents.
func TestOneVerdict(t *testing.T) {
	st := mem.New()
	real := os.DirFS(path.Join("..", "testdata", "real"))
	changed := addHistory(t, st, real, "go126-text/json.orders", "test-B40") + addHistory(t, st, real, "jvm17-json/json.parse_catalog",
		"test-B40")
	if changed == 0 {
		t.Fatal("no run with a change")
	}
	fsys := os.DirFS("testdata")
	pairs, err := Load(t.Context(), fsys)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range pairs {
		addPair(t, st, fsys, p)
	}

	ctx := t.Context()
	reg, err := judge.Regressions(ctx, st, &judge.RegressionsRequest{})
	if err != nil {
		t.Fatal(err)
	}
	overview, err := judge.Overview(ctx, st, &judge.OverviewRequest{Points: 30})
	if err != nil {
		t.Fatal(err)
	}
	history, err := judge.History(ctx, st, &judge.HistoryRequest{Window: 10})
	if err != nil {
		t.Fatal(err)
	}
	rep, err := judge.Report(ctx, st, &judge.ReportRequest{Method: "default"})
	if err != nil {
		t.Fatal(err)
	}
	check, err := judge.Check(ctx, st, &judge.CheckRequest{ReportRequest: judge.ReportRequest{Method: "default"}, FailOn: "regression:0"})
	if err != nil {
		t.Fatal(err)
	}

	want := map[testrun.Benchmark]report.Outcome{}
	for _, b := range reg.Benchmarks {
		want[testrun.Benchmark{Group: b.Group, Name: b.Benchmark}] = b.Outcome
	}
	if len(want) < len(pairs) || len(overview.Benchmarks) != len(want) {
		t.Fatalf("%d pairs, %d benchmarks, %d in the overview", len(pairs), len(want), len(overview.Benchmarks))
	}
	same := func(surface string, b testrun.Benchmark, got report.Outcome) {
		if d := cmp.Diff(want[b], got); d != "" {
			t.Errorf("%s: %s differs from regressions:\n%s", b, surface, d)
		}
	}
	slower := 0
	for _, b := range overview.Benchmarks {
		same("overview", testrun.Benchmark{Group: b.Group, Name: b.Name}, *b.Outcome)
		if b.Outcome.Status == report.Slower {
			slower++
		}
	}
	if slower < 8 {
		t.Errorf("only %d benchmarks are slower", slower)
	}
	for i := range history.Series {
		s := &history.Series[i]
		same("history", testrun.Benchmark{Group: s.Group, Name: s.Benchmark}, *s.Outcome)
		if s.Outcome.Finding != "" && !slices.ContainsFunc(s.Changes, func(f regression.Finding) bool {
			return f.ID == s.Outcome.Finding && f.Delta.Share == s.Outcome.Share && f.Since == *s.Outcome.Since
		}) {
			t.Errorf("%s: %s is not a change of its history", s.Benchmark, s.Outcome.Finding)
		}
	}
	for name, doc := range map[string]*report.Report{"report": rep, "check": check} {
		for i := range doc.Benchmarks {
			same(name, doc.Benchmarks[i].Benchmark.Benchmark, doc.Benchmarks[i].Outcome)
		}
		consistent(t, name, doc)
	}
}

// consistent requires that the parts of a report agree.
func consistent(t *testing.T, name string, doc *report.Report) {
	t.Helper()
	var text, data bytes.Buffer
	if err := doc.Text(report.Detail{All: true}).Print(&table.Output{W: &text}); err != nil {
		t.Fatal(err)
	}
	if err := doc.JSON(&data); err != nil {
		t.Fatal(err)
	}
	var d struct {
		Headline string
		Changes  []struct {
			Benchmark, Kind, Status string
			Since                   struct{ Run, LastGood string }
		}
		Benchmarks []struct {
			Benchmark string
			Outcome   report.Outcome
		}
	}
	if err := json.Unmarshal(data.Bytes(), &d); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(d.Headline, "no change found") {
		t.Errorf("%s: %q beside %d changes", name, d.Headline, len(d.Changes))
	}
	bad := map[[2]string]bool{} // benchmark and run with which a cost begins
	costs := func(kind, status string) bool {
		return regression.Kind(kind).Costs() && status != string(regression.Transient)
	}
	for _, c := range d.Changes {
		if costs(c.Kind, c.Status) {
			bad[[2]string{c.Benchmark, c.Since.Run}] = true
		}
	}
	for _, c := range d.Changes {
		if costs(c.Kind, c.Status) && bad[[2]string{c.Benchmark, c.Since.LastGood}] {
			t.Errorf("%s: %s: last good run %s, with which another cost begins", name, c.Benchmark, c.Since.LastGood)
		}
	}
	for _, b := range d.Benchmarks {
		o := b.Outcome
		if o.Status == report.Slower && o.Share <= 0 || o.Status == report.Faster && o.Share >= 0 {
			t.Errorf("%s: %s is %s by %+.1f%%", name, b.Benchmark, o.Status, 100*o.Share)
		}
		if o.Time != nil && (o.Time.Value > 0) != (o.Status == report.Slower) {
			t.Errorf("%s: %s is %s by %+g %s", name, b.Benchmark, o.Status, o.Time.Value, o.Time.Unit)
		}
	}
}

// addPair imports the runs of a pair as one branch: the base, then the head.
func addPair(t *testing.T, st store.Destination, fsys fs.FS, p *Pair) {
	day := 0
	recorded, err := ingest.ReadManifestFS(fsys, path.Join(p.Name, "manifest.json"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(p.Name, err)
	}
	for _, side := range []struct{ prefix, commit string }{{"repo", strings.Repeat("a", 40)}, {"head", strings.Repeat("b", 40)}} {
		for n := 1; n <= baseRuns; n++ {
			run := fmt.Sprintf("%s-%d", side.prefix, n)
			files, err := fs.Glob(fsys, path.Join(p.Name, run+".*.gz"))
			if err != nil || len(files) == 0 {
				continue
			}
			day++
			name := p.Name
			if p.Java {
				name = p.Truth.Benchmark
			}
			label := ingest.Label{Group: "pairs", Benchmark: name,
				Run: testrun.Run{Key: p.Name + "-" + run, Branch: "main", Commit: side.commit, Machine: "m",
					Date: time.Date(2026, 11, day, 0, 0, 0, 0, time.UTC)}}
			if at := slices.IndexFunc(recorded, func(s ingest.Source) bool { return s.Label.Run.Key == run }); at >= 0 {
				src := recorded[at]
				label.Metrics = src.Label.Metrics
				src.Label = label
				err = importAll(t.Context(), st, []ingest.Source{src}, ingest.Options{Workers: 1})
			} else {
				err = importRun(t.Context(), st, fsys, files[0], path.Join(p.Name, run+".txt"), label)
			}
			if err != nil {
				t.Fatal(p.Name, run, err)
			}
		}
	}
}

// addHistory imports the history of a real benchmark with two runs of a planted change at
// its end, and returns the number of these.
func addHistory(t *testing.T, st store.Destination, fsys fs.FS, name, change string) (changed int) {
	data, err := fs.ReadFile(fsys, path.Join(name, "scores.json"))
	if err != nil {
		t.Fatal(err)
	}
	var scores struct {
		Unit, Better string
		Runs         map[string]struct {
			Score float64
			Epoch string
		}
	}
	if err := json.Unmarshal(data, &scores); err != nil {
		t.Fatal(err)
	}
	var sources []ingest.Source
	add := func(folder string, most int, epoch string) string {
		files, err := fs.Glob(fsys, path.Join(name, folder, "*.collapsed.gz"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			key := path.Join(folder, strings.TrimSuffix(path.Base(file), ".collapsed.gz"))
			s := scores.Runs[key]
			if epoch != "" && s.Epoch != epoch || most == 0 {
				continue
			}
			most, epoch = most-1, s.Epoch
			src := ingest.FSSource(fsys, file)
			src.Named = true
			src.Label = ingest.Label{Group: "real", Benchmark: path.Base(name),
				Run: testrun.Run{Key: key, Branch: "main", Machine: "m", Commit: folder,
					Date: time.Date(2026, 10, len(sources)+1, 0, 0, 0, 0, time.UTC)},
				Metrics: []testrun.Metric{{Name: "time", Mean: s.Score, Unit: scores.Unit, Better: testrun.Better(scores.Better), Primary: true}}}
			sources = append(sources, src)
		}
		return epoch
	}
	epoch := add("history", 15, "")
	before := len(sources)
	add(change, 2, epoch)
	var failed error
	if _, err := ingest.Run(context.Background(), st, sources, ingest.Options{Workers: 1}, func(r ingest.Result) {
		if r.Err != nil {
			failed = r.Err
		}
	}); err != nil || failed != nil {
		t.Fatal(name, err, failed)
	}
	return len(sources) - before
}
