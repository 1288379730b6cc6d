package api

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/dendroprof/dendro/app/internal/server"
	"github.com/dendroprof/dendro/continuous"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/query/listing"
	"github.com/dendroprof/dendro/report"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/store/duckdb"
	"github.com/dendroprof/dendro/store/mem"
	"github.com/dendroprof/dendro/test/storetest"
)

// versioned is a store that counts its lists of profiles, and knows when it changed.
type versioned struct {
	store.Store
	lists   int
	version uint64
}

func (s *versioned) Profiles(ctx context.Context, q store.Query) ([]store.Profile, error) {
	s.lists++
	return s.Store.Profiles(ctx, q)
}

func (s *versioned) Put(ctx context.Context, files []*store.File, o store.PutOptions) ([]store.Outcome, error) {
	s.version++
	return s.Store.Put(ctx, files, o)
}

func (s *versioned) Version() uint64 { return s.version }

// TestKeptAnswers computes an answer about what changed once for a content of the store,
// and anew for every other request.
func TestKeptAnswers(t *testing.T) {
	st := &versioned{Store: mem.New()}
	im := storetest.NewImporter()
	put := func(run int) {
		t.Helper()
		f := im.File("shop", "pay", fmt.Sprint("r", run), profile.CPUSamples, fmt.Sprintf("×%d  ×50\nmain  main\npay", 100+run))
		if out, err := st.Put(t.Context(), []*store.File{f}, store.PutOptions{Rules: "1"}); err != nil || out[0].Err != nil {
			t.Fatal(err, out)
		}
	}
	for run := range 6 {
		put(run)
	}
	l := labOf(t, st, server.Options{}, Options{})
	ask := func(address string) (body string, computed bool) {
		t.Helper()
		before := st.lists
		w := l.serve(httptest.NewRequest(http.MethodGet, address, nil))
		if w.Code != http.StatusOK {
			t.Fatal(w.Code, w.Body)
		}
		return w.Body.String(), st.lists > before
	}
	first, computed := ask("/api/v1/report?candidates=0&changed=true")
	if !computed {
		t.Error("the first answer came from nowhere")
	}
	if again, computed := ask("/api/v1/report?changed=true&candidates=0"); computed || again != first {
		t.Error("the same request was computed twice")
	}
	for _, other := range []string{"/api/v1/report?candidates=1&changed=true", "/api/v1/report?since=9000d", "/api/v1/report?since=9000d"} {
		if _, computed := ask(other); !computed {
			t.Errorf("%s was not computed", other)
		}
	}
	put(6)
	if _, computed := ask("/api/v1/report?candidates=0&changed=true"); !computed {
		t.Error("an answer from before an import")
	}
}

// TestKeptOfOlderContent does not let an answer that took long replace those of the content
// since.
func TestKeptOfOlderContent(t *testing.T) {
	var k kept
	k.put("a", 2, []byte("new"))
	k.put("b", 1, []byte("old"))
	if got, ok := k.get("a", 2); !ok || string(got) != "new" {
		t.Errorf("%q, %v", got, ok)
	}
	if got, ok := k.get("b", 2); ok {
		t.Errorf("an answer of older content: %q", got)
	}
}

// counting counts the questions about windows.
type counting struct {
	*duckdb.Store
	asked int
}

func (s *counting) Totals(ctx context.Context, q continuous.Query, step time.Duration) (*continuous.Totals, error) {
	s.asked++
	return s.Store.Totals(ctx, q, step)
}

func (s *counting) Tree(ctx context.Context, q continuous.Query) (*continuous.Merged, error) {
	s.asked++
	return s.Store.Tree(ctx, q)
}

// TestTags: what a page asks for again is not sent again, and if the store knows that nothing of the
// selection changed, not computed either; after a push or an import it is the new answer.
func TestTags(t *testing.T) {
	file, err := duckdb.Open(t.Context(), filepath.Join(t.TempDir(), "x.duckdb"), duckdb.Options{})
	if err != nil {
		t.Fatal(err)
	}
	st, m, im := &counting{Store: file}, storetest.NewWindowMaker(), storetest.NewImporter()
	start, n := time.Now().Add(-time.Hour).Truncate(time.Minute), 0
	push := func(service, version string) {
		t.Helper()
		n++
		w := m.Window(service, start.Add(time.Duration(n)*time.Minute), []string{"service_version", version},
			storetest.Sample{Value: int64(1e9 + n), Stack: []string{"main", "serve"}})
		if _, err := st.PutWindows(t.Context(), []*continuous.Window{w}); err != nil {
			t.Fatal(err)
		}
	}
	importRun := func() {
		t.Helper()
		n++
		f := im.File("shop", "pay", fmt.Sprint("r", n), profile.CPUSamples, "×1  ×50\nmain  main\npay")
		if out, err := st.Put(t.Context(), []*store.File{f}, store.PutOptions{Rules: "1"}); err != nil || out[0].Err != nil {
			t.Fatal(err, out)
		}
	}
	push("a", "1")
	push("b", "1")
	importRun()
	l := labOf(t, st, server.Options{}, Options{})
	const unchanged, computed, sent = "unchanged", "unchanged, but computed", "sent"
	tags, bodies := map[string]string{}, map[string]string{}
	ask := func(address string) string {
		t.Helper()
		r, before := httptest.NewRequest(http.MethodGet, address, nil), st.asked
		r.Header.Set("If-None-Match", tags[address])
		w := l.serve(r)
		tags[address] = w.Header().Get("ETag")
		switch {
		case tags[address] == "":
			t.Errorf("%s has no tag", address)
		case w.Code == http.StatusNotModified && w.Body.Len() == 0 && st.asked == before:
			return unchanged
		case w.Code == http.StatusNotModified && w.Body.Len() == 0:
			return computed
		case w.Code != http.StatusOK || w.Body.String() == bodies[address]:
			t.Errorf("%s: %d, sent again: %.300s", address, w.Code, w.Body)
		}
		bodies[address] = w.Body.String()
		return sent
	}
	const series, tree, report = "/api/v1/pushed/series?service=a", "/api/v1/tree?service=a&form=compact", "/api/v1/report?candidates=0"
	const aged, services, tasks = "/api/v1/tree?service=a&since=9000d", "/api/v1/pushed/services", "/api/v1/tasks"
	all := []string{series, tree, report, aged, services, tasks}
	for _, step := range []struct {
		what string
		do   func()
		want []string // by address
	}{
		{"the first answers", func() {}, []string{sent, sent, sent, sent, sent, sent}},
		{"nothing changed", func() {}, []string{unchanged, unchanged, unchanged, computed, unchanged, unchanged}},
		{"another service pushed", func() { push("b", "1") }, []string{unchanged, unchanged, unchanged, computed, sent, unchanged}},
		{"the service pushed a release", func() { push("a", "2"); push("a", "2") }, []string{sent, sent, sent, sent, sent, unchanged}},
		{"a run was stored", importRun, []string{computed, computed, sent, computed, unchanged, unchanged}},
	} {
		step.do()
		for i, address := range all {
			if got := ask(address); got != step.want[i] {
				t.Errorf("%s: %s is %s, want %s", step.what, address, got, step.want[i])
			}
		}
	}
	before := st.WindowsVersion("a")
	if _, err := st.RollUp(t.Context(), time.Now().Add(72*time.Hour), continuous.Policy{}); err != nil || st.WindowsVersion("a") == before {
		t.Error("hours were summed up, and the version is the same", err)
	}
	// One server's versions are nothing to another.
	l = labOf(t, st, server.Options{}, Options{})
	bodies = map[string]string{}
	if got := ask(tree); got != computed {
		t.Errorf("another server: %s", got)
	}
}

// slower returns a store in which pay became slower in the newest two of 12 runs.
func slower(t *testing.T) *versioned {
	t.Helper()
	st := &versioned{Store: mem.New()}
	im := storetest.NewImporter()
	for run := range 12 {
		pay := 50 + run%3
		if run >= 10 {
			pay = 400
		}
		f := im.File("shop", "pay", fmt.Sprintf("r%02d", run), profile.CPUSamples, fmt.Sprintf("×%d  ×%d  ×%d  ×%d  ×%d\nmain  main  main  main  main\nserve  pay  load  parse  write", 1000+run, pay, 700-run%5, 600+run%4, 500-run%3))
		if out, err := st.Put(t.Context(), []*store.File{f}, store.PutOptions{Rules: "1"}); err != nil || out[0].Err != nil {
			t.Fatal(err, out)
		}
	}
	return st
}

// TestAcceptedChanges: what one browser accepts holds for everybody who asks this server, is
// said at once although answers are kept, and ends.
func TestAcceptedChanges(t *testing.T) {
	st := slower(t)
	l := labOf(t, &accepting{st}, server.Options{}, Options{})
	ask := func(method, address string) string {
		t.Helper()
		w := l.serve(httptest.NewRequest(method, address, nil))
		if w.Code != http.StatusOK {
			t.Fatal(address, w.Code, w.Body)
		}
		return w.Body.String()
	}
	type document struct {
		Changes []struct {
			ID           string
			Acknowledged *struct{ By, Reason string }
		}
	}
	report := func() (d document) {
		t.Helper()
		if err := json.Unmarshal([]byte(ask("GET", "/api/v1/report?changed=true")), &d); err != nil || len(d.Changes) == 0 {
			t.Fatal(d, err)
		}
		return d
	}
	id := report().Changes[0].ID
	ask("POST", "/api/v1/accept?finding="+id+"&benchmark=shop/pay&by=Ada&reason=known&up-to=0.9&until=2126-01-01")
	if a := report().Changes[0].Acknowledged; a == nil || a.By != "Ada" || a.Reason != "known" {
		t.Errorf("accepted: %+v", a)
	}
	if body := ask("GET", "/api/v1/check"); strings.Contains(body, `"failed":true`) {
		t.Error("the check fails for an accepted change")
	}
	if body := ask("GET", "/api/v1/regressions"); !strings.Contains(body, `"by":"Ada"`) {
		t.Error("regressions do not say who accepted")
	}
	if body := ask("GET", "/api/v1/accepted"); !strings.Contains(body, id) {
		t.Error(body)
	}
	// The repository of the client says something else of the same finding.
	facts := `{"facts": {"acknowledged": [{"id": "` + id + `", "until": "2001-01-01", "reason": "of the file"}]}}`
	w := l.serve(httptest.NewRequest("POST", "/api/v1/report", strings.NewReader(facts)))
	var d document
	if err := json.Unmarshal(w.Body.Bytes(), &d); err != nil || d.Changes[0].Acknowledged != nil {
		t.Errorf("the file of the repository does not win: %+v, %v", d.Changes, err)
	}
	ask("POST", "/api/v1/accept?finding="+id+"&until=2001-01-01") // it has ended
	if a := report().Changes[0].Acknowledged; a != nil {
		t.Errorf("after its end: %+v", a)
	}
	ask("POST", "/api/v1/withdraw?finding="+id)
	if body := ask("GET", "/api/v1/accepted"); strings.Contains(body, id) {
		t.Error(body)
	}
	if w := l.serve(httptest.NewRequest("POST", "/api/v1/accept?up-to=0.1", nil)); w.Code != http.StatusBadRequest {
		t.Error(w.Code, w.Body)
	}
}

// accepting is a versioned store that keeps accepted changes.
type accepting struct{ *versioned }

func (s *accepting) Accept(ctx context.Context, list ...store.Acceptance) error {
	s.version++
	return s.Store.(store.Accepter).Accept(ctx, list...)
}

func (s *accepting) Withdraw(ctx context.Context, findings ...string) error {
	s.version++
	return s.Store.(store.Accepter).Withdraw(ctx, findings...)
}

func (s *accepting) Accepted(ctx context.Context) ([]store.Acceptance, error) {
	return s.Store.(store.Accepter).Accepted(ctx)
}

// repository says that it was asked.
type repository struct{ located, listed int }

func (r *repository) Locate(_ context.Context, doc *report.Report) error {
	r.located++
	for i := range doc.Changes {
		doc.Changes[i].File = "secret.go"
	}
	return nil
}

func (r *repository) AddSource(context.Context, *listing.Result) error { r.listed++; return nil }

// TestCode: code of the server's repository is for those who may change the store, also where
// an answer is kept; programs read their own repository.
func TestCode(t *testing.T) {
	st := slower(t)
	repo := &repository{}
	const full, reading = "full-0123456789ab", "read-0123456789ab"
	l := labOf(t, st, server.Options{HTTPToken: full, ReadToken: reading}, Options{Code: repo})
	ask := func(token, address string) string {
		t.Helper()
		r := httptest.NewRequest(http.MethodGet, address, nil)
		r.Header.Set("Authorization", "Bearer "+token)
		w := l.serve(r)
		if w.Code != http.StatusOK {
			t.Fatal(w.Code, w.Body)
		}
		return w.Body.String()
	}
	for range 2 { // the second is kept
		if !strings.Contains(ask(full, "/api/v1/report"), "secret.go") {
			t.Error("who may change sees no code")
		}
		if strings.Contains(ask(reading, "/api/v1/report"), "secret.go") {
			t.Error("who may only read sees code")
		}
	}
	if repo.located != 1 {
		t.Errorf("located %d times", repo.located)
	}
	if strings.Contains(ask(full, "/api/v1/report?client=true"), "secret.go") ||
		strings.Contains(ask(full, "/api/v1/report?changed=true&candidates=0"), "secret.go") {
		t.Error("code where none is needed")
	}
}

// TestKeptLate: an answer that was computed for longer than its content lasted does not replace a newer one.
func TestKeptLate(t *testing.T) {
	var k kept
	k.put("/runs", 2, []byte("new"))
	k.put("/runs", 1, []byte("old"))
	if body, ok := k.get("/runs", 2); !ok || string(body) != "new" {
		t.Errorf("%q %v", body, ok)
	}
	k.put("/runs", 3, []byte("newest"))
	if body, ok := k.get("/runs", 3); !ok || string(body) != "newest" {
		t.Errorf("%q %v", body, ok)
	}
	if _, ok := k.get("/runs", 2); ok {
		t.Error("an answer to content that is gone")
	}
}
