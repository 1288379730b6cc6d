package jfr

import (
	"math"
	"time"

	"github.com/dendroprof/dendro/profile"
)

// datadogKinds are the events of Datadog's profiler for Java, a fork of async-profiler,
// which appends chunks of its own to recordings of the JDK that cover the same time.
var datadogKinds = map[string]*eventKind{
	"datadog.ExecutionSample": {series: cpuDatadog, fields: map[string]slot{"state": slotState, "weight": slotWeight},
		read: (*chunk).weightedSample},
	"datadog.MethodSample": {series: wall, fields: map[string]slot{"state": slotState, "weight": slotWeight}, read: (*chunk).weightedSample},
	"datadog.ObjectSample": {series: allocDatadog, class: profile.FrameInlined,
		fields: map[string]slot{"objectClass": slotClass, "size": slotAddress, "weight": slotWeight}, read: (*chunk).scaledSample},
	"datadog.HeapLiveObject": {series: live, class: profile.FrameInlined,
		fields: map[string]slot{"objectClass": slotClass, "size": slotAddress, "weight": slotWeight}, read: (*chunk).scaledSample},

	"datadog.DatadogProfilerConfig": {fields: map[string]slot{"cpuInterval": slotStart, "wallInterval": slotDuration, "version": slotValue},
		read: (*chunk).datadogConfig},
}

// datadogConfig reads the settings of a chunk. Intervals are milliseconds.
func (ch *chunk) datadogConfig(_ *eventType, r *record) {
	s := &ch.settings
	s.any = true
	s.throttle = time.Duration(min(r[slotStart], math.MaxInt32)) * time.Millisecond
	s.wall = int64(min(r[slotDuration], math.MaxInt32)) * int64(time.Millisecond)
	s.version = string(ch.text(nil, r[slotValue]))
}

// weightedSample adds a sample that stands for several of the interval.
func (ch *chunk) weightedSample(e *eventType, r *record) {
	n := int64(r[slotWeight])
	if n < 0 {
		ch.found.badEvents++
		return
	}
	ch.sample(e, r)
	s := &ch.series[e.series]
	s.count = append(s.count, max(n, 1)) // of versions before weights
}

// scaledSample adds a sample of an object that stands for several of its size.
func (ch *chunk) scaledSample(e *eventType, r *record) {
	bytes := float64(int64(r[slotAddress])) * float64(math.Float32frombits(uint32(r[slotWeight])))
	if !(bytes >= 0 && bytes < math.MaxInt64) {
		ch.found.badEvents++
		return
	}
	ch.sample(e, r)
	s := &ch.series[e.series]
	s.Value[len(s.Value)-1] = int64(math.Round(bytes))
}
