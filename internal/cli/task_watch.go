package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/dendroprof/dendro/internal/engines"
	"github.com/dendroprof/dendro/internal/words"
	"github.com/dendroprof/dendro/traceprof"
)

// taskWatchOptions are the flags of `dendro task watch`.
type taskWatchOptions struct {
	every, grace time.Duration
	output       outputFormat
}

func newTaskWatch(e *env) *cobra.Command {
	var o taskWatchOptions
	c := &cobra.Command{
		Use:   "watch TASK [flags]",
		Short: "Follow a task: who was told, what comes in, and why nothing does",
		Long: `Watch prints what happens to a task as it happens: the instances of the service and
when they ask for tasks, who was told of it, the snapshots that come in and how much of
the requests' time they cover, and as long as none come, what is known to be the cause.
It ends when all instances that were told have finished, or some time after the task's
end. -o json prints a line of JSON for each change: what (task, instance, log,
snapshots, why, end), the text, and as value the task, the instance, the line of the
log, the coverage or the cause itself; of the end whether all have finished, and the
coverage.`,
		Example: `  dendro task create --service shop --endpoint /checkout && dendro task watch last
  dendro task watch last -o json`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error { return o.run(c.Context(), e, args[0]) },
	}
	c.Flags().DurationVar(&o.every, "every", time.Second, "look again after this `time`")
	c.Flags().DurationVar(&o.grace, "grace", 30*time.Second, "`time` to wait for agents after the task's end")
	o.output.addFlag(c, "text", "json")
	return c
}

func (o *taskWatchOptions) run(ctx context.Context, e *env, name string) error {
	if o.every < 100*time.Millisecond {
		return usagef("--every %v: at least 100ms", o.every)
	}
	return e.withTask(ctx, engines.Read, name, func(st traceprof.Store, t traceprof.Task) error {
		w := watcher{e: e, json: o.output == "json", told: map[string]bool{}}
		w.say("task", taskText(&t, time.Now().UnixMilli()), t)
		tick := time.NewTicker(o.every)
		defer tick.Stop()
		for {
			now := time.Now().UnixMilli()
			over, err := w.look(ctx, st, t.ID, now, o.grace.Milliseconds())
			if err != nil || over {
				return err
			}
			select {
			case <-tick.C:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
	})
}

// watcher prints what it has not said yet.
type watcher struct {
	e    *env
	json bool

	told     map[string]bool // lines that are said once
	coverage string          // what was said last of it
	err      error           // the first of printing
}

// watched is a line of JSON (docs/tasks.md).
type watched struct {
	Time  time.Time `json:"time"`
	What  string    `json:"what"`
	Text  string    `json:"text"`
	Value any       `json:"value"` // what the text is about
}

// ending is the value of the end.
type ending struct {
	Finished bool                `json:"finished"`           // all instances that were told have
	Coverage *traceprof.Coverage `json:"coverage,omitempty"` // of kind trace
}

// say prints a line: a text for people, and for programs what it is about.
func (w *watcher) say(what, text string, value any) {
	if w.err != nil {
		return
	}
	now := time.Now().UTC()
	if w.json {
		w.err = w.e.writeJSON(watched{now, what, text, value})
		return
	}
	_, w.err = fmt.Fprintf(w.e.out, "%s  %s\n", now.Format("15:04:05"), text)
}

// once prints a line unless it was printed before.
func (w *watcher) once(what, text string, value any) {
	if key := what + text; !w.told[key] {
		w.told[key] = true
		w.say(what, text, value)
	}
}

// why prints the causes that were not printed before.
func (w *watcher) why(causes []traceprof.Cause) {
	for i := range causes {
		w.once("why", causeText(&causes[i]), causes[i])
	}
}

// quiet is how long after its start a task may be without data before it is said
// why, in ms: agents ask every 20 s.
const quiet = 5_000

// look prints what has changed, and reports whether nothing more is to be
// expected.
func (w *watcher) look(ctx context.Context, st traceprof.Store, id string, now, grace int64) (over bool, err error) {
	t, err := st.Task(ctx, id)
	if err != nil {
		return false, err
	}
	if t.Stopped != 0 {
		w.once("task", "the task was stopped "+instant(t.Stopped), t)
	}
	instances, err := aliveInstances(ctx, st, t.Service, now)
	if err != nil {
		return false, err
	}
	for _, i := range instances {
		text := "asks for tasks"
		switch {
		case i.Polled == 0:
			text = "reports, and has not asked for tasks yet"
		case i.Polled < t.Created:
			text = "asked for tasks last " + instant(i.Polled)
		}
		w.once("instance", words.Clean(i.Name)+" "+text, i)
	}
	finished, err := w.logs(ctx, st, &t)
	if err != nil {
		return false, err
	}
	r, err := reportOn(ctx, st, t, now)
	if err != nil {
		return false, err
	}
	if r.Coverage != nil && r.Coverage.Received > 0 {
		if text := coverageText(r.Coverage); text != w.coverage {
			w.coverage = text
			w.say("snapshots", text, r.Coverage.Coverage)
		}
	}
	over = finished || now > t.End()+grace
	if w.coverage == "" && (now > t.Start+quiet || over) {
		w.why(r.Causes)
	}
	if over {
		w.sum(&r, finished)
	}
	return over, w.err
}

// logs prints new lines of the log and reports whether all instances that were
// told have finished.
func (w *watcher) logs(ctx context.Context, st traceprof.Store, t *traceprof.Task) (finished bool, err error) {
	list, err := st.Logs(ctx, t.ID)
	if err != nil {
		return false, err
	}
	told, done := map[string]int64{}, map[string]int64{}
	for _, l := range slices.Backward(list) {
		instance, at := words.Clean(l.Instance), done
		text := fmt.Sprintf("%s finished %s", instance, instant(l.Time))
		switch l.Event {
		case traceprof.Notified:
			at, text = told, fmt.Sprintf("%s was told %s", instance, instant(l.Time))
		case traceprof.Finished:
		default:
			text = strings.TrimSuffix(fmt.Sprintf("%s: %s: %s", instance, l.Event, words.Clean(l.Text)), ": ")
		}
		at[l.Instance] = l.Time
		w.once("log", text, l)
	}
	for instance, at := range told {
		if done[instance] < at {
			return false, nil
		}
	}
	return len(told) > 0, nil
}

// sum prints the last line.
func (w *watcher) sum(r *taskReport, finished bool) {
	text := "the time to wait is over"
	if finished {
		text = "all instances have finished"
	}
	e := ending{Finished: finished}
	if r.Coverage != nil {
		text += ": " + coverageText(r.Coverage)
		e.Coverage = &r.Coverage.Coverage
	}
	w.say("end", text, e)
	w.why(r.Causes)
}
