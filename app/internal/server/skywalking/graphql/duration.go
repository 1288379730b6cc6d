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
	step := steps[d.Step]
	start, err := time.ParseInLocation(step.layout, d.Start, zone)
	if err != nil {
		return span{}, &values.InputError{Reason: fmt.Sprintf("start %.40q of the duration is not of the form %s, as step %s has it", d.Start, step.layout, d.Step)}
	}
	end, err := time.ParseInLocation(step.layout, d.End, zone)
	if err != nil {
		return span{}, &values.InputError{Reason: fmt.Sprintf("end %.40q of the duration is not of the form %s, as step %s has it", d.End, step.layout, d.Step)}
	}
	return span{start.UnixMilli(), end.Add(step.length).UnixMilli() - 1}, nil
}
