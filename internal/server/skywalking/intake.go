package skywalking

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/dendroprof/dendro/traceprof"
)

// intakeCollector tells what an intake did.
type intakeCollector struct{ intake *traceprof.Intake }

// intakeMetric is one of its numbers.
type intakeMetric struct {
	desc *prometheus.Desc
	kind prometheus.ValueType
	of   func(*traceprof.IntakeMetrics) float64
}

func newIntakeMetric(name, help string, kind prometheus.ValueType, of func(*traceprof.IntakeMetrics) float64) intakeMetric {
	return intakeMetric{prometheus.NewDesc("dendro_intake_"+name, help, nil, nil), kind, of}
}

var intakeMetrics = []intakeMetric{
	newIntakeMetric("snapshots_total", "Snapshots that were stored.", prometheus.CounterValue, func(m *traceprof.IntakeMetrics) float64 { return float64(m.Snapshots) }),
	newIntakeMetric("segments_total", "Segments that were stored.", prometheus.CounterValue, func(m *traceprof.IntakeMetrics) float64 { return float64(m.Segments) }),
	newIntakeMetric("instances_total", "Reports of instances that were stored.", prometheus.CounterValue, func(m *traceprof.IntakeMetrics) float64 { return float64(m.Instances) }),
	newIntakeMetric("failed_total", "Snapshots, segments and reports that the store refused.", prometheus.CounterValue, func(m *traceprof.IntakeMetrics) float64 { return float64(m.Failed) }),
	newIntakeMetric("commits_total", "Commits of what agents sent.", prometheus.CounterValue, func(m *traceprof.IntakeMetrics) float64 { return float64(m.Batches) }),
	newIntakeMetric("failed_commits_total", "Commits that failed.", prometheus.CounterValue, func(m *traceprof.IntakeMetrics) float64 { return float64(m.FailedBatches) }),
	newIntakeMetric("commit_seconds_total", "Time of all commits.", prometheus.CounterValue, func(m *traceprof.IntakeMetrics) float64 { return m.CommitTime.Seconds() }),
	newIntakeMetric("pending_bytes", "What waits for a commit.", prometheus.GaugeValue, func(m *traceprof.IntakeMetrics) float64 { return float64(m.PendingBytes) }),
	newIntakeMetric("stacks", "Distinct stacks that are remembered.", prometheus.GaugeValue, func(m *traceprof.IntakeMetrics) float64 { return float64(m.Stacks) }),
	newIntakeMetric("stack_bytes", "What they take in memory.", prometheus.GaugeValue, func(m *traceprof.IntakeMetrics) float64 { return float64(m.StackBytes) }),
	newIntakeMetric("new_stacks_total", "Stacks that had to be decoded.", prometheus.CounterValue, func(m *traceprof.IntakeMetrics) float64 { return float64(m.NewStacks) }),
}

// Describe sends what there is to tell.
func (c intakeCollector) Describe(ch chan<- *prometheus.Desc) {
	for i := range intakeMetrics {
		ch <- intakeMetrics[i].desc
	}
}

// Collect sends the numbers of now.
func (c intakeCollector) Collect(ch chan<- prometheus.Metric) {
	now := c.intake.Metrics()
	for i := range intakeMetrics {
		m := &intakeMetrics[i]
		ch <- prometheus.MustNewConstMetric(m.desc, m.kind, m.of(&now))
	}
}
