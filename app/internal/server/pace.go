package server

import "time"

// pace ends transfers that a client makes slower than a minimum rate. Only time in which the
// server waits for the client counts. A transfer begins with patience, and may save no more.
type pace struct {
	patience time.Duration
	rate     int64 // bytes per second
	left     time.Duration
}

func newPace(l *Limits) pace { return pace{l.Stall, l.Rate, l.Stall} }

// deadline returns when the next read or write must be complete.
func (p *pace) deadline(now time.Time) time.Time { return now.Add(max(p.left, time.Millisecond)) }

// moved accounts for n bytes that took some time.
func (p *pace) moved(n int, took time.Duration) {
	earned := time.Duration(float64(n) / float64(p.rate) * float64(time.Second))
	p.left = min(p.patience, p.left-took+earned)
}
