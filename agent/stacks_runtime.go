//go:build go1.26 && !go1.27 && !dendro_portable

package agent

import (
	"context"
	"runtime"
	"unsafe"
)

// This file reads goroutines and labels as runtime/pprof does, through functions
// of the runtime that the promise of Go 1 does not cover. Its types are those of
// Go 1.26, so other versions, and builds with the tag dendro_portable, use the
// public way of stacks_portable.go, which costs several times as much.

// record is the runtime's profilerecord.StackRecord.
type record struct{ stack []uintptr }

// labelMap is the runtime/pprof type behind a label pointer.
type labelMap struct {
	list []struct{ key, value string }
}

//go:linkname goroutineProfile runtime.pprof_goroutineProfileWithLabels
func goroutineProfile(p []record, labels []unsafe.Pointer) (n int, ok bool)

//go:linkname getLabels runtime/pprof.runtime_getProfLabel
func getLabels() unsafe.Pointer

//go:linkname setLabels runtime/pprof.runtime_setProfLabel
func setLabels(labels unsafe.Pointer)

// keepLabels returns a function that gives the goroutine its present labels again.
func keepLabels(context.Context) (restore func()) {
	labels := getLabels()
	return func() { setLabels(labels) }
}

// runtimeReader reuses its slices; the runtime allocates the stacks.
type runtimeReader struct {
	records []record
	labels  []unsafe.Pointer
	frames  frameCache
	stack   []frame
}

func newReader() reader { return &runtimeReader{frames: frameCache{}} }

func (r *runtimeReader) read(wanted func(string) bool, found func(string, []frame)) error {
	n := runtime.NumGoroutine()
	for {
		if room := n + n/8 + 16; len(r.records) < room || len(r.records) > 4*room {
			r.records, r.labels = make([]record, room), make([]unsafe.Pointer, room)
		}
		var ok bool
		if n, ok = goroutineProfile(r.records, r.labels); ok {
			break
		}
	}
	for i, p := range r.labels[:n] {
		if id := labelOf(p); id != "" && wanted(id) {
			r.stack = r.stack[:0]
			for _, pc := range r.records[i].stack {
				r.stack = append(r.stack, r.frames.of(pc))
			}
			found(id, r.stack)
		}
	}
	clear(r.records[:n])
	clear(r.labels[:n])
	return nil
}

// labelOf returns our label in a set of labels.
func labelOf(p unsafe.Pointer) string {
	if p == nil {
		return ""
	}
	for _, l := range (*labelMap)(p).list {
		if l.key == labelKey {
			return l.value
		}
	}
	return ""
}
