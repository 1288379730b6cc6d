package callgrind

import (
	"fmt"
	"testing"
)

// TestUnits reads the units that tools write behind their events.
func TestUnits(t *testing.T) {
	for event, want := range map[string]string{
		"Ir": "Ir events 7", "cpu_(nanoseconds)": "cpu nanoseconds 7", "Time_(10ns)": "wall nanoseconds 70", "Time_(µs)": "wall nanoseconds 7000",
		"Memory_(bytes)": "Memory bytes 7", "cpu(ms)": "cpu nanoseconds 7000000", "cpu(s)": "cpu nanoseconds 7000000000",
		"cpu(us)":        "cpu nanoseconds 7000",
		"samples(count)": "cpu-samples count 7", "inuse_space(MB)": "live bytes 7340032", "alloc_space(kB)": "alloc bytes 7168",
		"alloc_objects(count)": "alloc-samples count 7", "delay(ns)": "lock nanoseconds 7", "contentions(count)": "lock-samples count 7",
		"(x)": "(x) events 7", "odd(": "odd( events 7", "a(pages)": "a pages 7",
	} {
		p := mustDecode(t, "version: 1\nevents: "+event+"\n\nfn=(1) leaf\n1 7\n")
		s := &p.Tables[0]
		if got := fmt.Sprint(s.Type.Name, " ", s.Type.Unit, " ", s.Total()); got != want || s.Type.Original != event {
			t.Errorf("%s: %s, want %s", event, got, want)
		}
	}
}
