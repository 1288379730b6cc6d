package server

import (
	"log/slog"
	"net/http"
	"runtime"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// metrics are the server's own metrics and its registry.
type metrics struct {
	registry *prometheus.Registry

	httpRequests *prometheus.CounterVec   // route, method, code
	httpSeconds  *prometheus.HistogramVec // route
	httpNow      prometheus.Gauge
	refused      *prometheus.CounterVec // reason
	grpcCalls    *prometheus.CounterVec // method, code
	grpcSeconds  *prometheus.HistogramVec
	panics       prometheus.Counter
}

func newMetrics(version string, parts []Part) *metrics {
	seconds := []float64{.001, .005, .025, .1, .5, 2.5, 10, 60, 600}
	m := &metrics{
		registry: prometheus.NewRegistry(),
		httpRequests: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "dendro_http_requests_total",
			Help: "HTTP requests answered, by route, method and status."}, []string{"route", "method", "code"}),
		httpSeconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "dendro_http_request_duration_seconds",
			Help: "Time from a request's headers to the end of its answer.", Buckets: seconds}, []string{"route"}),
		httpNow: prometheus.NewGauge(prometheus.GaugeOpts{Name: "dendro_http_requests_in_flight",
			Help: "HTTP requests being answered."}),
		refused: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "dendro_refused_total",
			Help: "Refusals by reason: guard, token, busy, encoding (requests), answers (too much memory for slow clients), messages, connections."}, []string{"reason"}),
		grpcCalls: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "dendro_grpc_calls_total",
			Help: "gRPC calls answered, by method and status."}, []string{"method", "code"}),
		grpcSeconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "dendro_grpc_call_duration_seconds",
			Help: "Time of gRPC calls.", Buckets: seconds}, []string{"method"}),
		panics: prometheus.NewCounter(prometheus.CounterOpts{Name: "dendro_panics_total",
			Help: "Calls that ended in a panic: each is a defect of Dendro."}),
	}
	build := prometheus.NewGauge(prometheus.GaugeOpts{Name: "dendro_build_info",
		Help:        "Always 1; the labels are the version of Dendro and of Go.",
		ConstLabels: prometheus.Labels{"version": version, "go": runtime.Version()}})
	build.Set(1)
	m.registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		m.httpRequests, m.httpSeconds, m.httpNow, m.refused, m.grpcCalls, m.grpcSeconds, m.panics, build)
	for _, p := range parts {
		m.registry.MustRegister(p.Metrics...)
	}
	return m
}

// handler serves the metrics in Prometheus's text format. If some cannot be collected, as
// from a store that does not answer, the others are served.
func (m *metrics) handler(log *slog.Logger) http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{MaxRequestsInFlight: 4, DisableCompression: true,
		ErrorHandling: promhttp.ContinueOnError, ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelWarn)})
}

// Collected sends metrics when they are collected, and not before: the server starts without reading
// what they are of.
type Collected func(to chan<- prometheus.Metric)

// Describe implements prometheus.Collector; it leaves the metrics unchecked.
func (Collected) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector.
func (c Collected) Collect(to chan<- prometheus.Metric) { c(to) }

// Number is a metric of a T: a counter if its name ends in _total, otherwise a gauge.
type Number[T any] struct {
	name, help string
	value      func(*T) float64
}

// NewNumber returns a metric of a T.
func NewNumber[T any](name, help string, value func(*T) float64) Number[T] {
	return Number[T]{name, help, value}
}

// Numbers collects the metrics of a T, which it reads once for all of them.
func Numbers[T any](read func() (T, error), list []Number[T]) Collected {
	return func(to chan<- prometheus.Metric) {
		of, err := read()
		for _, n := range list {
			desc, kind := prometheus.NewDesc(n.name, n.help, nil, nil), prometheus.GaugeValue
			if strings.HasSuffix(n.name, "_total") {
				kind = prometheus.CounterValue
			}
			if err != nil {
				to <- prometheus.NewInvalidMetric(desc, err)
			} else {
				to <- prometheus.MustNewConstMetric(desc, kind, n.value(&of))
			}
		}
	}
}
