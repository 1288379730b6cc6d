package endpoint_test

import (
	"bytes"
	"errors"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dendroprof/dendro/app/internal/client"
	"github.com/dendroprof/dendro/app/internal/endpoint"
	"github.com/dendroprof/dendro/app/internal/server"
	"github.com/dendroprof/dendro/app/internal/server/api"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/query/document"
	"github.com/dendroprof/dendro/query/judge"
	"github.com/dendroprof/dendro/query/tasks"
	"github.com/dendroprof/dendro/query/trees"
	"github.com/dendroprof/dendro/store/mem"
)

// asked returns a store with all kinds of content, and a server of it.
func asked(t *testing.T) (*endpoint.Local, endpoint.Remote) {
	t.Helper()
	l := endpoint.Full(t)
	s, err := server.New(server.Options{}, api.Part(api.Options{Store: l.Store}))
	if err != nil {
		t.Fatal(err)
	}
	listening := httptest.NewServer(s.Handler())
	t.Cleanup(listening.Close)
	c, err := client.Open(t.Context(), listening.URL, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return l, endpoint.Remote{Client: c}
}

// TestServerAnswersTheSame: every question that only reads has the same answer of a store and of its
// server: the result, the document in rows and in columns, the table, the file.
func TestServerAnswersTheSame(t *testing.T) {
	l, r := asked(t)
	var files int
	for _, e := range endpoint.All {
		q := endpoint.Prepared(t, e)
		if q.Changes {
			continue
		}
		// read returns an answer in a form, or its error.
		read := func(a endpoint.Asker, form string) string {
			q := endpoint.Prepared(t, e) // answering may complete a request
			var b bytes.Buffer
			var f *endpoint.File
			var err error
			switch form {
			case "result":
				var result any
				if result, err = a.Ask(t.Context(), q); err == nil {
					err = document.Write(&b, result, document.Form{Client: true})
				}
			case "rows", "columns":
				err = a.Document(t.Context(), q, form == "columns", &b)
			case "tsv", "csv":
				f, err = a.Sheet(t.Context(), q, form)
			default:
				f, err = a.File(t.Context(), q)
			}
			if f != nil && err == nil {
				b.WriteString(strings.Join(f.Notes, "\n") + "\n")
				err = f.Write(&b)
			}
			if err != nil {
				return err.Error()
			}
			return b.String()
		}
		forms := []string{"result", "rows", "columns", "tsv", "csv"}
		switch {
		case q.Form == endpoint.FormFile:
			files++
			forms = []string{"file"}
		case q.Results == nil: // a report, which has formats of its own
			forms = []string{"result"}
		}
		for _, form := range forms {
			here, there := read(l, form), read(r, form)
			if d := cmp.Diff(here, there); d != "" || len(here) < 3 {
				t.Errorf("%s, %s: -store +server:\n%s", q.ID, form, d)
			}
		}
	}
	if files < 5 {
		t.Errorf("%d of the answers are files", files)
	}
}

// TestPictures: a page is a picture where that is asked for.
func TestPictures(t *testing.T) {
	l, r := asked(t)
	for _, a := range []endpoint.Asker{l, r} {
		for _, picture := range []bool{false, true} {
			p := endpoint.TreePage.Blank().Request.(*endpoint.PageRequest[trees.TreeRequest])
			p.Picture, p.Page.View = picture, "flame"
			f, err := a.File(t.Context(), endpoint.TreePage.Of(p))
			if err != nil {
				t.Fatal(err)
			}
			var b bytes.Buffer
			if err := f.Write(&b); err != nil {
				t.Fatal(err)
			}
			if text := b.String(); strings.HasPrefix(text, "<svg") != picture || !strings.Contains(text, "work") {
				t.Errorf("picture %v: %.100s", picture, text)
			}
		}
	}
}

// TestRefused: what cannot be answered is an error that says so, here and from a server.
func TestRefused(t *testing.T) {
	l, r := asked(t)
	export := func(format string) endpoint.Question {
		e := endpoint.Export.Blank().Request.(*endpoint.ExportRequest)
		e.Format = format
		return endpoint.Export.Of(e)
	}
	for _, c := range []struct {
		q          endpoint.Question
		form, want string
	}{
		{export("nosuch"), "file", "nosuch"},
		{export("jfr"), "file", "can only be read"},
		{endpoint.Original.Blank(), "file", "writes the file of one profile; 6 are selected"},
		{endpoint.Task.Of(&tasks.TaskRequest{Task: "nosuch"}), "result", "nosuch"},
		{endpoint.Task.Of(&tasks.TaskRequest{Task: "nosuch"}), "tsv", "has no form tsv"},
	} {
		for _, a := range []endpoint.Asker{l, r} {
			var err error
			switch c.form {
			case "file":
				_, err = a.File(t.Context(), c.q)
			case "tsv":
				_, err = a.Sheet(t.Context(), c.q, c.form)
			default:
				_, err = a.Ask(t.Context(), c.q)
			}
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s by %T: %v, want %s", c.q.ID, a, err, c.want)
			}
		}
	}
	none := &endpoint.Local{Store: mem.New(), Limits: profile.Limits{}}
	for _, e := range []endpoint.Any{endpoint.Tasks, endpoint.TraceArchive, endpoint.TraceProfile} {
		q := endpoint.Prepared(t, e)
		var err error
		if q.Form == endpoint.FormFile {
			_, err = none.File(t.Context(), q)
		} else {
			_, err = none.Ask(t.Context(), q)
		}
		if !errors.Is(err, endpoint.ErrNoTraces) {
			t.Errorf("%s of a store without traces: %v", q.ID, err)
		}
	}
}

// TestChanges: what changes a store is asked of a server as of the store: an acceptance is there
// until it is withdrawn.
func TestChanges(t *testing.T) {
	_, r := asked(t)
	ctx := t.Context()
	accept := endpoint.Accept.Blank().Request.(*judge.AcceptRequest)
	accept.Finding, accept.Reason, accept.By = "0123456789abcdef", "wanted", "somebody"
	if _, err := r.Ask(ctx, endpoint.Accept.Of(accept)); err != nil {
		t.Fatal(err)
	}
	withdraw := endpoint.Withdraw.Blank().Request.(*judge.WithdrawRequest)
	withdraw.Finding = accept.Finding
	for _, want := range []int{1, 0} {
		list, err := endpoint.Answer[judge.AcceptedResult](ctx, r, endpoint.Accepted.Blank())
		if err != nil || len(list.Rows) != want || want > 0 && list.Rows[0].Reason != "wanted" {
			t.Fatalf("%+v, %v", list, err)
		}
		if _, err := r.Ask(ctx, endpoint.Withdraw.Of(withdraw)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := r.Ask(ctx, endpoint.Compact.Blank()); err != nil {
		t.Error(err)
	}
}

// TestDescriptions: the endpoints that openapi.json describes, and the commands send, have names,
// addresses and texts, and each name once.
func TestDescriptions(t *testing.T) {
	var seen []string
	for _, e := range endpoint.All {
		a := e.Describe()
		if a.ID == "" || a.Summary == "" || !strings.HasSuffix(a.Summary, ".") || !strings.HasPrefix(a.Path, "/api/v1/") ||
			(a.Method == "POST") != a.Changes {
			t.Errorf("%+v", a)
		}
		seen = append(seen, a.Method+" "+a.Path)
	}
	slices.Sort(seen)
	if n := len(slices.Compact(slices.Clone(seen))); n != len(seen) {
		t.Errorf("two endpoints have one address: %q", seen)
	}
}
