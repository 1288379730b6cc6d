package traceprof

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Limits of tasks. Agents check those of TraceKind too and silently drop tasks beyond
// them, so they cannot be widened here.
const (
	maxDuration    = 15 * Minute
	minPeriod      = 10
	maxMaxSegments = 9

	// latest is the last ms of the year 9999: sums of times beyond could overflow.
	latest = 253_402_300_799_999
	// longest bounds the durations that have no limit of their own, a year.
	longest = 366 * 24 * 60 * Minute
)

// Limits describes the limits of tasks of TraceKind.
func Limits() string {
	return fmt.Sprintf("duration 1 to %d min, period at least %d ms, 1 to %d requests per instance", maxDuration/Minute, minPeriod, maxMaxSegments)
}

// check is one condition, and the error text if it does not hold.
type check struct {
	ok     bool
	reason string
}

// Requested returns the task for Store.CreateTask that a client requests, or a *RefusedError with
// the text of SkyWalking's OAP for the first condition that does not hold. Now, in ms, is the start of a
// task that has none, and of one of another kind than TraceKind that would start before.
func (o Task) Requested(now int64) (Task, error) {
	o.Endpoint = strings.TrimSpace(o.Endpoint)
	if o.Start <= 0 || o.Kind != TraceKind && o.Start < now { // agents begin the others when they receive them
		o.Start = now
	}
	checks := o.traceChecks()
	switch o.Kind {
	case TraceKind:
	case AsyncKind:
		checks = o.asyncChecks()
	case PprofKind:
		checks = o.pprofChecks()
	default:
		checks = []check{{false, "unknown kind of task " + string(o.Kind)}}
	}
	checks = append(checks,
		check{o.Start <= latest, "start time must be before the year 10000"},
		check{0 <= o.Duration && o.Duration <= longest, "duration cannot be greater than a year"},
		check{o.MinDuration <= longest, "min duration threshold cannot be greater than a year"},
		check{0 <= o.Period && o.Period <= longest, "dump period cannot be greater than a year"},
		check{utf8.RuneCountInString(o.Endpoint) <= MaxTaskEndpoint, "endpoint name cannot be longer than 512 characters"})
	for _, c := range checks {
		if !c.ok {
			return Task{}, &RefusedError{c.reason, BadArgument}
		}
	}
	return o.ofKind(now), nil
}

// traceChecks are the conditions of trace profiling in the order of the OAP.
func (o *Task) traceChecks() []check {
	return []check{
		{o.ServiceID != "", "service cannot be null"},
		{o.Endpoint != "", "endpoint name cannot be empty"},
		{o.Duration >= Minute, "monitor duration must greater than 1 minutes"},
		{o.MinDuration >= 0, "min duration threshold must greater than or equals zero"},
		{o.MaxSegments > 0, "max sampling count must greater than zero"},
		{o.Duration <= maxDuration, "The duration of the monitoring task cannot be greater than 15 minutes"},
		{o.Period >= minPeriod, "dump period must be greater than or equals 10 milliseconds"},
		{o.MaxSegments <= maxMaxSegments, "max sampling count must less than 10"},
	}
}

func (o *Task) asyncChecks() []check {
	return []check{
		{o.ServiceID != "", "service cannot be null"},
		{o.Duration > 0, "duration cannot be negative"},
		{len(o.Events) > 0, "events cannot be empty"},
		{len(o.Instances) > 0, "serviceInstanceIds cannot be empty"},
	}
}

func (o *Task) pprofChecks() []check {
	timed, rated := false, false
	for _, e := range o.Events {
		switch strings.ToUpper(e) {
		case "BLOCK", "MUTEX":
			timed, rated = true, true
		case "CPU":
			timed = true
		}
	}
	return []check{
		{o.ServiceID != "", "service cannot be null"},
		{len(o.Events) > 0, "events cannot be empty"},
		{!timed || o.Duration > 0, "duration cannot be negative"},
		{!timed || o.Duration <= maxDuration, "duration cannot be greater than 15 minutes"},
		{!rated || o.Period > 0, "dumpPeriod cannot be negative"},
		{len(o.Instances) > 0, "serviceInstanceIds cannot be empty"},
	}
}

// ofKind returns the task, with only the fields of its kind.
func (o *Task) ofKind(now int64) Task {
	t := Task{
		Kind: o.Kind, Service: CutName(o.Service, MaxServiceName), ServiceID: o.ServiceID,
		Created: now, Start: o.Start, Duration: o.Duration,
	}
	if o.Kind == TraceKind {
		t.Endpoint = strings.ToValidUTF8(o.Endpoint, "\uFFFD")
		t.MinDuration, t.Period, t.MaxSegments = o.MinDuration, o.Period, o.MaxSegments
		return t
	}
	t.Arguments = strings.ToValidUTF8(o.Arguments, "\uFFFD")
	for _, name := range o.Instances {
		t.Instances = append(t.Instances, CutName(name, MaxInstanceName))
	}
	for _, e := range o.Events {
		t.Events = append(t.Events, strings.ToUpper(e))
	}
	if o.Kind == PprofKind {
		t.Period = o.Period
	}
	return t
}

// overlap returns the error for a task that overlaps with another of its kind.
func (k Kind) overlap() *RefusedError {
	switch k {
	case AsyncKind:
		return &RefusedError{"current service already has monitor async profiler task execute at this time", AlreadyProfiling}
	case PprofKind:
		return &RefusedError{"current service already has monitor pprof task execute at this time", AlreadyProfiling}
	}
	return ErrOverlap
}
