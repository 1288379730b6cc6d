package cli

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/dendroprof/dendro/analysis/regression"
	"github.com/dendroprof/dendro/app/internal/cli/command"
	"github.com/dendroprof/dendro/app/internal/server"
	"github.com/dendroprof/dendro/app/internal/server/api"
	"github.com/dendroprof/dendro/internal/words"
	"github.com/dendroprof/dendro/report"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/store/engines"
	"github.com/dendroprof/dendro/test/runtest"
)

// nights makes runs of benchmarks; of writes the stacks of a run, from a noisy amount.
func nights(n int, run func(i int, noisy func(float64) int) []runtest.Run) (all [][]runtest.Run) {
	r := rand.New(rand.NewPCG(11, 1))
	for i := range n {
		all = append(all, run(i, func(v float64) int { return int(v * (1 + 0.01*r.NormFloat64())) }))
	}
	return all
}

// from returns a factor from a night on.
func from(i, night int, factor float64) float64 {
	if i >= night {
		return factor
	}
	return 1
}

// histories are stores in which surfaces said different things of one benchmark.
var histories = map[string]func(i int, noisy func(float64) int) []runtest.Run{
	// Slower per operation, while the samples of a run fall.
	"operations differ": func(i int, noisy func(float64) int) []runtest.Run {
		ops := from(i, 12, 0.5) * float64(100+7*(i%5))
		return []runtest.Run{{Benchmark: "b", Type: "cpu", Operations: ops, Metric: 5 * from(i, 12, 1.4), Stacks: fmt.Sprintf("main;load;parse %d, main;load;read %d, main;plan %d, main;join %d, main;sort %d, main;scan %d",
			noisy(30e6*ops*from(i, 12, 1.8)), noisy(20e6*ops), noisy(20e6*ops), noisy(15e6*ops), noisy(10e6*ops), noisy(5e6*ops))}}
	},
	// As of JMH: a metric, and no operations.
	"metric": func(i int, noisy func(float64) int) []runtest.Run {
		return []runtest.Run{{Benchmark: "b", Metric: float64(noisy(3000*from(i, 11, 1.2))) / 1000, Unit: "µs/op", Stacks: fmt.Sprintf("main;load;parse %d, main;load;read %d, main;plan %d, main;join %d, main;sort %d, main;scan %d",
			noisy(600*from(i, 11, 2)), noisy(600), noisy(800), noisy(500), noisy(400), noisy(300))}}
	},
	"shares": func(i int, noisy func(float64) int) []runtest.Run {
		return []runtest.Run{{Benchmark: "b", Stacks: fmt.Sprintf("main;load;parse %d, main;load;read %d, main;plan %d, main;join %d, main;sort %d, main;scan %d, main;out %d",
			noisy(600*from(i, 13, 2)), noisy(600), noisy(800), noisy(500), noisy(400), noisy(300), noisy(250))}}
	},
	// A change on top of another, one that is over, and a benchmark that became faster.
	"several": func(i int, noisy func(float64) int) []runtest.Run {
		over := from(i, 4, 2) * from(i, 9, 0.5)
		one := func(name string, parse, plan float64) runtest.Run {
			return runtest.Run{Benchmark: name, Operations: 100,
				Stacks: fmt.Sprintf("main;load;parse %d, main;load;read %d, main;plan %d, main;join %d, main;sort %d, main;scan %d", noisy(1000*parse), noisy(1500), noisy(2000*plan), noisy(1000), noisy(700), noisy(900))}
		}
		return []runtest.Run{one("twice", from(i, 6, 1.5)*from(i, 13, 1.5), 1), one("over", over, 1), one("faster", 1, from(i, 8, 0.6)),
			one("same", 1, 1)}
	},
}

// TestSurfacesAgree walks all surfaces of a store and compares every statement about a benchmark: the
// direction, the size in all digits that are printed, the first run and the state.
func TestSurfacesAgree(t *testing.T) {
	for name, runs := range histories {
		t.Run(name, func(t *testing.T) {
			walkStore(t, func(st store.Store, _ func(...string)) {
				for i, of := range nights(15, runs) {
					for _, r := range of {
						runtest.PutRun(t, st, i+1, r)
					}
				}
			})
		})
	}
	detection := filepath.Join("..", "..", "..", "test", "detection")
	for _, bump := range []string{"jsonschema", "fxp", "jexl"} {
		t.Run("in turns, "+bump, func(t *testing.T) {
			walkStore(t, func(_ store.Store, run func(...string)) {
				run("import", "--manifest", filepath.Join(detection, "recorded", "testdata", "turns", bump, "manifest.json"))
			}, "com.acme.shop")
		})
	}
	t.Run("bumps", func(t *testing.T) {
		walkStore(t, func(_ store.Store, run func(...string)) {
			for _, name := range []string{"hcver", "zap", "expr", "csvout", "decimal"} {
				importBump(t, filepath.Join(detection, "public", "testdata", name), run)
			}
		}, "Log")
	})
}

// importBump imports the recorded runs of a caller of a library, the base first, as one branch.
func importBump(t *testing.T, dir string, run func(...string)) {
	t.Helper()
	for n, commit := range map[string]string{"repo": strings.Repeat("a", 40), "head": strings.Repeat("b", 40)} {
		files, err := filepath.Glob(filepath.Join(dir, n+"-*.gz"))
		if err != nil || len(files) == 0 {
			t.Fatal(dir, err)
		}
		for _, file := range files {
			key, _, _ := strings.Cut(filepath.Base(file), ".")
			i, date := key[len(n)+1:], "2026-10-0"
			if n == "head" {
				date = "2026-11-0"
			}
			args := []string{"import", "--group", "bumps", "--branch", "main", "--machine", "m", "--commit", commit,
				"--run", filepath.Base(dir) + "-" + key, "--date", date + i, "--metrics", filepath.Join(dir, key+".txt")}
			if strings.Contains(file, ".folded.") {
				args = append(args, "--benchmark", filepath.Base(dir))
			}
			run(append(args, file)...)
		}
	}
}

// walkStore fills a store, serves it, and walks its surfaces.
func walkStore(t *testing.T, fill func(st store.Store, run func(args ...string)), blurred ...string) {
	file := filepath.Join(t.TempDir(), "s.duckdb")
	st, err := engines.Open(t.Context(), file, engines.Write)
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	s, err := server.New(server.Options{}, api.Part(api.Options{Store: st}))
	if err != nil {
		t.Fatal(err)
	}
	http := httptest.NewServer(s.Handler())
	defer http.Close()
	of := &surfaces{t: t, address: http.URL, blurred: blurred}
	fill(st, func(args ...string) { of.print(args...) })
	before := listed(t, st)
	of.walk()
	if after := listed(t, st); !bytes.Equal(before, after) {
		t.Errorf("a request changed the list of profiles, which all share:\n%s\nwas\n%s", after, before)
	}
}

// listed returns the profiles of a store as it lists them.
func listed(t *testing.T, st store.Store) []byte {
	list, err := st.Profiles(t.Context(), store.Query{})
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(list)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// surfaces are those of one store.
type surfaces struct {
	t       *testing.T
	address string
	list    map[string]*regression.Finding // by id, open ones
	first   map[string]bool                // ids of those that states of benchmarks name
	// blurred are the benchmarks whose runs differ so much that a finding is measured at its places alone: its
	// function as a whole, which diff and chart show, has another amount, within the interval of the finding.
	blurred []string
}

// print runs a command.
func (s *surfaces) print(args ...string) string {
	s.t.Helper()
	var out, errOut bytes.Buffer
	run(s.t.Context(), &command.Env{In: strings.NewReader(""), Out: &out, Err: &errOut}, append(args, "--store", s.address))
	if out.Len() == 0 {
		s.t.Fatalf("%q: %s", args, &errOut)
	}
	return out.String()
}

func (s *surfaces) get(path string) string {
	s.t.Helper()
	resp, err := http.Get(s.address + path)
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		s.t.Fatal(path, resp.Status, string(body), err)
	}
	return string(body)
}

func decodeAs[T any](t *testing.T, text string) (v T) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("%v in %.500s", err, text)
	}
	return v
}

// statement is what a surface says of a change, as it is printed.
func statement(f *regression.Finding) string {
	direction := "slower"
	if !f.Kind.Costs() {
		direction = "faster"
	}
	return fmt.Sprintf("%s %s by %s, %s, since %s, %s", f.Benchmark, direction, words.SignedPercent(f.Delta.Share), report.Amount(f),
		f.Since.Run, f.Status)
}

func (s *surfaces) walk() {
	t := s.t
	type outcome = report.Outcome
	type listed struct {
		Findings   []regression.Finding
		Benchmarks []struct {
			Benchmark string
			Outcome   outcome
		}
	}
	list := decodeAs[listed](t, s.print("regressions", "-o", "json"))
	if len(list.Findings) == 0 {
		t.Fatal("nothing is found")
	}
	s.list = map[string]*regression.Finding{}
	for i := range list.Findings {
		s.list[list.Findings[i].ID] = &list.Findings[i]
	}
	states := map[string]outcome{}
	s.first = map[string]bool{}
	for _, b := range list.Benchmarks {
		states[b.Benchmark] = b.Outcome
		s.first[b.Outcome.Finding] = true
	}
	state := func(surface, benchmark string, o *outcome) {
		t.Helper()
		want := states[benchmark]
		if o == nil || o.Says != want.Says || o.Finding != want.Finding || o.Share != want.Share ||
			fmt.Sprint(o.Since) != fmt.Sprint(want.Since) && *o.Since != *want.Since {
			t.Errorf("%s says of %s: %+v, the list %+v", surface, benchmark, o, want)
		}
		if f := s.list[want.Finding]; f != nil && f.Delta.Share != want.Share {
			t.Errorf("the state of %s has the size %g, its change %g", benchmark, want.Share, f.Delta.Share)
		}
	}
	// change compares a statement; whole surfaces have all changes.
	change := func(surface string, f *regression.Finding) {
		t.Helper()
		switch want := s.list[f.ID]; {
		case want == nil && f.Status != regression.Ended && f.Status != regression.Transient &&
			(f.Kind.Costs() || f.Kind == regression.Improvement):
			t.Errorf("%s: %s, which the list does not have", surface, statement(f))
		case want != nil && statement(f) != statement(want):
			t.Errorf("%s: %s; the list: %s", surface, statement(f), statement(want))
		}
	}
	whole := func(surface string, findings []regression.Finding) {
		t.Helper()
		for i := range findings {
			change(surface, &findings[i])
		}
		for id, f := range s.list {
			if !slices.ContainsFunc(findings, func(g regression.Finding) bool { return g.ID == id }) {
				t.Errorf("%s lacks: %s", surface, statement(f))
			}
		}
	}
	type document struct {
		Headline string
		Changes  []struct {
			regression.Finding
			Also []regression.Finding
		}
		Benchmarks []struct {
			Benchmark  string
			Outcome    outcome
			Candidates []struct {
				Finding string
				Diff    float64
			}
		}
		Notes []string
	}
	findings := func(d *document) (all []regression.Finding) {
		for _, c := range d.Changes {
			all = append(append(all, c.Finding), c.Also...)
		}
		return all
	}
	for surface, text := range map[string]string{"report": s.print("report", "-o", "json"),
		"Home": s.get("/api/v1/report?candidates=0&max-depth=0&changed=true")} {
		doc := decodeAs[document](t, text)
		whole(surface, findings(&doc))
		for i := range doc.Benchmarks {
			state(surface, doc.Benchmarks[i].Benchmark, &doc.Benchmarks[i].Outcome)
			for _, c := range doc.Benchmarks[i].Candidates {
				if f := s.list[c.Finding]; f != nil {
					s.step(surface+": the step of the chart", c.Diff, f)
				}
			}
		}
	}
	whole("/api/v1", decodeAs[listed](t, s.get("/api/v1/regressions")).Findings)
	check := decodeAs[document](t, s.print("check", "-o", "json"))
	for _, f := range findings(&check) {
		change("check", &f)
	}
	for i := range check.Benchmarks {
		state("check", check.Benchmarks[i].Benchmark, &check.Benchmarks[i].Outcome)
	}
	for surface, text := range map[string]string{"overview": s.print("overview", "-o", "json"),
		"/api/v1/overview": s.get("/api/v1/overview")} {
		for _, b := range decodeAs[struct {
			Benchmarks []struct {
				Benchmark string
				Outcome   *outcome
			}
		}](t, text).Benchmarks {
			state(surface, b.Benchmark, b.Outcome)
		}
	}
	s.histories(change, state)
	for i := range list.Findings {
		s.diff(&list.Findings[i])
	}
	s.texts(list.Findings)
	s.pairs()
	s.accepted()
}

// accepted accepts every change, and compares what the surfaces then say of the benchmarks.
func (s *surfaces) accepted() {
	t := s.t
	for id := range s.list {
		resp, err := http.PostForm(s.address+"/api/v1/accept?by=Ada&reason=known&finding="+id, nil)
		if err != nil || resp.StatusCode != http.StatusOK {
			t.Fatal(id, resp, err)
		}
		resp.Body.Close()
	}
	says := func(path string) map[string]string {
		of := map[string]string{}
		type benchmarks []struct {
			Benchmark string
			Outcome   *report.Outcome
		}
		doc := decodeAs[struct{ Benchmarks, Series benchmarks }](t, s.get("/api/v1/"+path))
		for _, b := range append(doc.Benchmarks, doc.Series...) {
			if b.Outcome != nil {
				of[b.Benchmark] = b.Outcome.Says
			}
		}
		return of
	}
	all := says("regressions")
	texts := map[string]string{"text of regressions": s.print("regressions"), "text of overview": s.print("overview"),
		"MCP's overview": s.tool("overview")}
	for id := range s.first {
		f := s.list[id]
		if f == nil {
			continue
		}
		direction, _, _ := strings.Cut(strings.TrimPrefix(statement(f), f.Benchmark+" "), " ")
		want := fmt.Sprintf("accepted: %s %s since %s (by Ada: known)", direction, words.SignedPercent(f.Delta.Share), f.Since.Run)
		if got := all[f.Benchmark]; got != want && !strings.HasPrefix(got, want+", 1 more") {
			t.Errorf("%s has the state %q, want %q", f.Benchmark, got, want)
		}
		for surface, text := range texts {
			if !strings.Contains(text, want) {
				t.Errorf("%s lacks %q:\n%s", surface, want, text)
			}
		}
	}
	for _, path := range []string{"overview", "report", "check", "history", "history?amount=true",
		"report?candidates=0&max-depth=0&changed=true"} {
		for b, got := range says(path) {
			if got != all[b] {
				t.Errorf("%s says of %s: %q, the list %q", path, b, got, all[b])
			}
		}
	}
}

// pairs compares what a check of two sides says of runs that were recorded in turns.
func (s *surfaces) pairs() {
	type document struct {
		Changes []struct {
			regression.Finding
			Also []regression.Finding
		}
	}
	for _, f := range s.list {
		if f.Change.Pair == "" {
			continue
		}
		doc := decodeAs[document](s.t, s.print("check", "--base", "attr.side=pr-base", "--head", "attr.side=pr-head", "-o", "json"))
		at := slices.IndexFunc(doc.Changes, func(c struct {
			regression.Finding
			Also []regression.Finding
		}) bool {
			return c.ID == f.Change.Finding
		})
		if at < 0 || statement(&doc.Changes[at].Finding) != statement(f) {
			s.t.Errorf("check of both sides lacks %s: %+v", statement(f), doc.Changes)
		}
	}
}

// histories compares what the pages of benchmarks and functions have.
func (s *surfaces) histories(change func(string, *regression.Finding), state func(string, string, *report.Outcome)) {
	t := s.t
	type series struct {
		Series []struct {
			Benchmark string
			Outcome   *report.Outcome
			Changes   []regression.Finding
		}
	}
	has := func(h *series, id string) bool {
		for i := range h.Series {
			if slices.ContainsFunc(h.Series[i].Changes, func(f regression.Finding) bool { return f.ID == id }) {
				return true
			}
		}
		return false
	}
	all := func(surface, text string) series {
		h := decodeAs[series](t, text)
		for i := range h.Series {
			for k := range h.Series[i].Changes {
				change(surface, &h.Series[i].Changes[k])
			}
			if h.Series[i].Outcome != nil {
				state(surface, h.Series[i].Benchmark, h.Series[i].Outcome)
			}
		}
		return h
	}
	benchmark := all("history", s.print("history", "-o", "json"))
	amount := all("history of amounts", s.print("history", "--amount", "-o", "json"))
	for id, f := range s.list {
		if !has(&amount, id) || len(benchmark.Series) > 0 && !has(&benchmark, id) {
			t.Errorf("the history lacks: %s", statement(f))
		}
		if of := all("history of a function", s.print("history", "--function", f.Headline.Function, "-o", "json")); !has(&of, id) {
			t.Errorf("the history of %s lacks: %s", f.Headline.Function, statement(f))
		}
	}
}

// step compares an amount that a chart or diff shows of a finding's function.
func (s *surfaces) step(surface string, got float64, f *regression.Finding) {
	s.t.Helper()
	want := f.Delta.Share
	if f.Delta.Whole() && f.Change.Program != nil {
		want = f.Change.Program.Value
	}
	if slices.Contains(s.blurred, f.Benchmark) {
		if t := f.Delta.Time; got < t.Low/t.Value*want || got > t.High/t.Value*want {
			s.t.Errorf("%s is %s, beyond its interval: %s", surface, words.SignedPercent(got), statement(f))
		}
		return
	}
	if words.SignedPercent(got) != words.SignedPercent(want) {
		s.t.Errorf("%s is %s: %s", surface, words.SignedPercent(got), statement(f))
	}
}

// diff compares the diff that is opened from a change.
func (s *surfaces) diff(f *regression.Finding) {
	t := s.t
	args := []string{"--benchmark", f.Benchmark, "--type", f.Type, "--view", "functions", "--rows", "0", "--min-percent", "0"}
	for _, run := range f.Sides.Base {
		args = append(args, "--base-run", run)
	}
	for _, run := range f.Sides.Head {
		args = append(args, "--head-run", run)
	}
	if f.Sides.Against != "" {
		args = append(args, "--against", f.Sides.Against)
	}
	type amounts struct{ Base, Head, Delta float64 }
	doc := decodeAs[struct {
		RootTotal amounts
		Rows      []struct {
			Function string
			Total    amounts
		}
	}](t, s.print(append([]string{"diff", "-o", "json"}, args...)...))
	for _, row := range doc.Rows {
		if row.Function == f.Headline.Function && !f.Delta.Whole() { // whose size is that of the whole diff
			s.step("the diff of "+f.Headline.Function, row.Total.Delta/doc.RootTotal.Base, f)
		}
	}
	head, _, _ := strings.Cut(s.print(append([]string{"diff"}, args...)...), "\n")
	relative := words.SignedPercent(doc.RootTotal.Head/doc.RootTotal.Base - 1)
	if !strings.Contains(head, relative) {
		t.Errorf("the head line of the diff is %q; its document has %s", head, relative)
	}
	if p := f.Change.Program; p != nil && f.Sides.Against == "" && words.SignedPercent(p.Value) != relative {
		t.Errorf("the program changed by %s since %s, in the diff by %s", words.SignedPercent(p.Value), f.Since.Run, relative)
	}
}

// texts compares what people read.
func (s *surfaces) texts(findings []regression.Finding) {
	for surface, text := range map[string]string{
		"text of regressions": s.print("regressions"), "text of overview": s.print("overview"), "text of report": s.print("report"),
		"Markdown": s.print("report", "-o", "md"), "HTML": pageData(s.t, s.print("report", "-o", "html")),
		"MCP": s.tool("regressions"), "MCP's report": s.tool("report"), "MCP's overview": s.tool("overview"),
	} {
		markdown, overview := surface == "Markdown" || surface == "MCP's report", strings.HasSuffix(surface, "overview")
		if markdown {
			text = strings.ReplaceAll(text, `\`, "")
		}
		for i := range findings {
			f := &findings[i]
			if surface == "HTML" { // which has the numbers of the document
				exact, _ := json.Marshal(f.Delta)
				if !strings.Contains(text, f.ID) || !strings.Contains(text, string(exact)) {
					s.t.Errorf("HTML lacks %s", statement(f))
				}
				continue
			}
			size := words.SignedPercent(f.Delta.Share)
			if t := f.Delta.Time; t != nil && !overview {
				size = words.SignedMetric(t.Value, t.Unit)
			}
			switch {
			case overview && !s.first[f.ID]: // one change of each benchmark
			case markdown && strings.Contains(text, size) && strings.Contains(text, f.ID): // long names are cut
			case !strings.Contains(text, size) || !strings.Contains(text, report.Label(f)) || !strings.Contains(text, f.Since.Run):
				s.t.Errorf("%s lacks %s:\n%s", surface, statement(f), text)
			}
		}
	}
}

// pageData unpacks the data of a report's page.
func pageData(t *testing.T, page string) string {
	t.Helper()
	_, data, _ := strings.Cut(page, `id="dendro-data">`)
	data, _, _ = strings.Cut(data, "<")
	packed, err := base64.StdEncoding.DecodeString(data)
	if err != nil {
		t.Fatal(err)
	}
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// tool calls a tool of assistants.
func (s *surfaces) tool(name string) string {
	s.t.Helper()
	var out, errOut bytes.Buffer
	in := strings.NewReader(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"` + name + `","arguments":{}}}
`)
	run(s.t.Context(), &command.Env{In: in, Out: &out, Err: &errOut}, []string{"mcp", "--store", s.address})
	for line := range strings.Lines(out.String()) {
		answer := decodeAs[struct {
			ID     int
			Result struct{ Content []struct{ Text string } }
		}](s.t, line)
		if answer.ID == 1 && len(answer.Result.Content) > 0 {
			return answer.Result.Content[0].Text
		}
	}
	s.t.Fatalf("the tool %s: %s%s", name, &out, &errOut)
	return ""
}
