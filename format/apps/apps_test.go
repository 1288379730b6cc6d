package apps

import (
	"strings"
	"testing"

	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/test/readtest"
)

func TestSentry(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"version 2, what is not there", "{\"version\":\"2\",\"platform\":\"python\",\"release\":\"1.2\",\"profile\":{\"samples\":[{\"timestamp\":1700000000.5,\"stack_id\":0,\"thread_id\":7},{\"timestamp\":1700000000.51,\"stack_id\":1,\"thread_id\":7},{\"timestamp\":1700000000.52,\"stack_id\":9,\"thread_id\":8}],\"stacks\":[[0],[0,5]],\"frames\":[{\"function\":\"f\",\"module\":\"m\",\"abs_path\":\"/a.py\",\"lineno\":\"3\",\"colno\":4}],\"thread_metadata\":{\"7\":{\"name\":\"main\"}}}}", "== wall-samples count scale 0 default\n1 @0s [main tid=7] m!f:3:4 (/a.py:0:0)\n1 @10ms [main tid=7] [unknown] > m!f:3:4 (/a.py:0:0)\n1 @20ms [ tid=8] (no stack)\nwarning: 1 frames of stacks are not in the list of 1 frames; they count as [unknown]\nwarning: 1 of 3 samples have no stack in the file; they count as (no stack)\n"},
		{"empty", "{\"profile\":{\"samples\":[],\"stacks\":[],\"frames\":[],\"thread_metadata\":{}}}", "== wall-samples count scale 0 default\n"},
	} {
		p, err := NewSentryDecoder().Decode(strings.NewReader(tt.text), nil, profile.Limits{})
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
		} else if got := readtest.Describe(p); got != tt.want {
			t.Errorf("%s:\n%s\nwant\n%s", tt.name, got, tt.want)
		}
		if !SniffSentry([]byte(tt.text)) {
			t.Errorf("%s: not recognised", tt.name)
		}
	}
	for _, text := range []string{
		"{\"profile\":{\"stacks\":[[\"x\"]]}}",
		"{\"profile\":{\"samples\":[{\"timestamp\":\"x\"}]}}",
		"{\"profile\":{\"samples\":[",
	} {
		_, err := NewSentryDecoder().Decode(strings.NewReader(text), nil, profile.Limits{})
		readtest.Refused(t, text, err, profile.ErrMalformed, "")
	}
}

func FuzzSentry(f *testing.F) {
	f.Add("{\"version\":\"2\",\"platform\":\"python\",\"release\":\"1.2\",\"profile\":{\"samples\":[{\"timestamp\":1700000000.5,\"stack_id\":0,\"thread_id\":7},{\"timestamp\":1700000000.51,\"stack_id\":1,\"thread_id\":7},{\"timestamp\":1700000000.52,\"stack_id\":9,\"thread_id\":8}],\"stacks\":[[0],[0,5]],\"frames\":[{\"function\":\"f\",\"module\":\"m\",\"abs_path\":\"/a.py\",\"lineno\":\"3\",\"colno\":4}],\"thread_metadata\":{\"7\":{\"name\":\"main\"}}}}")
	f.Add("{\"profile\":{\"samples\":[],\"stacks\":[],\"frames\":[],\"thread_metadata\":{}}}")
	f.Fuzz(func(t *testing.T, text string) {
		SniffSentry([]byte(text))
		p, err := NewSentryDecoder().Decode(strings.NewReader(text), nil, profile.Limits{Depth: 100})
		readtest.Sound(t, len(text), p, err)
	})
}

func TestDart(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"the answer of the service", "{\"jsonrpc\":\"2.0\",\"id\":\"1\",\"result\":{\"type\":\"CpuSamples\",\"samplePeriod\":\"50\",\"functions\":[{\"function\":{\"name\":\"main\"}}],\"samples\":[{\"tid\":\"1\",\"timestamp\":\"5\",\"stack\":[\"4\",\"0\"]}]}}",
			"== cpu-samples count scale 0 period 50000 nanoseconds default\n1 @0s [ tid=1] main > [unknown]\nwarning: 1 frames of stacks are not in the list of 1 frames; they count as [unknown]\n"},
		{"a class, a tag", "{\"type\":\"CpuSamples\",\"samplePeriod\":50,\"functions\":[{\"kind\":\"Dart\",\"resolvedUrl\":\"a.dart\",\"function\":{\"type\":\"@Function\",\"name\":\"build\",\"owner\":{\"type\":\"@Class\",\"name\":\"App\"}}}],\"samples\":[{\"tid\":1,\"timestamp\":5,\"vmTag\":\"Dart\",\"stack\":[0]},{\"tid\":1,\"timestamp\":6,\"stack\":[]}]}", "== cpu-samples count scale 0 period 50000 nanoseconds default\n1 @0s [ tid=1] <Dart> App.build (a.dart:0:0)\n1 @1µs [ tid=1] (no stack)\nwarning: 1 of 2 samples have no stack in the file; they count as (no stack)\n"},
	} {
		p, err := NewDartDecoder().Decode(strings.NewReader(tt.text), nil, profile.Limits{})
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
		} else if got := readtest.Describe(p); got != tt.want {
			t.Errorf("%s:\n%s\nwant\n%s", tt.name, got, tt.want)
		}
		if !SniffDart([]byte(tt.text)) {
			t.Errorf("%s: not recognised", tt.name)
		}
	}
	for _, text := range []string{
		"{\"type\":\"CpuSamples\",\"samplePeriod\":\"x\"}",
		"{\"type\":\"CpuSamples\",\"samples\":[{\"stack\":[3000000000]}]}",
	} {
		_, err := NewDartDecoder().Decode(strings.NewReader(text), nil, profile.Limits{})
		readtest.Refused(t, text, err, profile.ErrMalformed, "")
	}
}

func FuzzDart(f *testing.F) {
	f.Add("{\"type\":\"CpuSamples\",\"samplePeriod\":50,\"functions\":[{\"kind\":\"Dart\",\"resolvedUrl\":\"a.dart\",\"function\":{\"type\":\"@Function\",\"name\":\"build\",\"owner\":{\"type\":\"@Class\",\"name\":\"App\"}}}],\"samples\":[{\"tid\":1,\"timestamp\":5,\"vmTag\":\"Dart\",\"stack\":[0]},{\"tid\":1,\"timestamp\":6,\"stack\":[]}]}")
	f.Fuzz(func(t *testing.T, text string) {
		SniffDart([]byte(text))
		p, err := NewDartDecoder().Decode(strings.NewReader(text), nil, profile.Limits{Depth: 100})
		readtest.Sound(t, len(text), p, err)
	})
}
