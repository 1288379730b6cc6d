package traceprof

import "fmt"

// usable returns the requests that began at an instance after it received the task, while
// the task ran by the instance's clock, and the slowest latency.
func (f *facts) usable() (list []Segment, slowest int64) {
	for _, s := range f.requests {
		if received, ok := f.notified[s.Instance]; ok && s.Start >= max(received, f.task.Start) {
			list = append(list, s)
			slowest = max(slowest, s.Latency())
		}
	}
	return list, slowest
}

// early returns the requests that were running when the task began or their
// instance received it, and the slowest latency. Agents do not sample them.
func (f *facts) early() (count int, slowest int64) {
	for _, s := range f.requests {
		at := f.task.Start
		if received, ok := f.notified[s.Instance]; ok {
			at = max(at, received)
		}
		if s.Start < at && at < s.End {
			count++
			slowest = max(slowest, s.Latency())
		}
	}
	return count, slowest
}

// during counts the requests that began while the task ran.
func (f *facts) during() (count int) {
	for _, s := range f.requests {
		if s.Start >= f.task.Start {
			count++
		}
	}
	return count
}

func (f *facts) noRequest() (Cause, bool) {
	c := Cause{Code: NoRequest, Text: fmt.Sprintf("No request of %q began while the task ran; there were some before or after.", f.task.Endpoint)}
	return c, f.seen && f.during() == 0
}

func (f *facts) noRequestSince() (Cause, bool) {
	list, _ := f.usable()
	c := Cause{Code: NoRequestSince, Requests: f.during(), Text: fmt.Sprintf(
		"Requests of %q that began while the task ran: %d, all before their instance received the task, or at other instances.", f.task.Endpoint, f.during())}
	return c, len(f.notified) > 0 && len(list) == 0 && f.during() > 0
}

func (f *facts) requestInProgress() (Cause, bool) {
	n, slowest := f.early()
	when := "the agent received the task"
	if len(f.notified) == 0 {
		when = "the task began"
	}
	return Cause{Code: RequestInProgress, Requests: n, Slowest: slowest, Text: fmt.Sprintf(
		"Requests of %q that were running when %s: %d, the longest took %d ms. Agents sample only requests that begin later.", f.task.Endpoint, when, n, slowest,
	)}, n > 0
}

func (f *facts) allFaster() (Cause, bool) {
	list, slowest := f.usable()
	return Cause{Code: AllFaster, Requests: len(list), Slowest: slowest, Text: fmt.Sprintf(
		"The slowest request took %d ms (requests: %d). Sampling begins once a request is older than the threshold of %d ms.", slowest, len(list), f.task.MinDuration,
	)}, len(list) > 0 && f.task.MinDuration > 0 && slowest <= f.task.MinDuration
}

func (f *facts) tooFast() (Cause, bool) {
	list, slowest := f.usable()
	return Cause{Code: TooFast, Requests: len(list), Slowest: slowest, Text: fmt.Sprintf(
		"The slowest request took %d ms (requests: %d). The first dump is made up to two periods of %d ms after the threshold of %d ms.", slowest, len(list), f.task.Period, f.task.MinDuration,
	)}, len(list) > 0 && (f.task.MinDuration == 0 || slowest > f.task.MinDuration) && slowest <= f.task.MinDuration+2*f.task.Period
}

func (f *facts) finishedEmpty() (Cause, bool) {
	list, slowest := f.usable()
	c := Cause{Code: FinishedEmpty, Requests: len(list), Slowest: slowest}
	for _, l := range f.logs {
		if l.Event == Finished {
			c.Instances = appendNew(c.Instances, l.Instance)
		}
	}
	if len(c.Instances) == 0 || len(list) == 0 || slowest <= f.task.MinDuration+2*f.task.Period {
		return c, false
	}
	c.Text = fmt.Sprintf("%s reported the end of the task, but no snapshot arrived (requests slow enough to be sampled: %d): "+
		"the agent's queue may have dropped them, or their traces were not sampled.", capital(some(c.Instances)), len(list))
	return c, true
}
