// Package jobs gives out jobs by name or by urgency.
package jobs

// Job is something to do.
type Job struct {
	Name     string
	Priority int // the highest first
	Payload  [4]int64
}

// Heap gives out the least job first.
type Heap struct {
	jobs []Job
	less func(a, b *Job) bool
}

// NewHeap returns a heap in the order of less.
func NewHeap(less func(a, b *Job) bool) *Heap { return &Heap{less: less} }

// Len returns the number of jobs in the heap.
func (h *Heap) Len() int { return len(h.jobs) }

// Clear removes all jobs.
func (h *Heap) Clear() { h.jobs = h.jobs[:0] }

// Add puts jobs into the heap.
func (h *Heap) Add(jobs []Job) {
	for i := range jobs {
		h.pushValue(&jobs[i])
	}
}

// pushValue puts one job at the end, and moves it up to where it belongs.
func (h *Heap) pushValue(j *Job) {
	h.jobs = append(h.jobs, *j)
	for i := len(h.jobs) - 1; i > 0; {
		up := (i - 1) / 2
		if !h.less(&h.jobs[i], &h.jobs[up]) {
			return
		}
		h.jobs[i], h.jobs[up] = h.jobs[up], h.jobs[i]
		i = up
	}
}

// Next removes the least job.
func (h *Heap) Next() Job {
	least, last := h.jobs[0], len(h.jobs)-1
	h.jobs[0] = h.jobs[last]
	h.jobs = h.jobs[:last]
	h.down()
	return least
}

// down moves the first job to where it belongs.
func (h *Heap) down() {
	for i := 0; ; {
		least := i
		for c := 2*i + 1; c <= 2*i+2 && c < len(h.jobs); c++ {
			if h.less(&h.jobs[c], &h.jobs[least]) {
				least = c
			}
		}
		if least == i {
			return
		}
		h.jobs[i], h.jobs[least] = h.jobs[least], h.jobs[i]
		i = least
	}
}
