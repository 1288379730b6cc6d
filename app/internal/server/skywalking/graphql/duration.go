package graphql

import (
	"fmt"
	"time"

	"skywalking.apache.org/repo/goapi/query"

	"github.com/dendroprof/dendro/app/internal/server/skywalking/graphql/values"
)

// zone is the time zone of clients' times, which they get from getTimeInfo. UTC has no
// repeated hours.
var zone = time.UTC

// span is a range of time in ms, both ends inclusive.
type span struct{ from, to int64 }

// steps are the formats of times, and the length of the last step of a range.
var steps = map[query.Step]struct {
	layout string
	length time.Duration
}{
	query.StepDay:    {"2006-01-02", 24 * time.Hour},
	query.StepHour:   {"2006-01-02 15", time.Hour},
	query.StepMinute: {"2006-01-02 1504", time.Minute},
	query.StepSecond: {"2006-01-02 150405", time.Second},
}

// spanOf reads a range of time. Nil is the zero span: all time.
func spanOf(d *query.Duration) (span, error) {
	if d == nil {
		return span{}, nil
	}
	step, ends := steps[d.Step], [2]time.Time{}
	for i, text := range []string{d.Start, d.End} {
		var err error
		if ends[i], err = time.ParseInLocation(step.layout, text, zone); err != nil {
			return span{}, &values.InputError{Reason: fmt.Sprintf("%s %.40q of the duration is not of the form %s, as step %s has it",
				[]string{"start", "end"}[i], text, step.layout, d.Step)}
		}
	}
	return span{ends[0].UnixMilli(), ends[1].Add(step.length).UnixMilli() - 1}, nil
}
