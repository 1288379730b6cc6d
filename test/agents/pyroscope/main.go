// Command pyroscope is a small program that Pyroscope's SDK for Go profiles. It is a module
// of its own, so that the SDK is no dependency of Dendro.
//
//	pyroscope ADDRESS TOKEN
//
// It computes and waits for locks until its input ends, and pushes all types of profiles
// every second to the server at the address.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"regexp"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/grafana/pyroscope-go"
)

func main() {
	runtime.SetMutexProfileFraction(5)
	runtime.SetBlockProfileRate(5)
	p, err := pyroscope.Start(pyroscope.Config{
		ApplicationName: "pushed.go.app", ServerAddress: os.Args[1], UploadRate: time.Second,
		BasicAuthUser: "agent", BasicAuthPassword: os.Args[2],
		Tags: map[string]string{"service_version": "1.2.3"},
		ProfileTypes: []pyroscope.ProfileType{
			pyroscope.ProfileCPU, pyroscope.ProfileAllocObjects, pyroscope.ProfileAllocSpace, pyroscope.ProfileInuseObjects,
			pyroscope.ProfileInuseSpace, pyroscope.ProfileGoroutines, pyroscope.ProfileMutexCount, pyroscope.ProfileMutexDuration,
			pyroscope.ProfileBlockCount, pyroscope.ProfileBlockDuration,
		},
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	var ended atomic.Bool
	go func() {
		io.Copy(io.Discard, os.Stdin)
		ended.Store(true)
	}()
	var mu sync.Mutex
	go func() {
		for {
			mu.Lock()
			time.Sleep(time.Millisecond)
			mu.Unlock()
		}
	}()
	for !ended.Load() {
		pyroscope.TagWrapper(context.Background(), pyroscope.Labels("controller", "checkout"), func(context.Context) {
			computeTax()
			mu.Lock()
			mu.Unlock() //nolint:staticcheck // only the wait counts
		})
		renderPage()
	}
	p.Stop()
}

var kept [][]byte

// computeTax takes most of the time.
//
//go:noinline
func computeTax() {
	for range 100 {
		regexp.MustCompile(`a+b`).MatchString("aaaaaaaaaaaaaab")
	}
	kept = append(kept[:min(len(kept), 100)], make([]byte, 10_000))
}

// renderPage takes the rest.
//
//go:noinline
func renderPage() {
	for range 30 {
		regexp.MustCompile(`c+d`).MatchString("ccccccccccccccd")
	}
}
