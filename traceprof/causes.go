package traceprof

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/dendroprof/dendro/internal/column"
)

// Thresholds of causes, in ms except the last.
const (
	skewed   = 10_000             // difference of clocks: more than any delay of messages
	lateDump = 10*Minute + Minute // after the end: a request may be sampled for ten minutes
	silent   = 2 * Minute         // after the end without a report of the instance
	polling  = 30_000             // agents poll every 20 s
	lossy    = 20                 // loss is reported from one snapshot in 20
)

func (f *facts) notBegun() (Cause, bool) {
	return Cause{Code: NotBegun, Text: fmt.Sprintf("The task starts in %s.", span(f.task.Start-f.now))}, true
}

func (f *facts) overWhenCreated() (Cause, bool) {
	return Cause{Code: OverWhenCreated, Text: fmt.Sprintf("The task was over %s before it was created, so no agent received it: create it with a start in the future, or without one.", span(f.task.Created-f.task.End()))}, true
}

func (f *facts) serviceNeverSeen() (Cause, bool) {
	if len(f.instances) > 0 {
		return Cause{}, false
	}
	c := Cause{Code: ServiceNeverSeen, Names: nearest(f.task.Service, f.services)}
	c.Text = fmt.Sprintf("No instance of the service %q has ever reported%s.", f.task.Service, meant(c.Names))
	return c, true
}

func (f *facts) endpointTooLong() (Cause, bool) {
	n := utf8.RuneCountInString(f.task.Endpoint)
	return Cause{Code: EndpointTooLong, Text: fmt.Sprintf(
		"The endpoint's name has %d characters. Agents cut names of operations at %d before they compare them, so nothing is equal to it.", n, MaxEndpointName,
	)}, n > MaxEndpointName
}

func (f *facts) endpointNeverSeen() (Cause, bool) {
	if f.seen || len(f.other) > 0 {
		return Cause{}, false
	}
	names := column.Of(f.endpoints, func(e Endpoint) string { return e.Name })
	c := Cause{Code: EndpointNeverSeen, Names: nearest(f.task.Endpoint, names)}
	c.Text = fmt.Sprintf("No request with the name %q was ever seen, and agents compare names exactly%s.", f.task.Endpoint, meant(c.Names))
	return c, true
}

func (f *facts) endpointNotFirst() (Cause, bool) {
	c := Cause{Code: EndpointNotFirst, Names: f.other}
	c.Text = fmt.Sprintf("Requests have the endpoint %q, but their first span has another name, and agents compare that one%s.", f.task.Endpoint, meant(c.Names))
	return c, !f.seen && len(f.other) > 0
}

// clockSkew finds instances with a wrong clock, and dumps with impossible times.
func (f *facts) clockSkew() (Cause, bool) {
	c := Cause{Code: ClockSkew}
	var worst int64
	for _, i := range f.instances {
		if abs(i.Skew) > skewed && f.alive(&i) {
			c.Instances = append(c.Instances, i.Name)
			if abs(i.Skew) > abs(worst) {
				worst = i.Skew
			}
		}
	}
	if worst != 0 {
		way := "ahead of"
		if worst < 0 {
			way = "behind"
		}
		c.Text = fmt.Sprintf("The clock of %s is %s %s the server's. Agents begin tasks and date snapshots by their own clocks. The start of this task was adjusted if the difference was known when it was delivered.", some(c.Instances), span(abs(worst)), way)
		return c, true
	}
	last := f.task.Start + f.task.Duration + lateDump // agents go on when a task is stopped
	for _, s := range f.snapshots {
		for _, t := range s.Time {
			if t < f.task.Start-skewed || t > last {
				c.Text = fmt.Sprintf("Snapshots of segment %s are dated %s, outside the task's time: the clock of their instance and the server's differ.", s.Segment, date(t))
				return c, true
			}
		}
	}
	return c, false
}

func (f *facts) neverPolled() (Cause, bool) {
	var last int64
	c := Cause{Code: NeverPolled, Instances: f.which(func(i *Instance) bool {
		silent := !f.received(i) && f.alive(i) && i.Polled < f.task.Created && f.task.wants(i.Name)
		if silent {
			last = max(last, i.Polled)
		}
		return silent
	})}
	if len(c.Instances) == 0 || f.now < f.task.Created+polling {
		return c, false
	}
	polled := "never polled for tasks"
	if last > 0 {
		polled = "did not poll for tasks after " + date(last)
	}
	c.Text = fmt.Sprintf("%s %s. Profiling may be switched off in the agent, or its version does not support it.", capital(some(c.Instances)), polled)
	return c, true
}

func (f *facts) neverNotified() (Cause, bool) {
	runs := map[Kind]string{AsyncKind: "java", PprofKind: "go"}[f.task.Kind] // the language of its agents
	var others []string
	c := Cause{Code: NeverNotified, Instances: f.which(func(i *Instance) bool {
		never := !f.received(i) && i.Polled >= f.task.Created && f.task.wants(i.Name)
		if never && runs != "" && i.Language != "" && !strings.EqualFold(i.Language, runs) {
			others = appendNew(others, i.Language)
		}
		return never
	})}
	if len(c.Instances) == 0 {
		return c, false
	}
	why := "it polled after the end of the task, or long before its start"
	if runs != "" {
		why += ", or it reports that it has a later one"
	}
	if len(others) > 0 {
		why = fmt.Sprintf("agents of %s run %s tasks, and it reports the language %s", runs, f.task.Kind, strings.Join(others, ", "))
	}
	c.Text = fmt.Sprintf("%s polled for tasks and did not receive this one: %s.", capital(some(c.Instances)), why)
	return c, true
}

func (f *facts) agentFailed() (Cause, bool) {
	c := Cause{Code: AgentFailed}
	text := ""
	for _, l := range f.logs {
		if l.Event == Failed || l.Event == TooLarge {
			c.Instances = appendNew(c.Instances, l.Instance)
			text = string(l.Event)
			if l.Text != "" {
				text = l.Text
			}
		}
	}
	c.Text = fmt.Sprintf("%s could not carry out the task: %s.", capital(some(c.Instances)), text)
	return c, len(c.Instances) > 0
}

func (f *facts) instanceVanished() (Cause, bool) {
	c := Cause{Code: InstanceVanished, Instances: f.which(func(i *Instance) bool {
		return f.received(i) && i.LastSeen < f.task.End() && !f.finished(i.Name)
	})}
	if f.now < f.task.End()+silent || len(c.Instances) == 0 {
		return c, false
	}
	c.Text = fmt.Sprintf("%s received the task and was last seen before its end.", capital(some(c.Instances)))
	return c, true
}

func (f *facts) segmentsMissing() (Cause, bool) {
	missing := 0
	for _, c := range f.coverage.Segments {
		if !c.Known {
			missing++
		}
	}
	return Cause{Code: SegmentsMissing, Text: fmt.Sprintf(
		"%d of %d sampled segments never arrived: the traces they belong to were probably sampled away by the agent, or were still running when it stopped.", missing, len(f.coverage.Segments),
	)}, missing > 0
}

func (f *facts) snapshotsLost() (Cause, bool) {
	c := &f.coverage.Coverage
	return Cause{Code: SnapshotsLost, Text: fmt.Sprintf(
		"%d snapshots were made and did not arrive, %d did. The agent drops them when its queue is full (profile.snapshot_transport_buffer_size).", c.Lost, c.Received,
	)}, c.Lost*lossy > c.Received+c.Lost
}

func (f *facts) agentSlow() (Cause, bool) {
	c := Cause{Code: AgentSlow}
	worst := int64(0)
	for _, s := range f.coverage.Segments {
		if s.Slow {
			c.Instances = appendNew(c.Instances, s.Instance)
			worst = max(worst, s.Period)
		}
	}
	if worst == 0 {
		return c, false
	}
	c.Text = fmt.Sprintf("The agent took a snapshot every %d ms; the period of the task is %d ms. Durations are right nevertheless.", worst, f.task.Period)
	return c, true
}

func (f *facts) samplingHole() (Cause, bool) {
	c := Cause{Code: SamplingHole}
	var worst Coverage
	for _, s := range f.coverage.Segments {
		if s.Holes > 0 {
			c.Instances = appendNew(c.Instances, s.Instance)
		}
		if s.Hole > worst.Hole {
			worst = s
		}
	}
	c.Text = fmt.Sprintf("The agent took no snapshot for %d ms of segment %s, %d ms after its first snapshot (holes in all: %d). The time in them is not covered: functions that ran only then are missing or too small.",
		worst.Hole, worst.Segment, f.sinceFirst(worst.Segment, worst.HoleAt), f.coverage.Holes)
	return c, worst.Hole > 0
}

// sinceFirst returns the time from the first snapshot of a segment to a time, in ms.
func (f *facts) sinceFirst(segment string, at int64) int64 {
	for i := range f.snapshots {
		if s := &f.snapshots[i]; s.Segment == segment && s.Len() > 0 {
			return at - s.Time[0]
		}
	}
	return 0
}

// which returns the names of the instances that match.
func (f *facts) which(is func(*Instance) bool) (names []string) {
	for k := range f.instances {
		if is(&f.instances[k]) {
			names = append(names, f.instances[k].Name)
		}
	}
	return names
}

// received reports whether the log has that the instance received the task.
func (f *facts) received(i *Instance) bool {
	_, ok := f.notified[i.Name]
	return ok
}

// alive reports whether an instance reported while the task ran.
func (f *facts) alive(i *Instance) bool {
	return i.LastSeen >= f.task.Start && i.FirstSeen <= f.task.End()
}

func (f *facts) finished(instance string) bool {
	return slices.ContainsFunc(f.logs, func(l Log) bool { return l.Event == Finished && l.Instance == instance })
}

// meant returns the end of a sentence with similar names.
func meant(names []string) string {
	if len(names) == 0 {
		return ""
	}
	return fmt.Sprintf("; what was seen is %q", names)
}

// some lists the names of instances, at most three.
func some(instances []string) string {
	const most = 3
	if len(instances) == 1 {
		return fmt.Sprintf("instance %q", instances[0])
	}
	if len(instances) <= most {
		return "instances " + strings.Join(instances, ", ")
	}
	return fmt.Sprintf("instances %s and %d more", strings.Join(instances[:most], ", "), len(instances)-most)
}

// capital capitalises the first letter.
func capital(text string) string { return strings.ToUpper(text[:1]) + text[1:] }

func abs(v int64) int64 { return max(v, -v) }

// span formats a duration in ms, from two days on in days.
func span(ms int64) string {
	const day = 24 * 60 * Minute
	if ms >= 2*day {
		return fmt.Sprintf("%d days", ms/day)
	}
	return (time.Duration(ms) * time.Millisecond).String()
}

func date(ms int64) string { return time.UnixMilli(ms).UTC().Format("2006-01-02 15:04:05 UTC") }
