package pyroscope

import (
	"slices"
	"strings"

	"github.com/dendroprof/dendro/app/internal/server/receiver"
	"github.com/dendroprof/dendro/continuous"
	"github.com/dendroprof/dendro/profile"
)

// metricOf returns the name of a pprof profile with sample types, for its series: the first
// that the name of a type tells, else that of the last type.
func metricOf(types []string) string {
	if slices.Contains(types, "wall") {
		return "wall"
	}
	for _, t := range types {
		switch {
		case strings.Contains(t, "cpu"):
			return "process_cpu"
		case strings.Contains(t, "alloc_"), strings.Contains(t, "inuse_"), t == "space", t == "objects":
			return "memory"
		case strings.Contains(t, "mutex_"):
			return "mutex"
		case strings.Contains(t, "block_"):
			return "block"
		case strings.Contains(t, "goroutines"):
			return "goroutines"
		}
	}
	if len(types) == 0 {
		return "unknown"
	}
	return types[len(types)-1]
}

// typeConfig is how an SDK describes a sample type; the rest of it has no effect.
type typeConfig struct {
	DisplayName string `json:"display-name"`
}

// pprofTypes returns the function that names the tables of a pprof profile. An empty metric
// follows from the types.
func pprofTypes(p *profile.Profile, metric string, config map[string]typeConfig) func(int) (continuous.Type, bool) {
	if metric == "" {
		shown := make([]string, len(p.Tables))
		for i := range p.Tables {
			shown[i] = p.Tables[i].Type.Original
			if c := config[shown[i]]; c.DisplayName != "" {
				shown[i] = c.DisplayName
			}
		}
		metric = metricOf(shown)
	}
	return func(i int) (continuous.Type, bool) {
		t := &p.Tables[i].Type
		return receiver.Type(metric, t.Original, t.Unit, p.PeriodType, p.PeriodUnit), t.Original != ""
	}
}
