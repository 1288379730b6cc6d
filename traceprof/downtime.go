package traceprof

import (
	"context"
	"fmt"
)

// unheard is how long a running server may hear nothing of any agent, in ms: agents keep
// alive every 30 s at most, and LiveInstances writes that within 10 s.
const unheard = 45_000

// NoteStart appends a line to the logs of the tasks during which no server may have run: those that
// overlap the time between the last report of any agent and now, when a server starts, in
// ms. Short gaps, such as those of a second server over the same database, are not noted.
func NoteStart(ctx context.Context, st Store, now int64) error {
	instances, err := st.Instances(ctx, "", 0)
	if err != nil || len(instances) == 0 {
		return err
	}
	var last int64
	for i := range instances {
		last = max(last, instances[i].LastSeen)
	}
	if now-last < unheard {
		return nil
	}
	tasks, err := st.Tasks(ctx, TaskQuery{From: last, To: now})
	if err != nil || len(tasks) == 0 {
		return err
	}
	text := fmt.Sprintf("No server ran for at least part of the time between %s, when an agent reported last, and %s.", date(last), date(now))
	lines := make([]Log, len(tasks))
	for i := range tasks {
		lines[i] = Log{Task: tasks[i].ID, Event: ServerStarted, Time: now, Text: text}
	}
	return st.AppendLog(ctx, lines...)
}

// serverDown reports when no server ran during the task.
func (f *facts) serverDown() (Cause, bool) {
	for _, l := range f.logs {
		if l.Event == ServerStarted {
			return Cause{Code: ServerDown, Text: l.Text + " Agents keep few snapshots for a server that does not answer."}, true
		}
	}
	return Cause{}, false
}
