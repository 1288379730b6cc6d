// Package functions serves what functions of services take as metrics of Prometheus, so that alerts
// and dashboards need nothing of Dendro's page.
//
// A core is a second of CPU time per second: the CPU time of all windows of a service that began
// in five minutes, divided by these. A window that a program pushes a minute late is in it. The
// package reads windows when it is asked and keeps the answer for some seconds; it stores nothing.
package functions

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/dendroprof/dendro/analysis/own"
	"github.com/dendroprof/dendro/app/internal/server"
	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/continuous"
)

// Chosen says which functions GET /metrics/functions has: the hottest of each service, as overview ranks them, and some of
// all services by their names.
type Chosen struct {
	Top   int
	Named []string
}

// Parse parses numbers and names; nil for none.
func Parse(list []string) (*Chosen, error) {
	if len(list) == 0 {
		return nil, nil
	}
	m := &Chosen{}
	for _, text := range list {
		n, err := strconv.Atoi(text)
		switch {
		case text == "":
			return nil, fmt.Errorf("a function without a name")
		case err != nil:
			m.Named = append(m.Named, text)
		case n < 1 || n > 1000:
			return nil, fmt.Errorf("%d functions of a service: from 1 to 1000", n)
		default:
			m.Top = n
		}
	}
	return m, nil
}

// Of the metrics of functions: the time that they are a mean of, which ends before programs are late
// with their pushes; how long an answer is kept; and how many functions of all services it has.
const (
	functionsOver = 5 * time.Minute
	functionsLate = time.Minute
	functionsKept = 15 * time.Second
	maxFunctions  = 10_000
	maxLabel      = 1024 // bytes of a name
)

// cores is the CPU time per second of a function of a service.
type cores struct {
	service, function string
	own, self, total  float64
}

// Part returns the route.
func Part(c Chosen, st continuous.Store) server.Part {
	return server.Part{Name: "functions", Routes: []server.Route{{Pattern: "GET /metrics/functions",
		Handler: &metrics{Chosen: c, st: st, now: time.Now}}}}
}

// metrics answers GET /metrics/functions.
type metrics struct {
	Chosen
	st  continuous.Store
	now func() time.Time

	mu      sync.Mutex
	at      time.Time
	list    []cores
	omitted int
}

func (m *metrics) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	list, omitted, err := m.current(r.Context())
	if err != nil {
		http.Error(w, "the functions of services cannot be read: "+err.Error(), http.StatusServiceUnavailable)
		return
	}
	registry := prometheus.NewRegistry()
	gauge := func(name, help string, labels ...string) *prometheus.GaugeVec {
		g := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "dendro_" + name, Help: help}, labels)
		registry.MustRegister(g)
		return g
	}
	ownCores := gauge("function_own_cores", "CPU time per second of a function of the service's own code, with what it calls of libraries and the runtime.", "service", "function")
	selfCores := gauge("function_self_cores", "CPU time per second of a function without its callees, mean of five minutes, of all instances of the service.", "service", "function")
	totalCores := gauge("function_total_cores", "The same with its callees.", "service", "function")
	for _, c := range list {
		ownCores.WithLabelValues(c.service, c.function).Set(c.own)
		selfCores.WithLabelValues(c.service, c.function).Set(c.self)
		totalCores.WithLabelValues(c.service, c.function).Set(c.total)
	}
	gauge("functions_omitted", "Functions beyond 10,000, which are left out.").WithLabelValues().Set(float64(omitted))
	promhttp.HandlerFor(registry, promhttp.HandlerOpts{DisableCompression: true}).ServeHTTP(w, r)
}

// current returns the functions of now, or of some seconds ago.
func (m *metrics) current(ctx context.Context) ([]cores, int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.now()
	if now.Sub(m.at) < functionsKept {
		return m.list, m.omitted, nil
	}
	list, omitted, err := m.read(ctx, now)
	if err == nil {
		m.at, m.list, m.omitted = now, list, omitted
	}
	return list, omitted, err
}

func (m *metrics) read(ctx context.Context, now time.Time) (list []cores, omitted int, err error) {
	q := continuous.Query{Until: now.Add(-functionsLate)}
	q.From = q.Until.Add(-functionsOver)
	all, err := m.st.Series(ctx, q)
	if err != nil {
		return nil, 0, err
	}
	all = slices.DeleteFunc(all, func(s continuous.Series) bool { return !s.Type.CPUTime() })
	for series := range continuous.ByService(all) {
		one, of := &series[0], q // CPU time by two profilers is the same time
		of.Type = one.Type
		of.Matchers = []continuous.Matcher{{Name: continuous.ServiceLabel, Op: continuous.Equal, Value: one.Service}}
		merged, err := m.st.Tree(ctx, of)
		if err != nil {
			return nil, 0, err
		}
		found := m.chosen(one.Service, merged.Tree)
		room := min(len(found), maxFunctions-len(list))
		list, omitted = append(list, found[:room]...), omitted+len(found)-room
	}
	return list, omitted, nil
}

// chosen returns the chosen functions of a service, the hottest first.
func (m *metrics) chosen(service string, t *calltree.Tree) (list []cores) {
	at, values := map[string]int{}, t.OwnValues(own.Of(t.Table, t.Self))
	for _, row := range t.FunctionRows() {
		name := t.Functions[row.Func].Name
		name = strings.ToValidUTF8(name[:min(len(name), maxLabel)], "\uFFFD")
		i, known := at[name]
		if !known {
			i = len(list)
			at[name], list = i, append(list, cores{service: service, function: name})
		}
		list[i].own += float64(values[row.Func]) / float64(functionsOver)
		list[i].self += float64(row.Self) / float64(functionsOver)
		list[i].total += float64(row.Total) / float64(functionsOver)
	}
	slices.SortFunc(list, func(a, b cores) int { return cmp.Or(cmp.Compare(b.own, a.own), cmp.Compare(a.function, b.function)) })
	rest := list[min(m.Top, len(list)):]
	list = list[:min(m.Top, len(list)):min(m.Top, len(list))]
	for _, c := range rest {
		if slices.Contains(m.Named, c.function) {
			list = append(list, c)
		}
	}
	return list
}
