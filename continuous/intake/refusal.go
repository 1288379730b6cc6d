package intake

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"github.com/dendroprof/dendro/continuous"
	"github.com/dendroprof/dendro/internal/cost"
	"github.com/dendroprof/dendro/profile"
)

// ErrUnavailable is wrapped by errors after which a program may push the same again; RetryAfter
// says when.
var ErrUnavailable = errors.New("try again later")

// Refusal is a push that a limit does not allow.
type Refusal struct {
	over   cost.Exceeded
	Reason string        // what is limited, in one word, for metrics
	Series string        // that was refused; empty: none in particular
	Retry  time.Duration // more than 0: the push may succeed then
}

// refusal returns a Refusal: reason in one word, what is limited in words, and the flag that
// raises the maximum.
func refusal(reason, what string, value, most int64, flag string) *Refusal {
	return &Refusal{over: cost.Exceeded{Limit: cost.Limit{Max: most, What: what, Flag: flag}, Value: value}, Reason: reason}
}

// TooLarge is the Refusal of a profile with too many bytes after decompression.
func TooLarge(bytes, most int64) *Refusal {
	return refusal("size", "bytes of a decompressed profile", bytes, most, "--continuous-max-profile")
}

// of adds the series that was refused.
func (r *Refusal) of(series string) *Refusal {
	r.Series = shorten(series)
	return r
}

// later makes it a refusal that ends by itself.
func (r *Refusal) later(retry time.Duration) *Refusal {
	r.Retry = retry
	return r
}

// Error names limit, value, flag and series.
func (r *Refusal) Error() string {
	text := r.over.Error()
	if r.Series != "" {
		text += fmt.Sprintf("; refused: %.300s", r.Series)
	}
	return text
}

// Of returns an error of a push that says which service was refused; nil if err is.
func Of(service string, err error) error {
	var r *Refusal
	if err == nil || errors.As(err, &r) && (r.Series != "" || r.Reason == "queue") || Reason(err) == "canceled" {
		return err
	}
	return fmt.Errorf("%w; refused: %s", err, shorten(service))
}

// Is makes a refusal that ends by itself ErrUnavailable.
func (r *Refusal) Is(target error) bool { return target == ErrUnavailable && r.Retry > 0 }

// unavailable is another error after which a program may try again.
type unavailable struct {
	error
	retry time.Duration
}

func (u *unavailable) Unwrap() []error { return []error{u.error, ErrUnavailable} }

// RetryAfter returns when to push again what failed with ErrUnavailable; 0: never.
func RetryAfter(err error) time.Duration {
	var r *Refusal
	var u *unavailable
	switch {
	case errors.As(err, &r):
		return r.Retry
	case errors.As(err, &u):
		return u.retry
	}
	return 0
}

// Metrics counts what an Intake has done.
type Metrics struct {
	Stored, Repeated, Failed int64 // windows: stored, stored before, that the store refused
	Batches, FailedBatches   int64
	CommitTime               time.Duration
	Refused                  map[string]int64 // pushes, by reason: a limit in one word, or `invalid`
	CutStacks                int64            // samples whose stack lost outermost frames
	FoldedSamples            int64            // samples that lost their labels: too many series, labels or bytes
	NegativeSamples          int64            // samples that were dropped
	LostLines                int64            // samples whose lines were not kept: too many stacks waited
	Panics                   int64            // of readers: each is a defect
	PendingBytes             int64            // now
	Series                   int64            // of the last hour
	Paths                    int64            // of the forest
}

// counts are the counters of Metrics.
type counts struct {
	cut, folded, negative, lostLines, panics atomic.Int64

	mu      sync.Mutex
	metrics Metrics
}

// Refuse counts a push that a caller refused before or beside Push.
func (in *Intake) Refuse(err error) { in.counts.refuse(err) }

// Reason returns the word for an error in Metrics.Refused.
func Reason(err error) string {
	var r *Refusal
	switch {
	case errors.As(err, &r):
		return r.Reason
	case errors.Is(err, profile.ErrTooLarge):
		return "size"
	case errors.Is(err, ErrClosed), errors.Is(err, ErrUnavailable):
		return "unavailable"
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return "canceled"
	}
	return "invalid"
}

func (c *counts) refuse(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.metrics.Refused == nil {
		c.metrics.Refused = map[string]int64{}
	}
	c.metrics.Refused[Reason(err)]++
}

func (c *counts) committed(outcomes []continuous.Outcome, windows int, took time.Duration, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	m := &c.metrics
	m.Batches++
	m.CommitTime += took
	if err != nil {
		m.FailedBatches++
		m.Failed += int64(windows)
		return
	}
	for _, o := range outcomes {
		switch o {
		case continuous.Stored:
			m.Stored++
		case continuous.Repeated:
			m.Repeated++
		case continuous.TooLarge:
			m.Failed++
		}
	}
}

// Metrics returns the counts.
func (in *Intake) Metrics() Metrics {
	c := &in.counts
	c.mu.Lock()
	m := c.metrics
	m.Refused = maps.Clone(c.metrics.Refused)
	c.mu.Unlock()
	m.CutStacks, m.FoldedSamples, m.NegativeSamples, m.Panics = c.cut.Load(), c.folded.Load(), c.negative.Load(), c.panics.Load()
	m.LostLines = c.lostLines.Load()
	in.mu.Lock()
	m.PendingBytes = in.pending
	in.mu.Unlock()
	m.Series = in.series.len()
	in.paths.mu.Lock()
	m.Paths = int64(in.paths.current.Paths.Len())
	in.paths.mu.Unlock()
	return m
}
