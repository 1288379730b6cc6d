package graphql

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/dendroprof/dendro/traceprof"
)

// TestPages: the pages of a list have all of it, each entry once and in order,
// however many segments are read at a time.
func TestPages(t *testing.T) {
	b := newBench(t)
	const n = 2*batch + 100
	for i := range n {
		tags := []string{"odd"}
		if i%2 == 0 {
			tags = []string{"even", "all"}
		}
		// Two segments of each trace follow each other.
		s := segment(fmt.Sprintf("s%04d", i), fmt.Sprintf("t%04d", i/2), start+int64(i), tags, spanInput{parent: -1, name: "e", to: 5})
		b.must(b.store.PutSegments(b.Context(), s))
	}
	var even, traces []string
	for i := n - 1; i >= 0; i-- {
		if i%2 == 0 {
			even = append(even, fmt.Sprintf("s%04d", i))
			traces = append(traces, fmt.Sprintf("t%04d", i/2))
		}
	}
	for _, tt := range []struct {
		name, document, tags string
		size                 int
		want                 []string
	}{
		{"segments with a tag", `traces { segmentId }`, `, "tags": [{"key": "stage", "value": "even"}, {"key": "stage", "value": "all"}]`, 130, even},
		{"segments with a tag of any value and none", `traces { segmentId }`, `, "tags": [{"key": "stage"}, {"key": "x"}]`, 130, nil},
		{"traces", `traces { spans { traceId } }`, "", 70, traces},
	} {
		field := "queryBasicTraces"
		if tt.name == "traces" {
			field = "queryTraces"
		}
		var got []string
		for page := 1; ; page++ {
			r := b.ask(`query ($c: TraceQueryCondition!) { r: `+field+`(condition: $c) { `+tt.document+` } }`,
				fmt.Sprintf(`{"c": {"traceState": "ALL", "queryOrder": "BY_START_TIME", "paging": {"pageNum": %d, "pageSize": %d}%s}}`, page, tt.size, tt.tags))
			var answer struct {
				Data struct {
					R struct {
						Traces []struct {
							SegmentID string
							Spans     []struct{ TraceID string }
						}
					}
				}
			}
			b.must(json.Unmarshal([]byte(r.body), &answer))
			for _, e := range answer.Data.R.Traces {
				id := e.SegmentID
				if len(e.Spans) == 2 { // whole
					id = e.Spans[0].TraceID
				}
				got = append(got, id)
			}
			if len(answer.Data.R.Traces) > tt.size {
				t.Errorf("%s: a page of %d", tt.name, len(answer.Data.R.Traces))
			}
			if len(answer.Data.R.Traces) < tt.size {
				break
			}
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s: %d entries, want %d\n%v", tt.name, len(got), len(tt.want), got)
		}
	}
}

// TestLatency: what clients have no room for is cut.
func TestLatency(t *testing.T) {
	for _, tt := range []struct {
		end  int64
		want int
	}{{5, 5}, {-5, -5}, {1 << 40, 1<<31 - 1}} {
		if got := latency(&traceprof.Segment{End: tt.end}); got != tt.want {
			t.Errorf("%d: %d", tt.end, got)
		}
	}
}

func TestComponents(t *testing.T) {
	for id, want := range map[int32]string{0: "Unknown", 1: "Tomcat", 5001: "ServiceCombMesher", 5011: "Unknown", 5012: "GoMysql",
		7001: "Flask", -1: "Unknown", 1 << 30: "Unknown"} {
		if got := componentName(id); got != want {
			t.Errorf("%d: %s, want %s", id, got, want)
		}
	}
}
