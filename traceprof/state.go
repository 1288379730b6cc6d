package traceprof

// State is where a task is in its life.
type State string

// The states.
const (
	Planned State = "planned" // it has not begun
	Running State = "running"
	Stopped State = "stopped" // before its end
	Over    State = "over"
)

// State returns where the task is at a time, in ms.
func (t *Task) State(now int64) State {
	switch {
	case t.Stopped != 0 && t.Stopped < t.Start+t.Duration && now >= t.Stopped:
		return Stopped
	case now < t.Start:
		return Planned
	case now < t.End():
		return Running
	}
	return Over
}
