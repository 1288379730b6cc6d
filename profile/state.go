package profile

import "strings"

// Idle reports whether a thread in a state neither works nor wants to: it waits for an
// event, a time or new work. A thread that waits for a lock wants to work, unless the
// runtime cannot tell one wait from the other (WAITING of Java); see LabelOwner.
func Idle(state string) bool {
	state, _, _ = strings.Cut(strings.TrimPrefix(state, "STATE_"), ", ")
	return idle[strings.ToLower(state)]
}

// KnownState reports whether a runtime or profiler has a state of that name, in any case,
// whether or not a thread is in it.
func KnownState(state string) bool {
	state = strings.ToLower(state)
	return idle[state] || busy[state]
}

// busy has the states in lower case in which a thread works or wants to.
var busy = func() map[string]bool {
	set := map[string]bool{}
	for _, state := range []string{
		"new", "runnable", "blocked", "terminated", // Java
		"state_runnable", "state_default", "state_sleeping", "state_parked", "state_in_object_wait", "state_blocked_on_monitor_enter", // JFR
		"running", "syscall", "preempted", "semacquire", "sync.mutex.lock", "sync.rwmutex.lock", "sync.rwmutex.rlock", // Go
		"active", "active+gil", // py-spy
	} {
		set[state] = true
	}
	return set
}()

// Labels of the samples of thread dumps.
const (
	LabelLock     = "lock"     // what the thread waits for, as class@address
	LabelOwner    = "owner"    // the name of the thread that holds it
	LabelHolds    = "holds"    // a lock that the thread holds; several labels
	LabelDeadlock = "deadlock" // number of the deadlock that the thread is in
)

// idle has the states in lower case.
var idle = func() map[string]bool {
	set := map[string]bool{}
	for _, list := range [][]string{
		{ // Java: HotSpot, the VM's own threads, async-profiler and Datadog
			"waiting", "timed_waiting", "runnable (in native wait)", "waiting on condition", "carrying",
			"sleeping", "parked", "object_wait", "condvar",
		},
		{ // Go
			"chan receive", "chan send", "chan receive (nil chan)", "chan send (nil chan)",
			"select", "select (no cases)", "io wait", "sleep", "sync.cond.wait", "sync.waitgroup.wait",
			"finalizer wait", "cleanup wait", "force gc (idle)", "gc worker (idle)", "gc sweep wait", "gc scavenge wait",
			"trace reader (blocked)", "idle", "coroutine", "synctest.wait", "timer goroutine (idle)",
		},
		{"[await]"}, // pyinstrument
	} {
		for _, state := range list {
			set[state] = true
		}
	}
	return set
}()
