package intake

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/dendroprof/dendro/continuous"
)

// DefaultFacts are the labels that describe the program of a series and do not make a
// series: with them every restart would be a new one, and CPU and heap of one Go process
// would have different labels.
var DefaultFacts = []string{"__session_id__", "process.*", "thread.*", "thread_name", "otel.scope.*", "telemetry.sdk.*",
	"service.instance.id", "container.id"}

// isFact reports whether a label describes a series only.
func (o *Options) isFact(name string) bool {
	return slices.ContainsFunc(o.Facts, func(pattern string) bool {
		prefix, ok := strings.CutSuffix(pattern, "*")
		return ok && strings.HasPrefix(name, prefix) || name == pattern
	})
}

// perSample reports whether a label tells samples apart that belong to one series: ids of
// spans, and what begins with two underscores.
func perSample(name string) bool {
	switch name {
	case "span_id", "trace_id", "profile_id", "profile_trace_id":
		return true
	}
	return strings.HasPrefix(name, "__")
}

// Labels returns labels of a request in the form of package continuous: sorted, with unique
// names, of which the last counts, and without empty values.
func Labels(list []continuous.Label) continuous.Labels {
	return slices.Clip(sorted(slices.Clone(list)))
}

// sorted is Labels in place.
func sorted(byName []continuous.Label) continuous.Labels {
	slices.SortStableFunc(byName, func(a, b continuous.Label) int { return cmp.Compare(a.Name, b.Name) })
	out := byName[:0]
	for i, l := range byName {
		if i+1 < len(byName) && byName[i+1].Name == l.Name || l.Value == "" || l.Name == "" {
			continue
		}
		out = append(out, l)
	}
	return out
}

// identity separates the labels of a request into the service, the labels that make the
// series, and facts. It fails if they break a limit.
func (in *Intake) identity(service string, list continuous.Labels) (s continuous.Series, err error) {
	o := &in.opts
	s.Service = service
	if n := len(list); n > o.MaxLabels {
		return s, refusal("labels", "labels of a series", int64(n), int64(o.MaxLabels), "--continuous-max-labels").of(service)
	}
	for _, l := range append(continuous.Labels{{Name: continuous.ServiceLabel, Value: service}}, list...) {
		if n := max(len(l.Name), len(l.Value)); n > o.MaxLabelBytes {
			return s, refusal("label-bytes", "bytes of the label "+shorten(l.Name), int64(n), int64(o.MaxLabelBytes),
				"--continuous-max-label-bytes").of(service)
		}
		if !utf8.ValidString(l.Name) || !utf8.ValidString(l.Value) {
			return s, &invalid{"the label " + shorten(strings.ToValidUTF8(l.Name, "\uFFFD")) + " is not UTF-8"}
		}
		switch {
		case l.Name == continuous.ServiceLabel:
		case o.isFact(l.Name):
			s.Facts = append(s.Facts, l)
		case !strings.HasPrefix(l.Name, "__"):
			s.Labels = append(s.Labels, l)
		}
	}
	if n := s.Bytes(); n > o.MaxSeriesBytes {
		return s, refusal("series-bytes", "bytes of all labels of a series", n, o.MaxSeriesBytes, "--continuous-max-series-bytes").of(service)
	}
	return s, nil
}

// invalid is a push that is wrong whatever the limits are.
type invalid struct{ text string }

func (e *invalid) Error() string { return e.text }

// shorten cuts a text from outside for an error.
func shorten(text string) string {
	const most = 100
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}
