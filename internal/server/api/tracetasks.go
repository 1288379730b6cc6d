package api

import (
	"encoding/json"
	"net/http"
	"net/url"
	"time"

	"github.com/dendroprof/dendro/internal/server/skywalking/ids"
	"github.com/dendroprof/dendro/traceprof"
)

// orderBytes bounds the order of a task.
const orderBytes = 1 << 20

// orderBody is a task as a client asks for it. Times are ms.
type orderBody struct {
	Kind        traceprof.Kind `json:"kind"`
	Service     string         `json:"service"`
	Endpoint    string         `json:"endpoint"`
	Start       int64          `json:"start"`
	Duration    int64          `json:"duration"`
	MinDuration int64          `json:"minDuration"`
	Period      int64          `json:"period"`
	MaxSegments int            `json:"maxSegments"`
	Instances   []string       `json:"instances"`
	Events      []string       `json:"events"`
	Arguments   string         `json:"arguments"`
}

// order returns what a client asks for; what it leaves out is what most want.
func (b *orderBody) order() traceprof.Order {
	return traceprof.Order{Kind: b.Kind, ServiceID: ids.Service(b.Service), Service: ids.ServiceName(b.Service), Endpoint: b.Endpoint, Start: b.Start,
		Duration: b.Duration, MinDuration: b.MinDuration, Period: b.Period, MaxSegments: b.MaxSegments,
		Instances: b.Instances, Events: b.Events, Arguments: b.Arguments}
}

// taskAnswer is a task with where it is in its life.
type taskAnswer struct {
	traceprof.Task
	End   int64           `json:"end"`
	State traceprof.State `json:"state"`
}

func answerOf(t traceprof.Task) taskAnswer {
	return taskAnswer{t, t.End(), t.State(time.Now().UnixMilli())}
}

// createTask orders a task.
func (a *api) createTask(w http.ResponseWriter, r *http.Request) error {
	if _, err := a.traces(); err != nil {
		return err
	}
	b := orderBody{Kind: traceprof.TraceKind, Duration: 5 * traceprof.Minute, Period: 10, MaxSegments: 5}
	d := json.NewDecoder(http.MaxBytesReader(w, r.Body, orderBytes))
	d.DisallowUnknownFields()
	if err := d.Decode(&b); err != nil {
		return mistakef("the order of a task: %w", err)
	}
	if b.Service == "" {
		return mistakef("the order names no service")
	}
	t, err := a.Dispatcher.Create(r.Context(), b.order())
	if err != nil {
		return err
	}
	w.Header().Set("Location", "/api/v1/tasks/"+url.PathEscape(t.ID))
	return writeStatus(w, http.StatusCreated, answerOf(t))
}

// stopTask ends a task now.
func (a *api) stopTask(w http.ResponseWriter, r *http.Request) error {
	if _, err := a.traces(); err != nil {
		return err
	}
	t, err := a.Dispatcher.Stop(r.Context(), r.PathValue("task"))
	if err != nil {
		return err
	}
	return writeJSON(w, answerOf(t))
}

// tasks lists tasks, newest first.
func (a *api) tasks(w http.ResponseWriter, r *http.Request) error {
	p := paramsOf(r)
	q := traceprof.TaskQuery{Kind: traceprof.Kind(p.choice("kind", "", string(traceprof.TraceKind), string(traceprof.AsyncKind), string(traceprof.PprofKind))),
		Service: p.text("service", ""), Endpoint: p.text("endpoint", ""), From: p.millis("since"), To: p.millis("until"), Limit: p.whole("rows", 1000, 1)}
	st, err := a.tracesFor(p)
	if err != nil {
		return err
	}
	list, err := st.Tasks(r.Context(), q)
	if err != nil {
		return err
	}
	return writeList(w, list, answerOf)
}

// task answers about one task.
func (a *api) task(w http.ResponseWriter, r *http.Request) error {
	t, _, err := a.taskOf(r)
	if err != nil {
		return err
	}
	return writeJSON(w, answerOf(t))
}

// taskLogs lists what happened to a task at its instances.
func (a *api) taskLogs(w http.ResponseWriter, r *http.Request) error {
	t, st, err := a.taskOf(r)
	if err != nil {
		return err
	}
	list, err := st.Logs(r.Context(), t.ID)
	if err != nil {
		return err
	}
	return writeList(w, list, func(l traceprof.Log) traceprof.Log { return l })
}

// coverageAnswer is a coverage with its share.
type coverageAnswer struct {
	traceprof.Coverage
	Share float64 `json:"share"`
}

func coverageOf(c traceprof.Coverage) coverageAnswer { return coverageAnswer{c, c.Share()} }

// taskCoverage says how much of what a task was to sample was sampled.
func (a *api) taskCoverage(w http.ResponseWriter, r *http.Request) error {
	t, st, err := a.taskOf(r)
	if err != nil {
		return err
	}
	c, err := traceprof.CoverTask(r.Context(), st, &t)
	if err != nil {
		return err
	}
	answer := struct {
		coverageAnswer
		Segments []coverageAnswer `json:"segments"`
	}{coverageOf(c.Coverage), []coverageAnswer{}}
	for _, s := range c.Segments {
		answer.Segments = append(answer.Segments, coverageOf(s))
	}
	return writeJSON(w, answer)
}

// taskWhy says why a task has no data, or what its data lacks.
func (a *api) taskWhy(w http.ResponseWriter, r *http.Request) error {
	t, st, err := a.taskOf(r)
	if err != nil {
		return err
	}
	causes, err := traceprof.Why(r.Context(), st, t, time.Now().UnixMilli())
	if err != nil {
		return err
	}
	return writeList(w, causes, func(c traceprof.Cause) traceprof.Cause { return c })
}

// taskOf returns the task of an address without parameters.
func (a *api) taskOf(r *http.Request) (traceprof.Task, traceprof.Store, error) {
	st, err := a.tracesFor(paramsOf(r))
	if err != nil {
		return traceprof.Task{}, nil, err
	}
	t, err := st.Task(r.Context(), r.PathValue("task"))
	return t, st, err
}
