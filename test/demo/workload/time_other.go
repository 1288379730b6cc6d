//go:build !unix

package main

import "time"

var started = time.Now()

// processorTime returns the time since the start, which is as near as the
// standard library comes to processor time here.
func processorTime() time.Duration { return time.Since(started) }
