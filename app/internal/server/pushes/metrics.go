package pushes

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/dendroprof/dendro/app/internal/server"
	"github.com/dendroprof/dendro/continuous"
	"github.com/dendroprof/dendro/continuous/intake"
)

// intakeMetrics are the metrics of the intake.
var intakeMetrics = []server.Number[intake.Metrics]{
	server.NewNumber("dendro_continuous_stored_total", "Windows stored.", func(m *intake.Metrics) float64 { return float64(m.Stored) }),
	server.NewNumber("dendro_continuous_repeated_total", "Windows that were stored before.",
		func(m *intake.Metrics) float64 { return float64(m.Repeated) }),
	server.NewNumber("dendro_continuous_failed_total", "Windows that the store refused; their programs were told.",
		func(m *intake.Metrics) float64 { return float64(m.Failed) }),
	server.NewNumber("dendro_continuous_commits_total", "Commits of windows.", func(m *intake.Metrics) float64 { return float64(m.Batches) }),
	server.NewNumber("dendro_continuous_commit_failures_total", "Failed commits of windows.",
		func(m *intake.Metrics) float64 { return float64(m.FailedBatches) }),
	server.NewNumber("dendro_continuous_commit_seconds_total", "Time in commits of windows.",
		func(m *intake.Metrics) float64 { return m.CommitTime.Seconds() }),
	server.NewNumber("dendro_continuous_cut_stacks_total", "Samples whose stack lost outermost frames (--continuous-max-depth).",
		func(m *intake.Metrics) float64 { return float64(m.CutStacks) }),
	server.NewNumber("dendro_continuous_folded_samples_total", "Samples that lost their labels because a limit of series or labels was reached.",
		func(m *intake.Metrics) float64 { return float64(m.FoldedSamples) }),
	server.NewNumber("dendro_continuous_negative_samples_total", "Samples with a negative value, which were dropped.",
		func(m *intake.Metrics) float64 { return float64(m.NegativeSamples) }),
	server.NewNumber("dendro_continuous_lost_lines_total", "Samples whose lines were not kept, because too many stacks waited (--continuous-max-pending).",
		func(m *intake.Metrics) float64 { return float64(m.LostLines) }),
	server.NewNumber("dendro_continuous_reader_panics_total", "Readers that panicked: each is a defect of Dendro.",
		func(m *intake.Metrics) float64 { return float64(m.Panics) }),
	server.NewNumber("dendro_continuous_pending_bytes", "Windows that wait for a commit, in bytes.",
		func(m *intake.Metrics) float64 { return float64(m.PendingBytes) }),
	server.NewNumber("dendro_continuous_active_series", "Series that were pushed in the last hour.",
		func(m *intake.Metrics) float64 { return float64(m.Series) }),
	server.NewNumber("dendro_continuous_intake_paths", "Call paths in the dictionary of the intake.",
		func(m *intake.Metrics) float64 { return float64(m.Paths) }),
}

// receptionMetrics returns the metrics of the reception.
func receptionMetrics(in *intake.Intake) []prometheus.Collector {
	refused := prometheus.NewDesc("dendro_continuous_refused_total",
		"Pushes that were refused, by reason: invalid, size, labels, label-bytes, series-bytes, series, age, rate, queue, token, unavailable, canceled.", []string{"reason"}, nil)
	return []prometheus.Collector{
		server.Numbers(func() (intake.Metrics, error) { return in.Metrics(), nil }, intakeMetrics),
		server.Collected(func(to chan<- prometheus.Metric) {
			for reason, n := range in.Metrics().Refused {
				to <- prometheus.MustNewConstMetric(refused, prometheus.CounterValue, float64(n), reason)
			}
		})}
}

// forestMetrics are the metrics of the call paths of a store of windows.
var forestMetrics = []server.Number[continuous.Forest]{
	server.NewNumber("dendro_continuous_paths", "Call paths in the store (--continuous-max-paths).",
		func(f *continuous.Forest) float64 { return float64(f.Paths) }),
	server.NewNumber("dendro_continuous_text_bytes", "Bytes of the names and places of functions, and of labels of series, in the store (--continuous-max-text).",
		func(f *continuous.Forest) float64 { return float64(f.Text) }),
	server.NewNumber("dendro_continuous_folded_stacks_total", "Stacks that were added to (other), because the call paths or texts of the store or of a service reached their limit.",
		func(f *continuous.Forest) float64 { return float64(f.Folded) }),
}

// storeMetrics returns the metrics of a store of windows; forest is nil if the engine has no limits.
func storeMetrics(st continuous.Store, forest continuous.Limited) []prometheus.Collector {
	windows := prometheus.NewDesc("dendro_continuous_windows", "Windows in the store, by level: raw, hour, day.", []string{"level"}, nil)
	bytes := prometheus.NewDesc("dendro_continuous_window_bytes", "Bytes of their vectors, by level.", []string{"level"}, nil)
	list := []prometheus.Collector{server.Collected(func(to chan<- prometheus.Metric) {
		stats, err := st.WindowStats(context.Background())
		if err != nil {
			to <- prometheus.NewInvalidMetric(windows, err)
			return
		}
		for level, name := range [...]string{"raw", "hour", "day"} {
			to <- prometheus.MustNewConstMetric(windows, prometheus.GaugeValue, float64(stats.Windows[level]), name)
			to <- prometheus.MustNewConstMetric(bytes, prometheus.GaugeValue, float64(stats.Bytes[level]), name)
		}
	})}
	if forest != nil {
		list = append(list, server.Numbers(func() (continuous.Forest, error) { return forest.Forest(context.Background()) }, forestMetrics))
	}
	return list
}
