package github

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// server is as much of GitHub as a comment needs.
type server struct {
	t        *testing.T
	comments []comment
	readOnly bool // the token of a fork
}

type comment struct {
	ID      int64  `json:"id"`
	Body    string `json:"body"`
	URL     string `json:"html_url"`
	foreign bool   // of another user
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Authorization") != "Bearer secret" {
		s.t.Errorf("authorization %q", r.Header.Get("Authorization"))
	}
	refuse := func(status int) {
		w.WriteHeader(status)
		fmt.Fprint(w, `{"message":"Resource not accessible by integration"}`)
	}
	var body struct{ Body string }
	if r.Method != http.MethodGet {
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			s.t.Error(err)
		}
		if s.readOnly {
			refuse(http.StatusForbidden)
			return
		}
	}
	path := strings.TrimPrefix(r.URL.Path, "/repos/acme/shop/issues/")
	switch {
	case r.Method == http.MethodGet && path == "7/comments":
		page, _ := strconv.Atoi(r.URL.Query().Get("page"))
		from := min(len(s.comments), (page-1)*perPage)
		list := s.comments[from:min(len(s.comments), from+perPage)]
		if list == nil {
			list = []comment{}
		}
		_ = json.NewEncoder(w).Encode(list)
	case r.Method == http.MethodPost && path == "7/comments":
		s.comments = append(s.comments, comment{ID: int64(len(s.comments) + 1), Body: body.Body, URL: "there"})
		w.WriteHeader(http.StatusCreated)
		_ = json.NewEncoder(w).Encode(s.comments[len(s.comments)-1])
	case r.Method == http.MethodPatch && strings.HasPrefix(path, "comments/"):
		id, _ := strconv.Atoi(strings.TrimPrefix(path, "comments/"))
		if s.comments[id-1].foreign {
			refuse(http.StatusForbidden)
			return
		}
		s.comments[id-1].Body = body.Body
		_ = json.NewEncoder(w).Encode(s.comments[id-1])
	default:
		s.t.Errorf("unexpected %s %s", r.Method, r.URL)
		refuse(http.StatusNotFound)
	}
}

func start(t *testing.T, s *server) *Workflow {
	s.t = t
	at := httptest.NewServer(s)
	t.Cleanup(at.Close)
	return &Workflow{Actions: true, Token: "secret", API: at.URL, Repository: "acme/shop", Number: 7}
}

func TestCommentIsUpdatedInPlace(t *testing.T) {
	s := &server{}
	for i := range perPage { // the comment is on the second page
		s.comments = append(s.comments, comment{ID: int64(i + 1), Body: "hello"})
	}
	// Somebody quoted the marker in front of a comment of his own.
	s.comments[3].Body, s.comments[3].foreign = Marker("check")+"\nmine", true
	w := start(t, s)
	for _, body := range []string{"first", "second", "third"} {
		if address, err := w.Comment(context.Background(), http.DefaultClient, "check", body); err != nil || address != "there" {
			t.Fatal(address, err)
		}
	}
	if _, err := w.Comment(context.Background(), http.DefaultClient, "nightly", "other"); err != nil {
		t.Fatal(err)
	}
	if len(s.comments) != perPage+2 {
		t.Fatalf("%d comments, want %d", len(s.comments), perPage+2)
	}
	if got := s.comments[perPage].Body; got != "<!-- dendro check -->\nthird" {
		t.Errorf("body %q", got)
	}
	if !strings.HasSuffix(s.comments[3].Body, "mine") {
		t.Error("the comment of another user was changed")
	}
}

func TestCommentRefused(t *testing.T) {
	w := start(t, &server{readOnly: true})
	_, err := w.Comment(context.Background(), http.DefaultClient, "check", "x")
	if err == nil || !strings.Contains(err.Error(), "403") || strings.Contains(err.Error(), "secret") {
		t.Error(err)
	}
}

func TestAnnotate(t *testing.T) {
	var b strings.Builder
	list := []Annotation{
		{Level: "error", File: "a,b:c.go", Line: 3, Title: "50%", Message: "one\n::warning::two"},
		{Level: "warning", Message: "no place"},
	}
	for range 12 {
		list = append(list, Annotation{Level: "notice", Message: "n"})
	}
	left, err := Annotate(&b, list)
	if err != nil || left != 2 {
		t.Error(left, err)
	}
	want := "::error file=a%2Cb%3Ac.go,line=3,title=50%25::one%0A::warning::two\n::warning::no place\n" + strings.Repeat("::notice::n\n", 10)
	if b.String() != want {
		t.Errorf("got %q", b.String())
	}
}

func TestFromEnvironment(t *testing.T) {
	dir := t.TempDir()
	event := filepath.Join(dir, "event.json")
	if err := os.WriteFile(event, []byte(`{"action":"synchronize","pull_request":{"number":7,"head":{"sha":"abc"}}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	env := map[string]string{"GITHUB_ACTIONS": "true", "GITHUB_TOKEN": "secret", "GITHUB_REPOSITORY": "acme/shop", "GITHUB_EVENT_PATH": event,
		"GITHUB_STEP_SUMMARY": filepath.Join(dir, "summary"), "GITHUB_SHA": "merge"}
	w, err := FromEnvironment(func(k string) string { return env[k] })
	if err != nil || !w.CanComment() || w.Number != 7 || w.HeadCommit != "abc" || w.API != "https://api.github.com" {
		t.Errorf("%+v %v", w, err)
	}
	for range 2 {
		if err := w.AppendSummary("# x"); err != nil {
			t.Fatal(err)
		}
	}
	if text, _ := os.ReadFile(w.Summary); string(text) != "# x\n# x\n" {
		t.Errorf("summary %q", text)
	}
	env["GITHUB_TOKEN"] = ""
	if w, _ := FromEnvironment(func(k string) string { return env[k] }); w.CanComment() {
		t.Error("would comment without a token")
	}
	env["GITHUB_ACTIONS"] = ""
	if w, _ := FromEnvironment(func(k string) string { return env[k] }); w != (Workflow{}) {
		t.Errorf("%+v outside of Actions", w)
	}
}

// TestCommits: the commit that is measured is also judged, except in pull_request_target, which checks out the base.
func TestCommits(t *testing.T) {
	pull := func(event string) *Workflow {
		return &Workflow{Event: event, Commit: "sha", HeadCommit: "head", Number: 7}
	}
	other := func(event string) *Workflow { return &Workflow{Event: event, Commit: "sha", HeadCommit: "sha"} }
	for _, c := range []struct {
		w                            *Workflow
		checkedOut, measured, judged string
	}{
		{pull("pull_request"), "sha", "sha", "sha"}, // the merge
		{pull("pull_request"), "head", "head", "head"},
		{pull("pull_request"), "", "head", "head"},
		{pull("pull_request"), "step", "head", "head"},
		{pull("pull_request_review"), "sha", "sha", "sha"},
		{pull("pull_request_target"), "sha", "sha", "head"},
		{pull("pull_request_target"), "head", "head", "head"},
		{other("push"), "sha", "sha", "sha"},
		{other("push"), "step", "sha", "sha"},
		{other("issue_comment"), "head", "head", "head"}, // of the branch that the comment is about
		{other("workflow_dispatch"), "v1", "v1", "v1"},
		{other("schedule"), "", "sha", "sha"},
	} {
		if measured, judged := c.w.Commits(c.checkedOut); measured != c.measured || judged != c.judged {
			t.Errorf("%s, %q checked out: measured %s, judged %s, want %s, %s", c.w.Event, c.checkedOut, measured, judged, c.measured, c.judged)
		}
	}
}
