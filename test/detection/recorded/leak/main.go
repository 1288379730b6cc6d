// Command leak is a service with a session cache that forgets to remove sessions. It writes heap
// profiles of its life: `go run ./test/detection/recorded/leak DIRECTORY`, -leak=false without
// the fault. TestLeak of package recorded reads what it wrote.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/pprof"
)

// catalogue is what the service always holds, much more than it loses at first.
type catalogue struct{ pages [][]byte }

//go:noinline
func load(pages int) *catalogue {
	c := &catalogue{}
	for range pages {
		c.pages = append(c.pages, make([]byte, 64<<10))
	}
	return c
}

type sessions struct {
	open  map[int][]byte
	leaks bool
}

//go:noinline
func (s *sessions) start(id int) { s.open[id] = make([]byte, 4<<10) }

func (s *sessions) end(id int) {
	if !s.leaks || id%4 != 0 { // the fault: every fourth session stays
		delete(s.open, id)
	}
}

//go:noinline
func serve(s *sessions, from, requests int) (answers [][]byte) {
	for id := from; id < from+requests; id++ {
		s.start(id)
		answers = append(answers[:len(answers)%100], make([]byte, 1<<10))
		s.end(id)
	}
	return answers
}

func main() {
	leaks := flag.Bool("leak", true, "forget to remove sessions")
	flag.Parse()
	const snapshots, requests = 6, 3000
	c := load(320)
	s := &sessions{open: map[int][]byte{}, leaks: *leaks}
	for i := range snapshots {
		runtime.KeepAlive(serve(s, i*requests, requests))
		if err := write(filepath.Join(flag.Arg(0), fmt.Sprintf("heap-%d.pb.gz", i+1))); err != nil {
			fmt.Fprintln(os.Stderr, "leak: "+err.Error())
			os.Exit(1)
		}
	}
	runtime.KeepAlive(c)
}

// write writes a heap profile of what is reachable now.
func write(name string) error {
	runtime.GC()
	runtime.GC()
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	if err := pprof.Lookup("heap").WriteTo(f, 0); err != nil {
		return err
	}
	return f.Close()
}
