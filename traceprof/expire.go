package traceprof

import (
	"cmp"
	"slices"
)

// Expiry selects what to remove. A task is removed with its logs, its snapshots and the
// segments of its traces, and these never before it, so that a profiled trace stays
// complete. Tasks that have not ended stay. Snapshots of an unknown task count as a task
// that ended when the newest of them arrived; lines of its log are removed by their time.
//
// Segments are as old as their arrival, not as their start: agents with a wrong clock, or
// a wrong purpose, must not evict what others sent.
type Expiry struct {
	// Now decides which tasks have ended when MaxBytes selects them, in ms.
	Now int64 `json:"now,omitempty"`
	// Before removes tasks that ended, segments of no stored task that arrived, and
	// instances that were last seen before a time, in ms. 0: by size only.
	Before int64 `json:"before"`
	// MaxBytes, if it is not 0, then removes the oldest segments of no stored task, and
	// after those the oldest tasks by their ends, until segments and snapshots have at
	// most that many bytes, by the engine's own count. Segments that arrived in the
	// same ms may be removed together.
	MaxBytes int64 `json:"maxBytes,omitempty"`
}

// Expired counts what Expire removed.
type Expired struct {
	Tasks     int `json:"tasks"` // known ones
	Segments  int `json:"segments"`
	Instances int `json:"instances"`
}

// StoredTask describes a task that is known or has snapshots.
type StoredTask struct {
	ID    string
	Known bool  // Store.Task returns it
	End   int64 // ms; of an unknown task when its newest snapshot arrived
	Bytes int64 // of its snapshots and their stacks
}

// StoredTasks joins the known tasks with what is stored of tasks that have snapshots, by id: ends,
// which count for unknown ones, and bytes.
func StoredTasks(known []Task, sampled map[string]StoredTask) (list []StoredTask) {
	for i := range known {
		t := &known[i]
		sampled[t.ID] = StoredTask{Known: true, End: t.Over(), Bytes: sampled[t.ID].Bytes}
	}
	for id, t := range sampled {
		t.ID = id
		list = append(list, t)
	}
	return list
}

// Remover lists and removes what an engine stores, for Expiry.Run.
type Remover interface {
	// StoredTasks lists the tasks that are known or have snapshots, in any order.
	StoredTasks() ([]StoredTask, error)

	// SegmentBytes returns the size of all segments.
	SegmentBytes() (int64, error)

	// RemoveTasks removes tasks with their logs, their snapshots and the segments of
	// their traces that no other task has. It returns how many bytes that frees.
	RemoveTasks(list []StoredTask) (freed int64, err error)

	// RemoveBefore removes lines of logs of unknown tasks, segments of no task, and
	// instances, that are older than a time in ms.
	RemoveBefore(before int64) error

	// RemoveLoose removes the oldest segments of no task, up to about so many bytes,
	// and returns how many bytes that frees; 0: there are no such segments.
	RemoveLoose(bytes int64) (freed int64, err error)
}

// Run removes what e selects. It is the body of Store.Expire.
func (e Expiry) Run(r Remover) error {
	tasks, err := r.StoredTasks()
	if err != nil {
		return err
	}
	slices.SortFunc(tasks, func(a, b StoredTask) int { return cmp.Or(cmp.Compare(a.End, b.End), cmp.Compare(a.ID, b.ID)) })
	if e.Before != 0 {
		n, _ := slices.BinarySearchFunc(tasks, e.Before, func(t StoredTask, before int64) int { return cmp.Compare(t.End, before) })
		if _, err := r.RemoveTasks(tasks[:n]); err != nil {
			return err
		}
		if err := r.RemoveBefore(e.Before); err != nil {
			return err
		}
		tasks = tasks[n:]
	}
	if e.MaxBytes == 0 {
		return nil
	}
	excess, err := r.SegmentBytes()
	excess -= e.MaxBytes
	for i := range tasks {
		excess += tasks[i].Bytes
	}
	for freed := int64(1); err == nil && excess > 0 && freed > 0; excess -= freed {
		freed, err = r.RemoveLoose(excess)
	}
	for i := 0; i < len(tasks) && err == nil && excess > 0; i++ {
		if t := &tasks[i]; t.Known && t.End > e.Now {
			continue
		}
		var freed int64
		freed, err = r.RemoveTasks(tasks[i : i+1])
		excess -= freed
	}
	return err
}
