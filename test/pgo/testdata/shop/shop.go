// Shop prices orders. Two calls on its hottest path are not inlined without a profile: price is
// too large, and the rate's method is behind an interface.
package main

import (
	"flag"
	"fmt"
	"os"
	"runtime/pprof"
	"time"
)

type rate interface{ of(cents uint64) uint64 }

type country struct{ permille uint64 }

func (c *country) of(cents uint64) uint64 {
	n := cents * c.permille
	n ^= n >> 7
	n += n << 3
	n ^= n >> 11
	return n
}

type exempt struct{}

func (exempt) of(uint64) uint64 { return 0 }

// price is beyond what Go inlines without a profile.
func price(r rate, item, count uint64) uint64 {
	sum := item * count
	sum ^= sum << 13
	sum ^= sum >> 7
	sum ^= sum << 17
	if sum%3 == 0 {
		sum += item<<2 ^ count
	}
	if sum%5 == 0 {
		sum -= item>>1 ^ count<<3
	}
	if sum%7 == 0 {
		sum ^= item*31 + count*17
	}
	sum += sum<<5 ^ sum>>3
	sum ^= item<<7 ^ count<<9
	sum += r.of(sum)
	return sum
}

// order prices an order of many items.
func order(r rate, seed uint64) (sum uint64) {
	for i := range uint64(1000) {
		sum += price(r, seed+i, i&7)
	}
	return sum
}

func rates() []rate { return []rate{&country{190}, &country{70}, exempt{}} }

func main() {
	file := flag.String("cpuprofile", "", "write a CPU profile to this file")
	length := flag.Duration("for", time.Second, "time to run")
	flag.Parse()
	f, err := os.Create(*file)
	if err == nil {
		err = pprof.StartCPUProfile(f)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	sum, all := uint64(0), rates()
	for start := time.Now(); time.Since(start) < *length; {
		for range 100 {
			sum += order(all[0], sum)
		}
		sum += order(all[2], sum)
	}
	pprof.StopCPUProfile()
	f.Close()
	fmt.Println(sum)
}
