package traceprof

// State is the state of a task.
type State string

// The states.
const (
	Planned State = "planned" // not started yet
	Running State = "running"
	Stopped State = "stopped" // before its end
	Over    State = "over"
)

// State returns the task's state at a time, in ms.
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
