package jfr

import (
	"encoding/binary"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/dendroprof/dendro/profile"
)

// classFloat is the class of the weights of Datadog's samples.
const classFloat = 60

// datadogChunk has two samples of CPU with the weights 1 and 3, one of wall-clock time with
// the weight 2, and an object of 100 bytes that stands for 2.5.
func datadogChunk(cpuMillis, wallMillis uint64) []byte {
	sample := []testField{{name: "startTime", class: classLong}, {name: "eventThread", class: classThread, constant: true},
		{name: "stackTrace", class: classStack, constant: true}, {name: "state", class: classState, constant: true},
		{name: "weight", class: classLong}}
	object := []testField{{name: "startTime", class: classLong}, {name: "stackTrace", class: classStack, constant: true},
		{name: "objectClass", class: classClass, constant: true}, {name: "size", class: classLong}, {name: "weight", class: classFloat}}
	w := newWriter(
		testClass{classFloat, "float", nil},
		testClass{201, "datadog.ExecutionSample", sample}, testClass{202, "datadog.MethodSample", sample},
		testClass{203, "datadog.ObjectSample", object},
		testClass{204, "datadog.DatadogProfilerConfig", []testField{{name: "startTime", class: classLong},
			{name: "cpuInterval", class: classLong}, {name: "wallInterval", class: classLong}, {name: "version", class: classString}}},
	)
	w.class(1, "shop/Cart")
	w.method(1, 1, "total")
	w.stack(1, testFrame{method: 1})
	w.numbers(201, 1000, 0, 1, 0, 1)
	w.numbers(201, 1001, 0, 1, 0, 3)
	w.numbers(202, 1002, 0, 1, 0, 2)
	w.event(203, func(b *buffer) {
		b.varint(1003)
		b.varint(1)
		b.varint(1)
		b.varint(100)
		*b = binary.BigEndian.AppendUint32(*b, math.Float32bits(2.5))
	})
	w.event(204, func(b *buffer) {
		b.varint(1000)
		b.varint(cpuMillis)
		b.varint(wallMillis)
		b.text("1.29.0")
	})
	return w.bytes()
}

// TestDatadog reads chunks of Datadog's profiler behind a chunk of the JDK: CPU is counted
// once, intervals are those of each chunk, and the JDK's period does not hold for them.
func TestDatadog(t *testing.T) {
	p := mustDecode(t, slices.Concat(jdkChunk("period", "20 ms"), datadogChunk(10, 50), datadogChunk(20, 100)))
	for name, want := range map[string]int64{
		profile.CPU: 4*10e6 + 4*20e6, profile.CPUSamples: 1, profile.Wall: 2*50e6 + 2*100e6, profile.WallSamples: 4, profile.Alloc: 500,
		profile.AllocSamples: 2,
	} {
		i, err := p.Table(name)
		if err != nil {
			t.Error(err)
			continue
		}
		if got := p.Tables[i].Total(); got != want {
			t.Errorf("%s: %d, want %d", name, got, want)
		}
	}
	if p.Profiler != flightRecorder {
		t.Errorf("recorded by %q", p.Profiler)
	}
	alone := mustDecode(t, datadogChunk(10, 50))
	if alone.Profiler != datadogProfiler || alone.ProfilerVersion != "1.29.0" || alone.Interval != 10*time.Millisecond {
		t.Errorf("recorded by %q %q, interval %v", alone.Profiler, alone.ProfilerVersion, alone.Interval)
	}
}
