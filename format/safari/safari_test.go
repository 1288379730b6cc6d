package safari

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/test/readtest"
)

// recording has the shape of what Safari 13.1 exports.
const recording = `{"version":1,"recording":{"displayName":"Timeline Recording 1","startTime":4.1,"endTime":6.6,"discontinuities":[],
"instrumentTypes":["timeline-record-type-script","timeline-record-type-cpu"],"records":[{"type":"timeline-record-type-cpu","timestamp":4.1,"usage":0,"threads":[{"name":"Main Thread","usage":0}]}],
"markers":[{"time":4.5,"type":"load-event"}],"sampleStackTraces":[
{"timestamp":4.472,"stackFrames":[{"sourceID":"8","name":"gamma","line":20,"column":15,"url":"file:///simple.js","expressionLocation":{"line":22,"column":19}},{"sourceID":"8","name":"alpha","line":1,"column":15,"url":"file:///simple.js","expressionLocation":{"line":4,"column":10}}]},
{"timestamp":4.474,"stackFrames":[{"sourceID":"","name":"log","line":-1,"column":-1,"url":""},{"sourceID":"8","name":"","line":1,"column":2,"url":"file:///simple.js","expressionLocation":{"line":1,"column":26}}]},
{"timestamp":4.475,"stackFrames":[]}],"sampleDurations":[0.001,0.00154711123,0.0005]},"overview":{"secondsPerPixel":0.01}}`

func decode(text string) (*profile.Profile, error) {
	return NewDecoder().Decode(strings.NewReader(text), nil, profile.Limits{})
}

func TestRecording(t *testing.T) {
	p, err := decode(recording)
	want := `== samples count scale 0 default
1 @0s alpha:4:10 (file:///simple.js:1:15) > gamma:22:19 (file:///simple.js:20:15)
1 @2ms (anonymous):1:26 (file:///simple.js:1:2) > log
1 @3ms -
== wall nanoseconds scale 0
1000000 @0s alpha:4:10 (file:///simple.js:1:15) > gamma:22:19 (file:///simple.js:20:15)
1547111 @2ms (anonymous):1:26 (file:///simple.js:1:2) > log
500000 @3ms -
`
	if err != nil || readtest.Describe(p) != want {
		t.Errorf("%v\n%s\nwant\n%s", err, readtest.Describe(p), want)
	}
	if !Sniff([]byte(recording)) || !Sniff([]byte(recording[:200])) || Sniff([]byte(`{"recording":{}}`)) {
		t.Error("recognition")
	}
}

func TestErrors(t *testing.T) {
	for text, is := range map[string]error{
		"": profile.ErrMalformed, "[]": profile.ErrMalformed, recording[:700]: profile.ErrMalformed,
		`{"recording":{"sampleStackTraces":[{"stackFrames":[{}` + strings.Repeat(",{}", 70_000) + `]}]}}`: profile.ErrTooLarge,
		`{"recording":{"sampleStackTraces":[{},{}],"sampleDurations":[9000000000,9000000000]}}`:           profile.ErrMalformed,
		`{"recording":{"sampleStackTraces":[{"timestamp":1e300}]}}`:                                       profile.ErrMalformed,
	} {
		if p, err := decode(text); !errors.Is(err, is) || readtest.WrongError(err, int64(len(text))) != "" {
			t.Errorf("%.90q: %v, %v", text, p, err)
		}
	}
	p, err := decode(`{"recording":{"sampleStackTraces":[{},{}],"sampleDurations":[1]}}`)
	if err != nil || len(p.Warnings) != 1 {
		t.Errorf("%v, %v", p, err)
	}
}

func TestDamage(t *testing.T) {
	readtest.Damage(t, []byte(recording), 3000, func(b []byte) (*profile.Profile, error) {
		return NewDecoder().Decode(bytes.NewReader(b), nil, profile.Limits{})
	})
}

func FuzzDecode(f *testing.F) {
	f.Add(recording)
	f.Fuzz(func(t *testing.T, text string) {
		p, err := decode(text)
		readtest.Sound(t, len(text), p, err)
		Sniff([]byte(text))
	})
}
