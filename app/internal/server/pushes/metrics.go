package pushes

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/dendroprof/dendro/continuous"
	"github.com/dendroprof/dendro/continuous/intake"
)

// metric is one metric of the intake.
type metric struct {
	desc  *prometheus.Desc
	kind  prometheus.ValueType
	value func(*intake.Metrics) float64
}

func newMetric(name, help string, kind prometheus.ValueType, value func(*intake.Metrics) float64) metric {
	return metric{prometheus.NewDesc("dendro_continuous_"+name, help, nil, nil), kind, value}
}

// collector collects the metrics of an intake with one look at it.
type collector struct {
	in      *intake.Intake
	metrics []metric
	refused *prometheus.Desc
}

// newCollector returns the metrics of the reception.
func newCollector(in *intake.Intake) *collector {
	const counter, gauge = prometheus.CounterValue, prometheus.GaugeValue
	return &collector{in: in,
		refused: prometheus.NewDesc("dendro_continuous_refused_total",
			"Pushes that were refused, by reason: invalid, size, labels, label-bytes, series-bytes, series, age, rate, queue, token, unavailable, canceled.", []string{"reason"}, nil),
		metrics: []metric{
			newMetric("stored_total", "Windows stored.", counter, func(m *intake.Metrics) float64 { return float64(m.Stored) }),
			newMetric("repeated_total", "Windows that were stored before.", counter, func(m *intake.Metrics) float64 { return float64(m.Repeated) }),
			newMetric("failed_total", "Windows that the store refused; their programs were told.", counter,
				func(m *intake.Metrics) float64 { return float64(m.Failed) }),
			newMetric("commits_total", "Commits of windows.", counter, func(m *intake.Metrics) float64 { return float64(m.Batches) }),
			newMetric("commit_failures_total", "Failed commits of windows.", counter,
				func(m *intake.Metrics) float64 { return float64(m.FailedBatches) }),
			newMetric("commit_seconds_total", "Time in commits of windows.", counter,
				func(m *intake.Metrics) float64 { return m.CommitTime.Seconds() }),
			newMetric("cut_stacks_total", "Samples whose stack lost outermost frames (--continuous-max-depth).", counter, func(m *intake.Metrics) float64 { return float64(m.CutStacks) }),
			newMetric("folded_samples_total", "Samples that lost their labels because a limit of series or labels was reached.", counter, func(m *intake.Metrics) float64 { return float64(m.FoldedSamples) }),
			newMetric("negative_samples_total", "Samples with a negative value, which were dropped.", counter,
				func(m *intake.Metrics) float64 { return float64(m.NegativeSamples) }),
			newMetric("lost_lines_total", "Samples whose lines were not kept, because too many stacks waited (--continuous-max-pending).", counter,
				func(m *intake.Metrics) float64 { return float64(m.LostLines) }),
			newMetric("reader_panics_total", "Readers that panicked: each is a defect of Dendro.", counter,
				func(m *intake.Metrics) float64 { return float64(m.Panics) }),
			newMetric("pending_bytes", "Windows that wait for a commit, in bytes.", gauge,
				func(m *intake.Metrics) float64 { return float64(m.PendingBytes) }),
			newMetric("active_series", "Series that were pushed in the last hour.", gauge,
				func(m *intake.Metrics) float64 { return float64(m.Series) }),
			newMetric("intake_paths", "Call paths in the dictionary of the intake.", gauge,
				func(m *intake.Metrics) float64 { return float64(m.Paths) }),
		}}
}

// Describe sends the descriptions.
func (c *collector) Describe(to chan<- *prometheus.Desc) {
	for _, m := range c.metrics {
		to <- m.desc
	}
	to <- c.refused
}

// Collect sends the values.
func (c *collector) Collect(to chan<- prometheus.Metric) {
	m := c.in.Metrics()
	for _, one := range c.metrics {
		to <- prometheus.MustNewConstMetric(one.desc, one.kind, one.value(&m))
	}
	for reason, n := range m.Refused {
		to <- prometheus.MustNewConstMetric(c.refused, prometheus.CounterValue, float64(n), reason)
	}
}

// stored collects the metrics of a store of windows.
type stored struct {
	windows *prometheus.Desc
	bytes   *prometheus.Desc
	paths   *prometheus.Desc
	text    *prometheus.Desc
	folded  *prometheus.Desc
	st      continuous.Store
	forest  continuous.Limited // nil: the engine has no limits
}

func newStored(st continuous.Store, forest continuous.Limited) *stored {
	return &stored{st: st, forest: forest,
		windows: prometheus.NewDesc("dendro_continuous_windows", "Windows in the store, by level: raw, hour, day.", []string{"level"}, nil),
		bytes:   prometheus.NewDesc("dendro_continuous_window_bytes", "Bytes of their vectors, by level.", []string{"level"}, nil),
		paths:   prometheus.NewDesc("dendro_continuous_paths", "Call paths in the store (--continuous-max-paths).", nil, nil),
		text:    prometheus.NewDesc("dendro_continuous_text_bytes", "Bytes of the names and places of functions, and of labels of series, in the store (--continuous-max-text).", nil, nil),
		folded:  prometheus.NewDesc("dendro_continuous_folded_stacks_total", "Stacks that were added to (other), because the call paths or texts of the store or of a service reached their limit.", nil, nil),
	}
}

// Describe sends the descriptions.
func (c *stored) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{c.windows, c.bytes, c.paths, c.text, c.folded} {
		to <- d
	}
}

// Collect sends the values.
func (c *stored) Collect(to chan<- prometheus.Metric) {
	if c.forest != nil {
		forest, err := c.forest.Forest(context.Background())
		if err != nil {
			to <- prometheus.NewInvalidMetric(c.paths, err)
			return
		}
		to <- prometheus.MustNewConstMetric(c.paths, prometheus.GaugeValue, float64(forest.Paths))
		to <- prometheus.MustNewConstMetric(c.text, prometheus.GaugeValue, float64(forest.Text))
		to <- prometheus.MustNewConstMetric(c.folded, prometheus.CounterValue, float64(forest.Folded))
	}
	stats, err := c.st.WindowStats(context.Background())
	if err != nil {
		to <- prometheus.NewInvalidMetric(c.windows, err)
		return
	}
	for level, name := range [...]string{"raw", "hour", "day"} {
		to <- prometheus.MustNewConstMetric(c.windows, prometheus.GaugeValue, float64(stats.Windows[level]), name)
		to <- prometheus.MustNewConstMetric(c.bytes, prometheus.GaugeValue, float64(stats.Bytes[level]), name)
	}
}
