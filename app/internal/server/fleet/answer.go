package fleet

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/dendroprof/dendro/app/internal/server"
	"github.com/dendroprof/dendro/continuous"
	"github.com/dendroprof/dendro/continuous/merged"
	"github.com/dendroprof/dendro/continuous/record"
)

// What a worker answers to readers, as JSON.
type (
	// status is what a worker holds.
	status struct {
		Total      int32   `json:"total"`      // partitions of the topic
		Generation int32   `json:"generation"` // of the group: of two that hold a partition, the later does
		Partitions []place `json:"partitions"`
	}
	// place is how far a partition was read.
	place struct {
		Partition int32     `json:"partition"`
		Next      int64     `json:"next"`
		End       int64     `json:"end"`           // of the log
		Complete  bool      `json:"complete"`      // all records from before it was assigned were read
		Read      time.Time `json:"read,omitzero"` // from which on all windows were read
		From      time.Time `json:"from,omitzero"` // from which on it has all windows: it may have removed some
	}
	// question is a query; Step and Name are those of some.
	question struct {
		Query continuous.Query `json:"query"`
		Step  time.Duration    `json:"step,omitempty"`
		Name  string           `json:"name,omitempty"`
	}
	// tree is a continuous.Merged.
	tree struct {
		Merged continuous.Merged `json:"merged"` // without Tree
		Tree   []byte            `json:"tree"`   // a record
	}
)

// The types of problems that readers know.
const (
	problemNotHeld  = "urn:dendro:problem:partition-not-held"
	problemTooLarge = "urn:dendro:problem:sum-too-large"
)

// address is where a worker says what it holds. Below it is each partition, and below that each
// question.
const address = "/fleet/v1/partitions"

func (w *Worker) routes() []server.Route {
	return []server.Route{
		{Pattern: "GET " + address, Handler: http.HandlerFunc(w.status), Needs: server.Reading},
		{Pattern: "POST " + address + "/{partition}/{question}", Handler: http.HandlerFunc(w.answer), Needs: server.Reading},
	}
}

// status answers from memory: a reader that waits for it calls the worker silent.
func (w *Worker) status(rw http.ResponseWriter, _ *http.Request) {
	s := status{Total: w.total.Load()}
	if client := w.client.Load(); client != nil {
		_, s.Generation = client.GroupMetadata()
	}
	w.mu.RLock()
	for number, p := range w.held {
		next, read := p.next.Load(), *p.read.Load()
		s.Partitions = append(s.Partitions, place{Partition: number, Next: next, End: p.last.Load(), Complete: next >= p.target,
			Read: read, From: continuous.Later(read, *p.kept.Load())})
	}
	w.mu.RUnlock()
	slices.SortFunc(s.Partitions, func(a, b place) int { return cmp.Compare(a.Partition, b.Partition) })
	server.WriteJSON(rw, http.StatusOK, s)
}

// answers has the questions.
var answers = map[string]func(context.Context, continuous.Store, *question) (any, error){
	"series": func(ctx context.Context, st continuous.Store, q *question) (any, error) {
		return st.Series(ctx, q.Query)
	},
	"totals": func(ctx context.Context, st continuous.Store, q *question) (any, error) {
		return st.Totals(ctx, q.Query, q.Step)
	},
	"function": func(ctx context.Context, st continuous.Store, q *question) (any, error) {
		return st.Function(ctx, q.Query, q.Name, q.Step)
	},
	"stats": func(ctx context.Context, st continuous.Store, _ *question) (any, error) { return st.WindowStats(ctx) },
	"tree": func(ctx context.Context, st continuous.Store, q *question) (any, error) {
		m, err := st.Tree(ctx, q.Query)
		if err != nil {
			return nil, err
		}
		answer := tree{Merged: *m, Tree: record.AppendTree(nil, m.Tree)}
		answer.Merged.Tree = nil
		return answer, nil
	},
	"services": func(ctx context.Context, st continuous.Store, q *question) (any, error) {
		list, err := st.Series(ctx, q.Query)
		var services []string // in order, as series are
		for i := range list {
			services = append(services, list[i].Service)
		}
		services = slices.Compact(services)
		return services, err
	},
}

func (w *Worker) answer(rw http.ResponseWriter, r *http.Request) {
	number, err := strconv.ParseInt(r.PathValue("partition"), 10, 32)
	ask, ok := answers[r.PathValue("question")]
	if err != nil || !ok {
		server.WriteProblem(rw, r, &server.Problem{Type: server.TypeNotFound, Title: "Not found", Status: http.StatusNotFound})
		return
	}
	var q question
	var answer any
	if err = json.NewDecoder(r.Body).Decode(&q); err == nil {
		err = errNotHeld
		if p := w.opened(int32(number)); p != nil {
			defer p.answering.RUnlock()
			answer, err = ask(r.Context(), p.st, &q)
		}
	}
	if err == nil {
		server.WriteJSON(rw, http.StatusOK, answer)
		return
	}
	problem := server.BodyProblem(err)
	var summed *continuous.SummedError
	switch {
	case errors.As(err, &summed):
		problem = &server.Problem{Type: server.TypeBadRequest, Title: "Summed up", Status: http.StatusBadRequest, Detail: err.Error(),
			More: map[string]any{"summed": summed}}
	case errors.Is(err, merged.ErrMissing):
		problem = &server.Problem{Type: problemNotHeld, Title: "Not held", Status: http.StatusGone, Detail: err.Error()}
	case errors.Is(err, continuous.ErrTooLarge):
		problem = &server.Problem{Type: problemTooLarge, Title: "Too large", Status: http.StatusUnprocessableEntity, Detail: err.Error()}
	case problem == nil:
		problem = &server.Problem{Type: server.TypeBadRequest, Title: "No answer", Status: http.StatusBadRequest, Detail: err.Error()}
	}
	server.WriteProblem(rw, r, problem)
}
