package otlp

import (
	"strconv"
	"strings"

	"github.com/dendroprof/dendro/app/internal/server/receiver"
	"github.com/dendroprof/dendro/continuous"
	"github.com/dendroprof/dendro/continuous/intake"
	"github.com/dendroprof/dendro/profile"
)

// Attributes of resources that have a meaning here.
const (
	keyService    = "service.name"
	keyExecutable = "process.executable.name"
)

// identity returns service and labels of the attributes of a resource. ByDefault says that the
// resource does not name its service: it is called name then, or unknown_service.
func identity(attributes []profile.Label, name string) (service string, byDefault bool, labels continuous.Labels) {
	list := make([]continuous.Label, 0, len(attributes))
	executable := ""
	for _, a := range attributes {
		value := a.Text
		if value == "" && a.Num != 0 {
			value = strconv.FormatInt(a.Num, 10)
		}
		switch a.Key {
		case keyService:
			service = value
			continue
		case keyExecutable:
			executable = value
		}
		list = append(list, continuous.Label{Name: a.Key, Value: value})
	}
	labels = intake.Labels(list)
	switch {
	case service != "":
		return service, false, labels
	case name != "":
		return name, true, labels
	case executable != "":
		return "unknown_service:" + executable, true, labels
	}
	return "unknown_service", true, labels
}

// types returns the functions that name the tables of a profile, and by what their values
// are multiplied. CPU time has one name, whatever measured it (the timers of async-profiler are
// types of their own), so that a program has it in every mode of its agent; samples of CPU time
// become time. Other types are named by what their period counts, as Pyroscope does.
func types(p *profile.Profile) (typeOf func(int) (continuous.Type, bool), scale func(int) int64) {
	typeOf = func(i int) (continuous.Type, bool) {
		t := &p.Tables[i].Type
		switch {
		case t.Name == profile.CPU && t.Unit == "nanoseconds", sampledCPU(t):
			return receiver.Type("process_cpu", "cpu", "nanoseconds", "cpu", "nanoseconds"), true
		case t.Original == "off_cpu" && t.PeriodName == "":
			return receiver.Type("off_cpu", t.Original, t.Unit, "", ""), true
		case t.PeriodName == "":
			return receiver.Type("process_cpu", original(t), t.Unit, "", ""), true
		}
		return receiver.Type(t.PeriodName, original(t), t.Unit, t.PeriodName, t.PeriodUnit), true
	}
	scale = func(i int) int64 {
		if t := &p.Tables[i].Type; sampledCPU(t) {
			return t.Period
		}
		return 1
	}
	return typeOf, scale
}

// sampledCPU reports whether values are numbers of samples that stand for CPU time.
func sampledCPU(t *profile.ValueType) bool {
	return t.Original == "samples" && t.Unit == "count" && t.PeriodName == "cpu" && t.PeriodUnit == "nanoseconds" && t.Period > 0
}

// original returns the name of a type as it was sent.
func original(t *profile.ValueType) string {
	if t.Original == "" {
		return strings.TrimSuffix(t.Name, "-samples")
	}
	return t.Original
}
