package chrome

import (
	"fmt"
	"strings"
	"testing"
)

// TestPieces reads CPU profiles of traces: several of one process, and pieces without their
// beginning.
func TestPieces(t *testing.T) {
	node := func(id int, name, more string) string {
		return fmt.Sprintf(`{"id":%d,"callFrame":{"functionName":"%s","url":"a.js"}%s}`, id, name, more)
	}
	whole := func(tid int, name string) string {
		return fmt.Sprintf(`{"ph":"I","name":"CpuProfile","pid":1,"tid":%d,"ts":100,"args":{"data":{"cpuProfile":{"nodes":[%s],"samples":[2],"timeDeltas":[1000]}}}}`, tid, node(2, name, ""))
	}
	piece := func(phase, name, data string) string {
		return fmt.Sprintf(`{"ph":"P","name":"%s","id":"0x1","pid":1,"tid":1,"ts":100,"args":{"data":{%s}}}`, name, data)
	}
	chunk := func(nodes, samples string) string {
		return piece("P", "ProfileChunk", `"cpuProfile":{"nodes":[`+nodes+`],"samples":[`+samples+`]},"timeDeltas":[1000,1000]`)
	}
	begin := piece("P", "Profile", `"startTime":100`)
	for _, tt := range []struct {
		name   string
		events []string
		want   string // function: samples
		warn   string
	}{
		{"two of one process", []string{whole(10, "mainWork"), whole(11, "workerWork")}, "mainWork 1, workerWork 1", ""},
		{"one after the other", []string{begin, chunk(node(1, "a", ""), "1,1"), begin, chunk(node(1, "b", ""), "1")}, "a 2, b 1", ""},
		{"without its beginning", []string{chunk(node(7, "a", `,"parent":3`), "7,9")}, "a 1, (no stack) 1",
			"1 of 2 samples of a CPU profile cannot be placed"},
	} {
		p, err := decode("[" + strings.Join(tt.events, ",") + "]")
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		counts, order := map[string]int64{}, []string{}
		s := &p.Tables[0]
		for i, st := range s.Stack {
			name := p.Symbols.Functions[p.Symbols.Frames[p.Symbols.Leaf(st)].Function].Name
			if counts[name] == 0 {
				order = append(order, name)
			}
			counts[name] += s.Value[i]
		}
		for i, name := range order {
			order[i] = fmt.Sprint(name, " ", counts[name])
		}
		if got := strings.Join(order, ", "); got != tt.want || (len(p.Warnings) > 0) != (tt.warn != "") ||
			tt.warn != "" && !strings.Contains(p.Warnings[0].Message, tt.warn) {
			t.Errorf("%s: %s, %v", tt.name, got, p.Warnings)
		}
	}
}
