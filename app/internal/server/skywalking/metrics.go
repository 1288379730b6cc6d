package skywalking

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/dendroprof/dendro/app/internal/server"
	"github.com/dendroprof/dendro/traceprof"
)

// counts are the metrics of the protocols.
type counts struct {
	malformed *prometheus.CounterVec // method
	commands  *prometheus.CounterVec // way
	ignored   *prometheus.CounterVec // method
	uploads   *prometheus.CounterVec // outcome
}

func newCounts() counts {
	vec := func(name, help, label string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: "dendro_skywalking_" + name, Help: help}, []string{label})
	}
	return counts{
		malformed: vec("malformed_total", "Messages of agents that could not be decoded, by method.", "method"),
		commands:  vec("commands_total", "Tasks delivered to agents, by way: poll, push.", "way"),
		ignored:   vec("ignored_total", "Messages of agents that were accepted and dropped (meters, logs, events), by method.", "method"),
		uploads:   vec("uploads_total", "Recordings of async-profiler and pprof tasks, by outcome: stored, refused, failed, broken.", "outcome"),
	}
}

// intakeMetrics are the metrics of the intake.
var intakeMetrics = []server.Number[traceprof.IntakeMetrics]{
	server.NewNumber("dendro_intake_snapshots_total", "Snapshots stored; repeats count.",
		func(m *traceprof.IntakeMetrics) float64 { return float64(m.Snapshots) }),
	server.NewNumber("dendro_intake_segments_total", "Segments stored; repeats count.",
		func(m *traceprof.IntakeMetrics) float64 { return float64(m.Segments) }),
	server.NewNumber("dendro_intake_new_stacks_total", "Stacks that were decoded because they were not known.",
		func(m *traceprof.IntakeMetrics) float64 { return float64(m.NewStacks) }),
	server.NewNumber("dendro_intake_refused_total", "Snapshots, segments and reports of instances that the store refused.",
		func(m *traceprof.IntakeMetrics) float64 { return float64(m.Failed) }),
	server.NewNumber("dendro_intake_commits_total", "Commits of received data.",
		func(m *traceprof.IntakeMetrics) float64 { return float64(m.Batches) }),
	server.NewNumber("dendro_intake_commit_failures_total", "Failed commits of received data.",
		func(m *traceprof.IntakeMetrics) float64 { return float64(m.FailedBatches) }),
	server.NewNumber("dendro_intake_commit_seconds_total", "Time in commits of received data.",
		func(m *traceprof.IntakeMetrics) float64 { return m.CommitTime.Seconds() }),
	server.NewNumber("dendro_intake_pending_bytes", "Received data that waits for a commit.",
		func(m *traceprof.IntakeMetrics) float64 { return float64(m.PendingBytes) }),
	server.NewNumber("dendro_intake_stacks", "Distinct stacks in memory.",
		func(m *traceprof.IntakeMetrics) float64 { return float64(m.Stacks) }),
	server.NewNumber("dendro_intake_stack_bytes", "Memory of the stacks.",
		func(m *traceprof.IntakeMetrics) float64 { return float64(m.StackBytes) }),
}

// metrics returns the metrics of the protocols and of the intake.
func (a *Agents) metrics() []prometheus.Collector {
	intake := func() (traceprof.IntakeMetrics, error) { return a.opts.Intake.Metrics(), nil }
	return []prometheus.Collector{a.counts.malformed, a.counts.commands, a.counts.ignored, a.counts.uploads,
		server.Numbers(intake, intakeMetrics)}
}
