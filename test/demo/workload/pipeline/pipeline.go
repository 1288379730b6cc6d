// Package pipeline sends jobs through stages that each have their own workers.
package pipeline

import (
	"slices"
	"sync"
)

// Stage is one step every job takes.
type Stage[J any] struct {
	// Run does the work. A job whose stage fails skips the later ones.
	Run     func(job J) error
	Workers int
}

// task is a job on its way through the stages.
type task[J any] struct {
	job  J
	err  error
	done *sync.WaitGroup
}

// Pool runs the workers of all stages, for as long as the program does.
type Pool[J any] struct {
	first chan<- *task[J]
}

// New starts the workers of the stages.
func New[J any](stages ...Stage[J]) *Pool[J] {
	// Stages start from the last to the first, so that each one knows the
	// channel it hands its tasks on to.
	var next chan<- *task[J]
	for _, s := range slices.Backward(stages) {
		in := make(chan *task[J], 16)
		for range s.Workers {
			go work(s.Run, in, next)
		}
		next = in
	}
	return &Pool[J]{first: next}
}

// work is the loop of one worker.
func work[J any](run func(J) error, in <-chan *task[J], out chan<- *task[J]) {
	for t := range in {
		if t.err == nil {
			t.err = run(t.job)
		}
		if out == nil {
			t.done.Done()
			continue
		}
		out <- t
	}
}

// Do sends the jobs through all stages and returns the first error in the order
// of the jobs.
func (p *Pool[J]) Do(jobs []J) error {
	var done sync.WaitGroup
	done.Add(len(jobs))
	tasks := make([]*task[J], len(jobs))
	for i, job := range jobs {
		tasks[i] = &task[J]{job: job, done: &done}
		p.first <- tasks[i]
	}
	done.Wait()
	for _, t := range tasks {
		if t.err != nil {
			return t.err
		}
	}
	return nil
}
