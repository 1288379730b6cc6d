package trees_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/dendroprof/dendro/query"
	"github.com/dendroprof/dendro/store"
)

// speaking answers SQL with the runs that it is about.
type speaking struct{ store.Store }

func (s speaking) Unwrap() store.Reader { return s.Store }

func (s speaking) SQL(ctx context.Context, _ string) (*store.SQLAnswer, error) {
	return s.SQLOf(ctx, s, "")
}

func (s speaking) SQLOf(ctx context.Context, runs store.Reader, _ string) (*store.SQLAnswer, error) {
	list, err := runs.Profiles(ctx, store.Query{})
	answer := &store.SQLAnswer{}
	for _, p := range list {
		answer.Columns = append(answer.Columns, fmt.Sprint(p.Benchmark.Group, " ", p.Run.Key, " ", p.Sum))
	}
	return answer, err
}

// TestPushedSQL: SQL of a service is about its blocks of time, with the notes of all answers about
// them; a time without a service is no selection.
func TestPushedSQL(t *testing.T) {
	st := speaking{pushedStore(t)}
	of := func(service, labels string, since time.Time) query.SQLRequest {
		var r query.SQLRequest
		r.Service, r.Labels, r.Since = service, labels, since
		return r
	}
	for _, c := range []struct {
		request           query.SQLRequest
		rows, note, wrong string
	}{
		{of("", "", time.Time{}), "", "", ""},
		{of("cart", "", time.Time{}), "cart 2026-03-01T00:00 7", "a run is 1 min of all instances", ""},
		{of("checkout", `{version="1.4"}`, pushedAt(2)), "checkout 2026-03-01T02:00 200|checkout 2026-03-01T03:00 200", "a run is", ""},
		{of("nobody", "", time.Time{}), "", "", "no profile was pushed"},
		{of("", "", pushedAt(2)), "", "", "give --service or --labels"},
	} {
		answer, err := query.SQL(t.Context(), st, &c.request, "")
		if err != nil {
			if c.wrong == "" || !strings.Contains(err.Error(), c.wrong) {
				t.Errorf("%+v: %v", c.request, err)
			}
			continue
		}
		if got := strings.Join(answer.Columns, "|"); c.wrong != "" || got != c.rows ||
			!strings.Contains(strings.Join(answer.Notes, "|"), c.note) {
			t.Errorf("%+v: %s, notes %q", c.request, got, answer.Notes)
		}
	}
}
